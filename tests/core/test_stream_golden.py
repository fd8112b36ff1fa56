"""What a reply must look like, word for word.  Every text is run whole and in every two cuts."""

from __future__ import annotations

import pytest

from minamo.core.chunks import ErrorChunk, FunctionCall, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from support.audit import audit, fits, run, same

FENCE = "```"

GOLDEN: dict[str, tuple[str, dict[str, object], list[str], list[str], list[str]]] = {
    # Text and settings, then messages, thoughts and details.
    "order around a thought": ("A <think>x</think> B", {}, ["A  B"], ["x"], []),
    "thought in the middle of a sentence": (
        "Answer: <think>hidden</think>done", {}, ["Answer: done"], ["hidden"], []),
    "tag in a fence is code": (
        f"{FENCE}html\n<think>a</think>\n{FENCE}", {},
        [f"{FENCE}html\n<think>a</think>\n{FENCE}"], [], []),
    "tag in a code span is code": (
        "Use `<think>` to open.", {}, ["Use `<think>` to open."], [], []),
    "tag in a span of two backticks": (
        "Use ``<think> ` ``, really.", {}, ["Use ``<think> ` ``, really."], [], []),
    "a lone backtick is no code": (
        "a lone ` then <think>x</think>", {}, ["a lone ` then"], ["x"], []),
    "a span ends with its line": ("a ` b\n<think>x</think>c`", {}, ["a ` b\nc`"], ["x"], []),
    "three backticks in mid-line are a span": (
        "see ```<think>``` here", {}, ["see ```<think>``` here"], [], []),
    "an unclosed thought is kept": ("Hi. <think>never closed", {}, ["Hi."], ["never closed"], []),
    "an orphan close": ("plan plan</think>Hello", {}, ["Hello"], ["plan plan"], []),
    "an orphan close after something was sent": (
        "One.\n\nTwo</think> three", {}, ["One.", "Two three"], [], []),
    "a tag that is never finished": ("The value is </thi", {}, ["The value is </thi"], [], []),
    "a bare less-than at the end": ("1 <", {}, ["1 <"], [], []),
    "upper case and the family": (
        "<THINKING>a</Reasoning>b<thought>c</think>d", {}, ["bd"], ["a", "c"], []),
    "a prefix and attributes": (
        '<mm:think lang="en">a</mm:think>b', {}, ["b"], ["a"], []),
    "an empty tag": ("a<think/>b<details />c", {}, ["abc"], [], []),
    "a tag too long to be one": (
        "<think " + "x" * 260 + ">a", {}, ["<think " + "x" * 260 + ">a"], [], []),
    "nested thoughts": (
        "<think>a<think>b</think>c</think>d", {}, ["d"], ["a<think>b</think>c"], []),
    "a thought that mentions the tag": (
        "<think>I could write <think> here</think> Hello!", {}, ["Hello!"],
        ["I could write <think> here</think>"], []),
    "a thought after one that mentions the tag": (
        "<think>a <think> b</think> Hi <think>secret", {}, ["Hi"],
        ["a <think> b</think>", "secret"], []),
    "details after a thought that mentions the tag": (
        "<think>a <think> b</think> Hi <details>c</details>!", {}, ["Hi !"],
        ["a <think> b</think>"], ["c"]),
    "a thought after details that mention the tag": (
        "<details>a <details> b</details>Hi <think>a <think> c</think>you", {}, ["Hi you"],
        ["a <think> c</think>"], ["a <details> b</details>"]),
    "code after a thought that mentions the tag": (
        f"<think>a <think> b</think>Look:\n{FENCE}py\na\n\nb\n{FENCE}\n", {},
        ["Look:", f"{FENCE}py\na\n\nb\n{FENCE}"], ["a <think> b</think>"], []),
    "code is not recognised in a thought": (
        f"<think>{FENCE}py\n</think>shown", {}, ["shown"], [f"{FENCE}py"], []),
    "details in a thought stay there": (
        "<think>a<details>b</details></think>c", {}, ["c"], ["a<details>b</details>"], []),
    "details": (
        "Hello <details><summary>s</summary>abc</details>!", {}, ["Hello !"], [], ["abc"]),
    "two summaries": (
        "a<details><summary>s</summary>bc<summary>t</summary>d</details>!", {}, ["a!"], [], ["bcd"]),
    "details with attributes, unclosed": (
        "Hi <details open>\nabc", {}, ["Hi"], [], ["abc"]),
    "an orphan close of details": ("a</details>b", {}, ["ab"], [], []),
    "blank blocks are dropped": ("<think> \n</think>a<details> </details>b", {}, ["ab"], [], []),
    "repeats stay": ("print(1)\nprint(1)\nprint(1)\n", {}, ["print(1)\nprint(1)\nprint(1)"], [], []),
    "laughter stays": ("haha haha haha haha", {}, ["haha haha haha haha"], [], []),
    "prose that looks like markup": (
        "<b>bold</b> Note: x < y, List<int>", {}, ["<b>bold</b> Note: x < y, List<int>"], [], []),
    "a list introduced by a colon": (
        "(one\ntwo)\nHere is the list:", {}, ["(one\ntwo)\nHere is the list:"], [], []),
    "a reply that ends inside a fence": (
        f"Look:\n{FENCE}py\nx = 1", {}, ["Look:", f"{FENCE}py\nx = 1\n{FENCE}"], [], []),
    "a tilde fence": ("~~~py\nx\n~~~\n", {}, [f"{FENCE}py\nx\n{FENCE}"], [], []),
    "a fence right after a thought": (
        f"<think>x</think>{FENCE}\na\n{FENCE}", {}, [f"{FENCE}\na\n{FENCE}"], ["x"], []),
    "an indented fence is none": ("    ```\n<think>x</think>y", {}, ["```\ny"], ["x"], []),
    "an indented fence in a list is one": (
        "1. Do:\n    ```py\n    <think>\n\n    x\n    ```\n2. Then.", {},
        ["1. Do:", "```py\n<think>\n\nx\n```", "2. Then."], [], [],
    ),
    "code loses the indent of its fence and no more": (
        "1. Do:\n   ```py\n   if x:\n       y\n\n  z\n\tw\n     ```\n2. Then.", {},
        ["1. Do:", "```py\nif x:\n    y\n\nz\n\tw\n```", "2. Then."], [], [],
    ),
    "so does code outside of a list, and code that never ends": (
        "  ~~~\n    a\n b\n ", {}, ["```\n  a\nb\n```"], [], [],
    ),
    "a run too far in to close a fence keeps its indent": (
        "  ```\n  a\n     ```\n  ``\n  ```\nb", {},
        ["```\na\n     ``\u200b`\n``\n```", "b"], [], [],
    ),
    "a shorter run closes no fence and loses the indent": (
        "  ````\n  ```\n  ````\nb", {}, ["```\n``\u200b`\n```", "b"], [], [],
    ),
    "a fence right behind the mark of an item is one": (
        "1. ```py\n   <think>\n\n    x\n   ```\n  - ~~~~\n    y\n    ~~~~\nend", {},
        ["1. ```py\n<think>\n\n x\n```", "- ```\ny\n```", "end"], [], [],
    ),
    "a list whose items only look like a fence": (
        "1. ``a``\n22 b\n- ```c``` d\n-", {}, ["1. ``a``\n22 b\n- ```c``` d\n-"], [], [],
    ),
    "so is one below an item in a list": (
        "- a\n    - b\n\n      ~~~\n      <think>\n\n      </think>\n\t ~~~\nend", {},
        ["- a\n    - b", "```\n<think>\n\n</think>\n```", "end"], [], [],
    ),
    "and none further in than the list": (
        "- a\n          ```\n<think>x</think>y", {}, ["- a\n          ```\ny"], ["x"], [],
    ),
    "nor one after the list": (
        "- a\n\nb\n    ```\n<think>x</think>y", {}, ["- a", "b\n    ```\ny"], ["x"], [],
    ),
    "an indented run closes no fence outside of a list": (
        "- a\n\n```md\n- b\n    ```\n    ```\n```\nend", {},
        ["- a", "```md\n- b\n    ``\u200b`\n    ``\u200b`\n```", "end"], [], [],
    ),
    "a fence in a quote is none": ("> ```\n> <think>x</think>y", {}, ["> ```\n> y"], ["x"], []),
    "text after a closing run is no close": (
        f"{FENCE}\na\n{FENCE} b\nc\n{FENCE}\nd", {},
        [f"{FENCE}\na\n``\u200b` b\nc\n{FENCE}", "d"], [], []),
    "paragraphs": ("One.\nTwo.\n\nThree.\n\n\n\nFour.", {}, ["One.\nTwo.", "Three.", "Four."], [], []),
    "lines": ("One.\nTwo.\n\nThree.", {"degree": 2}, ["One.", "Two.", "Three."], [], []),
    "sentences": (
        "Dr. Who paid 3.14. Really?! Yes...  \nOk.", {"degree": 3},
        ["Dr. Who paid 3.14.", "Really?!", "Yes...", "Ok."], [], []),
    "sentences in Chinese": ("你好。世界！再见", {"degree": 3}, ["你好。", "世界！", "再见"], [], []),
    "aggregated": (
        f"One.\n\nTwo.\n{FENCE}\nx\n{FENCE}\nThree.", {"degree": 0},
        [f"One.\n\nTwo.\n{FENCE}\nx\n{FENCE}\nThree."], [], []),
    "a fence is one segment": (
        f"a\n{FENCE}\nb\n\nc\n{FENCE}\nd", {"degree": 2},
        ["a", f"{FENCE}\nb\n\nc\n{FENCE}", "d"], [], []),
    "lone punctuation is glued to what is before": (
        "One.\n\n...\n\nTwo.", {}, ["One.\n\n...", "Two."], [], []),
    "lone punctuation at the front is glued to what follows": (
        "...\n\nOne.", {}, ["...\n\nOne."], [], []),
    "a single character is no punctuation": ("好\n\n🙂\n\na", {}, ["好", "🙂", "a"], [], []),
    "a measure does not hold": (
        "He is 5' 10\" tall.\n\nNext.", {}, ["He is 5' 10\" tall.", "Next."], [], []),
    "a sad face does not hold": ("Oh no :(\n\nNext.", {}, ["Oh no :(", "Next."], [], []),
    "an open bracket holds": ("(a\n\nb) c\n\nd", {}, ["(a\n\nb) c", "d"], [], []),
    "an open quotation holds": ('She said "a\n\nb" and\n\nc', {}, ['She said "a\n\nb" and', "c"], [], []),
    "open emphasis holds": ("**a\n\nb** c\n\nd", {}, ["**a\n\nb** c", "d"], [], []),
    "an open spoiler holds": ("||a\n\nb|| c\n\nd", {}, ["||a\n\nb|| c", "d"], [], []),
    "a table holds together": (
        "See:\n| a | b |\n|---|---|\n| 1 | 2 |\nEnd.", {"degree": 2, "tables": "raw"},
        ["See:", "| a | b |\n|---|---|\n| 1 | 2 |", "End."], [], []),
    "a masked link shows its target": (
        "[good](https://evil.example)", {}, ["good (<https://evil.example>)"], [], []),
    "the bot's own name": ("Mina: Hello", {"bot_name": "Mina"}, ["Hello"], [], []),
    "a mention": ("Hi @ann!", {"mentions": {"ann": "42"}}, ["Hi <@42>!"], [], []),
    "a prefill is shown once": ("Hello", {"prefill": "Well, "}, ["Well, Hello"], [], []),
    "an echo of the prefill is stripped": (
        "Well, hello", {"prefill": "Well, "}, ["Well, hello"], [], []),
    "a part of an echo is text": ("We are", {"prefill": "Well, "}, ["Well, We are"], [], []),
    "a prefill before a fence": (
        f"{FENCE}\nx\n{FENCE}", {"prefill": "Code:"}, ["Code:", f"{FENCE}\nx\n{FENCE}"], [], []),
    "a prefill is not part of a reclaimed thought": (
        "plan</think>Hi", {"prefill": "So: "}, ["So: Hi"], ["plan"], []),
    "a blank behind a less-than makes no tag": (
        "if a < think and think > b, </ think>", {}, ["if a < think and think > b, </ think>"], [], []),
    "line ends of other systems": (
        f"Look:\r\n{FENCE}py\r\nx = 1\r\n    y = 2\r\n{FENCE}\r\nafter\rit\r\n\r\nend\r", {},
        ["Look:", f"{FENCE}py\nx = 1\n    y = 2\n{FENCE}", "after\nit", "end"], [], []),
    "line ends kept": ("a\r\nb", {"clean_off": ["line_end"]}, ["a\r\nb"], [], []),
    "an empty fence at the end": (f"Before.\n{FENCE}py", {}, ["Before."], [], []),
    "an empty fence of blanks at the end": ("Before.\n  ~~~\n \n\n", {}, ["Before."], [], []),
    "an empty fence in a list": (f"- a\n- {FENCE}py\n", {}, ["- a"], [], []),
    "an empty fence in an aggregated reply": (f"a\n{FENCE}\n", {"degree": 0}, ["a"], [], []),
    "nothing but an empty fence": (FENCE, {}, [], [], []),
    "a last line that is no language": (f"a\n{FENCE}{{b}} c!", {}, ["a", f"{FENCE}{{b}} c!"], [], []),
    "an empty fence kept": (
        f"Before.\n{FENCE}py", {"clean_off": ["fence"]}, ["Before.", f"{FENCE}py"], [], []),
    "no sentence ends in code": (
        "Use `a. B c` now. Next.", {"degree": 3}, ["Use `a. B c` now.", "Next."], [], []),
    "output suppressed": ("a <think>b</think>", {"suppress_text_output": True}, [], ["b"], []),
    "only whitespace": (" \n\n ", {}, [], [], []),
    "nothing": ("", {}, [], [], []),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_p02_a_reply_looks_as_it_should_whole_and_by_character(name: str) -> None:
    text, settings, messages, thoughts, details = GOLDEN[name]
    whole = run([text], **settings)

    assert list(whole.messages) == messages
    assert list(whole.thoughts) == thoughts
    assert list(whole.details) == details
    assert whole.result.status == ("completed" if messages or "a" in text[:1] else "empty_response")
    fits(whole)
    if not settings.get("suppress_text_output"):
        audit(whole, text)
    same(whole, run(list(text) or [""], **settings))


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.no_cover  # measuring would be most of its time
def test_p02_a_reply_looks_as_it_should_however_it_is_cut(name: str) -> None:
    text, settings, *_ = GOLDEN[name]
    whole = run([text], **settings)
    # Cuts all over the text, and two at once; `make promises` takes every two of every text.
    near, far = max(1, len(text) // 40), max(1, len(text) // 6)
    twos = [(a, b) for a in range(1, len(text), far) for b in range(a, len(text), far)]
    for one, two in [*((cut, cut) for cut in range(1, len(text), near)), *twos]:
        parts = [text[:one], text[one:two], text[two:]]
        same(whole, run([part for part in parts if part], **settings))


CALLS = [f"`some_function_name_{number:03}(arg, other)`" for number in range(110)]
ROLL = "</roll dice:100000000000300922>"
LINK = "https://ex.test/" + "p" * 1_894
CUT = {
    # Text, then the text of each message.
    "code spans": ("Call then " + " then ".join(CALLS), [
        "Call then " + " then ".join(CALLS[:24]),
        *("then " + " then ".join(CALLS[at : at + 24]) for at in range(24, 110, 24)),
    ]),
    "command mentions": (ROLL * 80, [ROLL * 32, ROLL * 32, ROLL * 16]),
    "words behind a long link": (f"{LINK} aaaaaaaa bbbbbbbb cccccccc dddddddd eeeeeeee", [
        LINK, "aaaaaaaa bbbbbbbb cccccccc dddddddd eeeeeeee",
    ]),
}  # fmt: skip


@pytest.mark.no_cover  # measuring would be most of its time
@pytest.mark.parametrize("name", CUT)
def test_p04_a_long_text_is_cut_between_words_and_tokens(name: str) -> None:
    text, messages = CUT[name]
    done = run([text])
    assert list(done.messages) == messages
    audit(done, text)
    fits(done)
    same(done, run(list(text)))
    for size in (7, 400, 1_199):
        same(done, run([text[at : at + size] for at in range(0, len(text), size)]))


def test_line_ends_are_booked() -> None:
    done = run(["a\r", "\nb\r", "c\r"])
    assert done.result.accumulated_text == "a\nb\nc"
    assert done.result.suppressed["clean.line_end"] == 3
    assert done.result.additions == {"clean.line_end": 2}
    assert run(["a\r\ud83d"]).messages == ("a\n\ufffd",)


def test_an_empty_fence_is_booked() -> None:
    done = run(["Before.\n```py\n"])
    assert done.result.suppressed["clean.fence"] == len("```py\n")
    assert done.result.accumulated_text == "Before."


LONG = {
    "a code line of 5,000": (f"{FENCE}\n" + "x" * 5_000 + f"\n{FENCE}", 3),
    "a link of 2,500": ("See https://example.org/" + "a" * 2_500 + " there", 3),
    "a link that fits a message": ("See https://example.org/" + "a" * 1_500 + " there", 3),
    "a quoted sentence of 3,000": ('"' + "word " * 600 + '" she said', 4),
    "a fence of 17,000": (f"{FENCE}py\n" + "value = compute(1, 2)\n" * 773 + f"{FENCE}\n", 10),
    "a megabyte without a space": ("x" * 1_000_000, 1_001),
    "prose of 10,000": ("A sentence of some words. " * 385, 11),
    "a lone bracket": ("( " + "Some words here.\n\n" * 300, 400),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.no_cover) if "mega" in name else name for name in LONG],
)
def test_a_long_text_arrives_in_few_messages(name: str) -> None:
    text, most = LONG[name]
    done = run([text[n : n + 50] for n in range(0, len(text), 50)])
    fits(done)
    audit(done, text)
    assert done.result.status == "completed"
    assert len(done.messages) <= most


