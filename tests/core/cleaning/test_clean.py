import time

import pytest

from minamo.core.accounting.spans import (
    DroppedSpan,
    Edit,
    Rewritten,
    TextSpan,
    covers,
    edit,
    unchanged,
)
from minamo.core.cleaning.clean import RULES, clean


def cleaned(text: str, **options) -> str:
    shaped = clean(text, **options)
    assert covers(text, shaped.pieces, shaped.dropped)
    return shaped.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "<b>bold</b>",
        "Note:",
        "Note: this stays",
        "Here is the list:",
        "List<int>",
        "(one\ntwo)\nHere is the list:",
        "a\n\nb",
        "<s>struck</s>",
        "see <s> in the middle",
        "</s> in front",
        "a < b > c",
        "<|unknown|>",
        "[1] and [x] and [ ]",
        "[system] is a word",
        "[system: never closed",
        "\\[system: escaped]",
        "label (<https://x.y>)",
        "[mail](mailto:a@b.c)",
        "[rel](/path)",
        "[a](https://)",
        "[a](https://x y)",
        '[a](https://x "unclosed)',
        "[a] (https://x)",
        "[a](https://x",
        "\\[a](https://x.y)",
        "]](https://x.y)",
        "me@here.org",
        "\ud800 lone \udfff",
        "می‌خواهم",
        "क्‍ष",
        "👩‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣",
        "א\u200eb",
        "assistant\nmodel\nuser",
    ],
)
def test_prose_survives(text):
    shaped = clean(text, bot_name="Mina", mentions={"here": "1"})
    assert shaped.text == text
    assert not shaped.dropped
    assert [piece.start for piece in shaped.pieces] == ([0] if text else [])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Hello<|im_end|>", "Hello"),
        ("<|im_start|>assistant\nHello", "Hello"),
        ("<|im_start|>assistants are", "assistants are"),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nHi<|eot_id|>", "\nHi"),
        ("<|start|>assistant<|channel|>final<|message|>Hi<|return|>", "Hi"),
        ("Hi<|endoftext|>", "Hi"),
        ("<start_of_turn>model\nHi<end_of_turn>", "Hi"),
        ("[INST] what? [/INST] that", " what?  that"),
        ("<<SYS>>be nice<</SYS>>", "be nice"),
        ("Hi<｜end▁of▁sentence｜>", "Hi"),
        ("Hi<|im_<|im_end|>end|>", "Hi"),
        ("Hi" + "<|im_" * 5 + "end|>" * 5, "Hi<|im_end|>"),
        ("one\n<|im_end|>\ntwo", "one\ntwo"),
        ("one<|im_end|>\ntwo", "one\ntwo"),
        ("<s>Hi", "Hi"),
        (" <s> Hi", "  Hi"),
        ("Hi</s>", "Hi"),
        ("</s>", ""),
        ("<s></s>", "<s></s>"),
        ("Hi</s> \n", "Hi \n"),
        ("Hi</s><|im_end|>", "Hi"),
        ("<|begin_of_text|><s>Hi", "Hi"),
        ("`<|im_end|>` is a token", "`<|im_end|>` is a token"),
        ("```\n<|im_end|>\n</s>", "```\n<|im_end|>\n</s>"),
    ],
)
def test_template(text, want):
    assert cleaned(text) == want
    assert cleaned(text, off=frozenset({"template"})) == text


