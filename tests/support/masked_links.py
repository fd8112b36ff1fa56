"""Texts full of links and code, and which masked links Discord shows in a message."""

from __future__ import annotations

import re

from hypothesis import strategies as st

LINK = re.compile(
    r"\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*)\]"
    r"\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?(?:\s+['\"]([\s\S]*?)['\"])?\s*\)"
)
BLOCK = re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```", re.IGNORECASE)
CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
ESCAPE = re.compile(r"\\[^0-9A-Za-z\s]")


def links(message: str) -> list[str]:
    """The masked links that Discord shows for *message*, if nothing else in it is formatted."""
    found, at = [], 0
    while at < len(message):
        patterns = (ESCAPE, BLOCK, CODE, LINK)
        match = next((match for each in patterns if (match := each.match(message, at))), None)
        # Without a host it is no link.
        if match and match.re is LINK:
            if not re.match("https?://.", match[2], re.IGNORECASE):
                match = None
            else:
                found.append(match[0])
        at = match.end() if match else at + 1
    return found


def without_code(message: str) -> str:
    """*message* without what is code for Discord, if nothing else in it is formatted."""
    kept, at = "", 0
    while at < len(message):
        patterns = (ESCAPE, BLOCK, CODE)
        match = next((match for each in patterns if (match := each.match(message, at))), None)
        end = match.end() if match else at + 1
        kept += "" if match and match.re in (BLOCK, CODE) else message[at:end]
        at = end
    return kept


LINK_ATOMS = [
    "[", "]", "(", ")", "](", "[a](https://x.test)", "[a", "bank](https://x.test/l)", "https://x.test",
    "(https://x.test", "](https://", "](h", "](<https://x.test>)", ' "title")', ' "', "'", " ", "\n",
    "\n\n", ". ", "word ", "`", "``", "```", "\n```\n", "\n~~~\n", "\\", "\u200b", "<|im_end|>", "!", "<",
    ">", "[system: x]", "word " * 60, "label " * 250, "x" * 400, "<think>t</think>", "*", "||", "> ",
    "| a | b |\n|---|---|\n", "| [a] | (https://x.test) |\n", "\n```" + "x" * 2_500 + "\n",
    "\n~~~" + "[a](https://x.test) " * 60 + "\n", "\n```no language\n",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(LINK_ATOMS), max_size=14).map("".join)