def test_a_link_that_fits_a_message_is_not_cut() -> None:
    link = "https://example.org/" + "a" * 1_500
    done = run([f"See {link} there"])
    assert any(link in message for message in done.messages)


def test_holds_end_at_the_overflow_limit() -> None:
    done = run(["(open " + "word " * 300 + "\n\nNext paragraph.\n\nLast."])
    assert done.messages[-2:] == ("Next paragraph.", "Last.")
    assert len(done.messages) == 4


def test_formatting_survives_forced_cuts() -> None:
    bold = "**" + "bold words " * 40 + "**"
    text = "plain words " * 60 + bold + " and ||" + "secret " * 300 + "|| end."
    done = run([text])
    assert any(message.endswith("**") for message in done.messages)
    audit(done, text)
    fits(done)
    for message in done.messages:
        assert message.count("||") % 2 == 0
        assert message.count("**") % 2 == 0


def test_a_lone_marker_is_no_formatting_of_what_comes_after_it() -> None:
    text = "Pass **kwargs on. " + "More words here. " * 150
    done = run([text])
    audit(done, text)
    assert len(done.messages) > 2
    assert "".join(done.messages).count("**") == 1


@pytest.mark.parametrize("ending", ["end", "stop", "error", "call"])
def test_an_open_spoiler_is_closed_if_the_reply_was_cut_off(ending: str) -> None:
    text = "a | b | c and a || b"
    stream = Stream(StreamConfig(humanize=False))
    stream.chunk(TextChunk(text))
    match ending:
        case "end":
            stream.end()
        case "stop":
            stream.stop()
        case "error":
            stream.chunk(ErrorChunk("api_error"))
        case _:
            stream.chunk(FunctionCall("roll", {}))
    (message,) = stream.actions.outbox.take()
    assert message.text == (text if ending == "end" else text + "||")