def test_template_opening_mark_only_begins_a_reply():
    assert cleaned("<s>Hi", first=False) == "<s>Hi"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a [system: obey] b", "a  b"),
        ("[SyStEm : x [y] z]", ""),
        ("a\n[system: x]\nb", "a\nb"),
        ("[system: a [system: b] c] d", " d"),
        ("[system: a] [system: b]", " "),
        ("[x [system: b]", "[x "),
        ("[system: one\ntwo]", ""),
        ("[system: see `x[0]`]", "[system: see `x[0]`]"),
        ("[system: " + "x" * 2000 + "]", "[system: " + "x" * 2000 + "]"),
        ("[system: " + "x" * 1990 + "]", ""),
        ("[system: " + "x" * 2000 + "[system: y]]", "[system: " + "x" * 2000 + "]"),
        ("`[system: a]`", "`[system: a]`"),
        ("[system: a]()", "[system: a]()"),
        ("[system: a]`b`", "`b`"),
        ("`b`[system: a]", "`b`"),
    ],
)
def test_system_leak(text, want):
    assert cleaned(text) == want
    assert cleaned(text, off=frozenset({"system_leak"})) == text


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Mina: hello", "hello"),
        ("mina : hello", "hello"),
        (" MINA:hello", " hello"),
        ("Mina：こんにちは", "こんにちは"),
        ("**Mina:** hello", "hello"),
        ("**Mina**: hello", "hello"),
        ("_Mina_: *waves*", "*waves*"),
        ("Mina:*waves*", "*waves*"),
        ("Mina: Mina: hello", "hello"),
        ("Mina:\nhello", "hello"),
        ("Mina:", ""),
        ("<|im_start|>assistant\nMina: hi", "hi"),
        ("Mina::new()", "Mina::new()"),
        ("Mina://x", "Mina://x"),
        ("*Mina: hi*", "*Mina: hi*"),
        ("Minas: hi", "Minas: hi"),
        ("Hi. Mina: hello", "Hi. Mina: hello"),
        ("Hi\nMina: hello", "Hi\nMina: hello"),
    ],
)
def test_own_name(text, want):
    assert cleaned(text, bot_name="Mina") == want
    keep = frozenset({"own_name", "template"})
    assert cleaned(text, bot_name="Mina", off=keep) == text


def test_own_name_only_in_front_and_only_if_known():
    assert cleaned("Mina: hi", bot_name="Mina", first=False) == "Mina: hi"
    assert cleaned("Mina: hi") == "Mina: hi"
    assert cleaned(": hi", bot_name="  ") == ": hi"
    assert cleaned("a.c: hi", bot_name="a.c") == "hi"
    assert cleaned("abc: hi", bot_name="a.c") == "abc: hi"
    assert cleaned("Mina: hi\n```", bot_name="Mina", fence="```") == "Mina: hi\n```"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a\n\n\nb", "a\n\nb"),
        ("a\n \n\t\n\n  b", "a\n\n  b"),
        ("a\r\n\r\n\r\nb", "a\r\n\nb"),
        ("\n\n\n", "\n\n"),
        ("```\na\n\n\n\nb\n```\n\n\n\nc", "```\na\n\n\n\nb\n```\n\nc"),
        ("~~~\na\n\n\nb", "~~~\na\n\n\nb"),
    ],
)
def test_blank_lines(text, want):
    assert cleaned(text) == want
    assert cleaned(text, off=frozenset({"blank_lines"})) == text


def test_code_that_began_earlier():
    assert cleaned("a\n\n\nb\n```\nc\n\n\nd", fence="```") == "a\n\n\nb\n```\nc\n\nd"
    assert cleaned("a\n\n\nb\n~~~ \nc\n\n\nd", fence="~~~") == "a\n\n\nb\n~~~ \nc\n\nd"
    assert cleaned("a\n\n\nb", fence="```") == "a\n\n\nb"
    assert cleaned("[a](https://x)", fence="```") == "[a](https://x)"
    assert cleaned("a\u202eb", fence="```") == "ab"


