"""What is kept aside never shows, wherever its tags are cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.audit import run, same

SECRET = "SECRET" * 4
# Of 201 characters or more each, so that there are 20,100 ways to cut one into three.
HIDDEN = {
    "a thought": "Some open text. <think>{}</think> And more open text here, to be long enough.\n\n"
    "Another paragraph, which is not hidden, with `code` and **bold** and (a bracket) in it.\n\nThat is the end.",
    "attributes and details": "<THINK a='b'>{}</Think>Text that is shown.\n\n<details open><summary>"
    "s</summary>{}</details>Then `<b>` and a little more of it.\n\nAnd the end of it all, at last.",
    "nested": "Text <think>{}<think>{}</think>{}</think>\n\nafter ``<think>`` and ` lone "
    "<think>{}</think> and so on and on.\n\nThe end.",
    "beside code": "```py\n<think>open</think>\n```\n<reasoning>{}</reasoning>\n```\nx\n```\nThen there "
    "is a bit of prose.\n\n- and\n- a list\n\n<thought>{}, and this one is never closed again",
    "an orphan close": "{}</think>Open text that is shown, with some more of it.\n\nAnd a paragraph "
    "< b.\n\n> a quotation, and ~~~ in the middle of a line, and <thi which is no tag.\n\nThen comes the end of it.",
    "odd tags": "A <ns:think>{}</ns:think> B <think/> C <details>{}</details> D </details> E and a "
    "word or two, so that it is long enough.\n\n||spoiler|| [x](http://y) !? </thi",
}  # fmt: skip


def test_p05_hidden_text_never_shows_wherever_tags_are_cut() -> None:
    secret, open_text = "SECRET" * 3, "OPEN" * 5
    for template in (
        f"{open_text}<think>{secret}</think>{open_text}",
        f"<THINK a='b'>{secret}</Think>{open_text}<details>{secret}</details>",
        f"{open_text}\n\n<think>{secret}<think>{secret}</think>{secret}</think>\n\n{open_text}",
        f"```\n{open_text}\n```\n<reasoning>{secret}",
        f"{secret}</think>{open_text}",
    ):
        whole = run([template])
        assert "SECRET" not in "".join(whole.messages)
        assert open_text in "".join(whole.messages)
        for one in range(1, len(template)):
            for two in range(one, min(one + 12, len(template))):
                parts = [template[:one], template[one:two], template[two:]]
                same(whole, run([part for part in parts if part]))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", HIDDEN)
def test_p05_every_two_cuts_of_hidden_blocks(name: str, figure: Callable[[str], None]) -> None:
    text, splits = HIDDEN[name].replace("{}", SECRET), 0
    whole = run([text])
    hidden = "".join(whole.thoughts + whole.details)
    assert "SECRET" not in "".join(whole.messages)
    assert hidden.count(SECRET) == text.count(SECRET), "it is kept, and not thrown away"
    for one in range(1, len(text)):
        for two in range(one, len(text)):
            done = run([part for part in (text[:one], text[one:two], text[two:]) if part])
            assert done.messages == whole.messages
            assert done.thoughts == whole.thoughts
            assert done.details == whole.details
            splits += 1
    figure(f"P5: {splits:,} splits of {name}")
    assert splits >= 20_000