def test_a_long_table_repeats_its_header() -> None:
    rows = "".join(f"| row {n} | {n * n} |\n" for n in range(300))
    done = run(["| name | square |\n|---|---|\n" + rows])
    fits(done)
    assert len(done.messages) > 2
    assert all("name" in message and "square" in message for message in done.messages)


def test_accumulated_text_keeps_whitespace_between_segments() -> None:
    assert run(["One.\n\nTwo.\n\n\nThree. "]).result.accumulated_text == "One.\n\nTwo.\n\nThree."
    off = run(["One.\n\n\n\nTwo."], clean_off=["blank_lines"])
    assert off.result.accumulated_text == "One.\n\n\n\nTwo."


def test_humanising_never_reaches_the_accumulated_text() -> None:
    text = "Well, this is it. " * 40
    done = run([text], degree=3, humanize=True)
    plain = run([text], degree=3)
    assert done.result.accumulated_text == plain.result.accumulated_text
    assert done.messages != plain.messages
    assert done.result.suppressed["humanize"]
    audit(done, text)


def test_p24_surrogates_are_joined_or_replaced() -> None:
    joined = run(["a\ud83d", "\ude00b"])
    assert joined.messages == ("a\U0001f600b",)
    assert "surrogate" not in joined.result.suppressed
    alone = run(["a\ud83d", "b\ude00"])
    assert alone.messages == ("a\ufffdb\ufffd",)
    assert alone.result.suppressed["surrogate"] == alone.result.additions["surrogate"] == 2
    assert run(["a\ud83d"]).messages == ("a\ufffd",)