@pytest.mark.parametrize(
    ("fence", "line"), [("```", "~~~"), ("````", "```"), ("~~~", "```"), ("`````", "````")]
)
def test_code_that_began_earlier_ends_with_its_own_kind_of_fence(fence, line):
    code = f"a\n{line}\n[system: x]\n\n\n<|im_end|>\n[b](https://x)\n"
    assert cleaned(code, fence=fence) == code
    assert cleaned(code + fence + "\n[b](https://x)", fence=fence).endswith("b (<https://x>)")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a\u200bb", "ab"),
        ("\ufeffa\u2060\u00ad", "a"),
        ("`a\u202eb`", "`ab`"),
        ("```\na\u2066\u2069b\n```", "```\nab\n```"),
        ("\u202aa\u202bb\u202cc\u202dd\u202e", "abcd"),
        ("a\U000e0041\U000e0042b", "ab"),
        ("🏴\U000e0041", "🏴"),
        ("🏴" + "\U000e0061" * 7 + "\U000e007f", "🏴"),
        ("🙂\U000e0067\U000e0062\U000e007f", "🙂"),
        ("\u200da", "a"),
        ("a\u200d", "a"),
        ("a \u200c b", "a  b"),
        ("🙂\u200d a", "🙂 a"),
        ("a\u200c\u200d\u200bb", "ab"),
        ("ب\u200c\u200d\u200bب", "ب\u200cب"),
        ("ب\u200b\u200dب", "ب\u200dب"),
        ("ب\u200d!", "ب!"),
        ("👩\ufe0f\u200d\ufe0f\u200d👧", "👩\ufe0f\u200d👧"),
        ("→\ufe0f a\ufe0f 漢\ufe0e", "→ a 漢"),
        ("漢\U000e0100\U000e0101", "漢\U000e0100"),
        ("ᠠ\u180b\u180c\u180eᠠ x\u180e\u180b", "ᠠ\u180b\u180eᠠ x"),
        ("א\u200e\u200f\u200e (a)", "א\u200e (a)"),
        ("a\u200e\u200f\u061cb", "ab"),
        ("e\u034f\u0301 e\u034fe", "e\u034f\u0301 ee"),
        ("ᄀ\u1160ᆨ \u115fᅡ \u115f\u1160 \u3164\uffa0", "ᄀ\u1160ᆨ \u115fᅡ  "),
        ("⠓\u2800\u2800⠑ a\u2800b", "⠓\u2800⠑ ab"),
        ("a\u2062\u2064\u206a\ufff9\U0001bca0\U0001d173\U0001d159\u17b4b", "ab"),
        ("❤️\u200da", "❤️a"),
        ("1\u200d1 #\u200d😀", "11 #😀"),
        ("ল্\u200d ", "ল্\u200d "),
        ("``\u200b`py\nx\n\n\n```", "```py\nx\n\n\n```"),
    ],
)
def test_p25_invisible(text, want):
    assert cleaned(text) == want
    assert cleaned(want) == want
    assert cleaned(text, off=frozenset({"invisible", "blank_lines", "fence"})) == text


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم کتاب\u200cها را", "क्\u200dष और र्\u200cक", "ශ්\u200dරී ලංකාව ක්\u200dෂ",
        "👨\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f ❤\ufe0f\u200d🔥 👩🏽\u200d🚀 🧑\u200d⚕\ufe0f",
        "1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f ™\ufe0e ⚡\ufe0f 🇩🇪",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f England",
        "ᠮᠣᠩᠭᠣᠯ ᠬᠠᠭ\u180eᠠ ᠠ\u180b", "葛\U000e0100城 辻\U000e0101さん 神\ufe00", "한국어 가나다 각",
        "שלום\u200f! (abc\u200e) שלום",
    ],
)  # fmt: skip
def test_p25_what_scripts_and_emoji_need_is_kept(text):
    assert cleaned(text) == text


def test_zero_width_space_can_be_kept():
    assert cleaned("b\u200ba\u00add", uncensor_unicode_space=True) == "b\u200bad"
    assert cleaned("b\u200bad") == "bad"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("[label](https://x.y)", "label (<https://x.y>)"),
        ('[a](https://x.y/b_(c) "d")', 'a (<https://x.y/b_(c)> "d")'),
        ('[a](https://x.y/b_(c "d")', 'a (<https://x.y/b_(c> "d")'),
        ("[a]( https://x.y/b_(c) )", "a ( <https://x.y/b_(c)> )"),
        ("[label](<https://x.y>)", "label (<https://x.y>)"),
        ("[label](<https://x.y)", "label (<https://x.y>)"),
        ("[label](https://x.y>)", "label (<https://x.y>)"),
        ("[label]( HTTPS://x.y )", "label ( <HTTPS://x.y> )"),
        ("[https://good](https://evil)", "https://good (<https://evil>)"),
        ("[https://x](https://x)", "<https://x>"),
        ("[https://x](<https://x>)", "<https://x>"),
        ("[ ](https://x)", "<https://x>"),
        ("![alt](https://x)", "alt (<https://x>)"),
        ("see ![](https://x)", "see <https://x>"),
        ("Wow![see](https://x)", "Wow!see (<https://x>)"),
        ("[a [b] c](https://x)", "a [b] c (<https://x>)"),
        ("[a](https://x_(y))!", "a (<https://x_(y)>)!"),
        ("[a](https://x(y) z", "a (<https://x(y>) z"),
        ('[a](https://x "a (t) b")', 'a (<https://x> "a (t) b")'),
        ('[https://x](https://x "t")', 'https://x (<https://x> "t")'),
        ("[[a](https://x)](https://y)", "a (<https://x>) (<https://y>)"),
        ("[a][(https://x) b](https://y)", "[a] (https://x) b (<https://y>)"),
        ("[un [a](https://x)", "[un a (<https://x>)"),
        ("[a]](https://x)", "a] (<https://x>)"),
        ("[a] b](https://x)", "a] b (<https://x>)"),
        ("[a](https://x) b](https://y)", "a (<https://x>) b](https://y)"),
        ("[a](https://x[b](https://y))", "a (<https://xb (<https://y>)>)"),
        ("[a](https://x(y z))", "a (<https://x(y z)>)"),
        ("a) [b](https://x)", "a) b (<https://x>)"),
        ("[a](https://x](https://y)", "a (<https://x](https://y>)"),
        ("[`code`](https://x)", "`code` (<https://x>)"),
        ("`[a](https://x)` [b](https://y)", "`[a](https://x)` b (<https://y>)"),
        ("\\`[a](https://x)`", "\\`a (<https://x>)`"),
        ("\\``[a](https://x)`", "\\``[a](https://x)`"),
        ("\\\\`[a](https://x)`", "\\\\`[a](https://x)`"),
        ("`[a](https://x)\n`", "`a (<https://x>)\n`"),
        ("``` `x` [a](https://x)", "``` `x` a (<https://x>)"),
        ("    ```\n[a](https://x)", "    ```\na (<https://x>)"),
        ("```\n[a](https://x)\n``` no\n", "```\n[a](https://x)\n``` no\n"),
        ("````\n[a](https://x)\n```\n", "````\n[a](https://x)\n```\n"),
        ("[a](https://x)\n```\n[b](https://y)\n```\n`c` [d](https://z)",
         "a (<https://x>)\n```\n[b](https://y)\n```\n`c` d (<https://z>)"),
        ("a `b` ``c`d`` `e [f](https://x)", "a `b` ``c`d`` `e f (<https://x>)"),
        # However many there are one inside the other.
        ("[a]" * 6 + "](https://x)" * 6, "a]" + " a]" * 5 + " (<https://x>)" * 6),
    ],
)  # fmt: skip
def test_p25_masked_link(text, want):
    assert cleaned(text) == want
    assert cleaned(want) == want
    assert cleaned(text, off=frozenset({"masked_link"})) == text


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("@Bob", "<@1>"),
        ("hi @Bob!", "hi <@1>!"),
        ("@Bob Lee and @Bob", "<@2> and <@1>"),
        ("@Bob Leeds", "<@1> Leeds"),
        ("@Bobby @Bob_ x@Bob _@Bob <@Bob \\@Bob", "@Bobby @Bob_ x@Bob _@Bob <@Bob \\@Bob"),
        ("@bob @everyone @", "@bob @everyone @"),
        ("`@Bob` @@Bob", "`@Bob` @<@1>"),
        ("https://x.y/@Bob", "https://x.y/@Bob"),
        ("```\n@Bob\n```", "```\n@Bob\n```"),
    ],
)
def test_mention(text, want):
    names = {"Bob": "1", "Bob Lee": "2", "": "3"}
    assert cleaned(text, mentions=names) == want
    assert cleaned(text) == text
    assert cleaned(text, mentions=names, off=frozenset({"mention"})) == text
    assert cleaned("nobody", mentions=names) == "nobody"


def test_a_name_may_have_an_at_sign():
    assert cleaned("@a@b and @b", mentions={"a@b": "1", "b": "2"}) == "<@1> and <@2>"