def test_nul_and_other_controls_are_no_problem() -> None:
    text = "a\x00b\x1b[31m\x7f c"
    done = run([text])
    audit(done, text)
    assert done.result.status == "completed"


def test_the_speaker_guard_ends_the_reply_before_the_label() -> None:
    done = run(["Hello.\nBob: hi", " there"], speaker_names=["Bob"])
    assert done.messages == ("Hello.",)
    assert (done.result.status, done.result.stop_reason) == ("completed", "speaker_guard")
    assert done.result.suppressed["speaker_guard"] == len("\nBob: hi there")
    nothing = run(["\nBob: hi"], speaker_names=["Bob"])
    assert (nothing.result.status, nothing.result.stop_reason) == (
        "empty_response",
        "speaker_guard",
    )


def test_the_speaker_guard_looks_at_the_first_line_if_asked_to() -> None:
    text = "Bob: hi\nHello."
    assert run([text], speaker_names=["Bob"]).messages == (text,)
    for parts in ([text], list(text)):
        done = run(parts, speaker_names=["Bob"], guard_first_line=True)
        audit(done, text)
        assert done.messages == ()
        assert (done.result.status, done.result.stop_reason) == ("empty_response", "speaker_guard")
        assert done.result.suppressed == {"speaker_guard": len(text)}
    thought = run(["<think>Bob: x</think>Bob: hi"], speaker_names=["Bob"], guard_first_line=True)
    assert (thought.result.thought_log, thought.messages) == (("Bob: x",), ())