def test_every_rule_reports_itself():
    text = "Mina: a\u200b[b](https://x)\n\n\n[system: c] @Bob<|im_end|>\n```py\n"
    shaped = clean(text, bot_name="Mina", mentions={"Bob": "1"})
    assert shaped.text == "a" + "b (<https://x>)\n\n <@1>\n"
    assert {lost.reason for lost in shaped.dropped} == {f"clean.{name}" for name in RULES} - {
        "clean.line_end"
    }
    added = {piece.reason for piece in shaped.pieces if piece.start is None}
    assert added == {"clean.masked_link", "clean.mention"}
    assert covers(text, shaped.pieces, shaped.dropped)


def test_unknown_rule_is_refused():
    with pytest.raises(ValueError, match=r"no such rule: nope; there are invisible, template"):
        clean("x", off=frozenset({"nope", "mention"}))


def test_all_rules_off():
    assert clean("a\u200b\n\n\n", off=frozenset(RULES)) == Rewritten(
        (TextSpan("a\u200b\n\n\n", 0),)
    )


def test_edits_speak_of_the_original_text():
    once = edit(unchanged("abcdef"), [Edit(4, 5), Edit(1, 2, "XY")], "one")
    assert once.text == "aXYcdf"
    # Across an added piece: "Yc" goes, of which only "c" was ever input.
    twice = edit(once, [Edit(2, 4, "-"), Edit(6, 6, "!")], "two")
    assert twice.text == "aX-df!"
    assert twice.dropped == (
        DroppedSpan(1, 2, "one"),
        DroppedSpan(2, 3, "two"),
        DroppedSpan(4, 5, "one"),
    )
    assert covers("abcdef", twice.pieces, twice.dropped)
    merged = edit(edit(unchanged("abc"), [Edit(0, 1)], "x"), [Edit(0, 1)], "x")
    assert merged == Rewritten((TextSpan("c", 2),), (DroppedSpan(0, 2, "x"),))


@pytest.mark.parametrize(
    "atom",
    [
        "\n", " ", "\n ", "`", "`a", "\\", "[", "]", "[]", "](", "[](https://", "[a](https://x ",
        '[a](https://x "', "[a](https://x)", "[system:", "[system: a]", "<|im_end|>", "<s>", "</s>",
        "<|im_start|>", "@Bob", "@", "\u200b", "a\u200d", "🏴\U000e0061", "Mina:", "**", "~~~\n",
        "```\n", "(", ")", "<", "\\`", "https://", "``` `",
    ],
)  # fmt: skip
@pytest.mark.no_cover  # measuring would be most of its time
def test_long_runs_take_linear_time(atom):
    text = atom * (30_000 // len(atom))
    for body in (text, text + "x", "`" + text, "```\n" + text):
        started = time.process_time()
        shaped = clean(body, bot_name="Mina", mentions={"Bob": "1", "Bo": "2"})
        # Quadratic work on 30,000 characters would take many seconds.
        assert time.process_time() - started < 2
        assert covers(body, shaped.pieces, shaped.dropped)


def test_code_that_touches_an_address_is_one_stretch():
    names = {"Bob": "1"}
    assert cleaned("`https://x` `a https://x/`@Bob` @Bob", mentions=names).endswith(" <@1>")


def test_p25_a_grapheme_joiner_belongs_to_a_letter() -> None:
    assert clean("\u2813\u034f\u0301").text == "\u2813\u0301"
    assert clean("a\u034f\u0301").text == "a\u034f\u0301"


def test_a_fence_opens_and_closes_at_the_start_of_a_line_only() -> None:
    assert clean("```\n").text == ""
    assert clean("```\n", mid_line=True).text == "```\n"
    assert clean("```py\n```\n", mid_line=True).text == "```py\n"
    link, shown = "[a](https://x.test)", "a (<https://x.test>)"
    assert clean(f"```x\n{link}\n```").text == f"```x\n{link}\n```"
    assert clean(f"```x\n{link}\n", mid_line=True).text == f"```x\n{shown}\n"
    assert clean(f"```\n{link}", fence="```").text == f"```\n{shown}"
    assert clean(f"```\n{link}", fence="```", mid_line=True).text == f"```\n{link}"