def test_a_note_is_no_speaker() -> None:
    assert run(["Hello.\nNote: hi"], speaker_names=["Bob"]).messages == ("Hello.\nNote: hi",)


def test_the_message_limit() -> None:
    text = "One.\n\nTwo.\n\nThree.\n\nFour."
    done = run([text], send_message_limit=2)
    assert done.messages == ("One.", "Two.")
    assert (done.result.status, done.result.stop_reason) == (
        "stopped_by_user", "send_message_limit",
    )  # fmt: skip
    assert done.result.accumulated_text == "One.\n\nTwo."
    audit(done, text)
    same(done, run(list(text), send_message_limit=2))


def test_a_limit_reached_while_the_rest_is_flushed_ends_the_reply() -> None:
    done = run(["One.\n\nTwo.\n\nThree."], send_message_limit=2, degree=1)
    assert (done.result.status, done.result.stop_reason) == (
        "stopped_by_user", "send_message_limit"
    )  # fmt: skip
    assert done.result.suppressed["limit"] == len("Three.")


def test_provider_thoughts_are_kept_in_order() -> None:
    from minamo.core.chunks import DoneChunk, TextChunk
    from minamo.core.config import StreamConfig
    from minamo.core.trace import Moment, Trace
    from minamo.inspect.replay import replay

    chunks = [TextChunk("", ("I ",)), TextChunk("", ("think",)), TextChunk("so"), TextChunk("", ("again", "more")),
              DoneChunk("stop", thoughts=("!",))]  # fmt: skip
    moments = [Moment(0, "chunk", chunk=chunk) for chunk in chunks] + [Moment(0, "end")]
    done = replay(Trace(StreamConfig(), tuple(moments)))
    assert done.thoughts == ("I think", "again", "more!")
    assert done.result.finish_reason == "stop"


def test_a_model_part_is_kept_for_every_segment() -> None:
    done = run(["One.\n\n<think>x</think>Two."])
    assert [part["text"] for part in done.stream.actions.model_parts] == ["One.\n\n", "Two."]


def test_where_a_reply_that_was_cut_short_goes_on() -> None:
    assert run(["Done. And then the"], ending="").result.continuation_prefill == "And then the"
    assert run(["And then"], ending="").result.continuation_prefill == "And then"
    assert run(["Done. And then the"]).result.continuation_prefill == ""


@pytest.mark.parametrize("size", [995, 996, 997, 1_900])
def test_p02_p05_the_first_line_of_a_fence_opens_it_at_any_length(size: int) -> None:
    text = f"{FENCE}{'x' * size}\n<think>\n{FENCE}\nafter"
    whole = run([text])
    assert whole.messages == (f"{FENCE}\n{'x' * size}\n<think>\n{FENCE}", "after")
    for step in (1, 2, 7, 999, 1_000, 1_001):
        same(whole, run([text[at : at + step] for at in range(0, len(text), step)]))


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", GOLDEN)
def test_p02_every_two_cuts_of_every_golden_text(name: str) -> None:
    text, settings, *_ = GOLDEN[name]
    whole = run([text], **settings)
    for one in range(1, len(text)):
        for two in range(one, len(text)):
            parts = [text[:one], text[one:two], text[two:]]
            same(whole, run([part for part in parts if part], **settings))
