"""The outbox: whatever is seen, taken, put back or made a file, each character is in one place."""

from __future__ import annotations

import itertools
import re
from collections import Counter

from attrs import define, field
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from minamo.core.accounting.outbox import Outbox
from minamo.core.accounting.pending import FittedBatch
from minamo.core.accounting.spans import ADDED, Ledger, cut
from minamo.core.chunks import TextChunk
from minamo.core.cleaning.clean import RULES
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import fit
from minamo.core.lexing.segmenter import Run, Segment
from minamo.core.messages import Receipt
from minamo.core.stream import Stream
from minamo.shell.delivery.edit_in_place import EditInPlace, PageEdit, PageSet
from minamo.testing.strategies import markdown_texts, texts

SETTINGS: list[dict[str, object]] = [
    {},
    {"max_message_length": 100},
    {"max_message_length": 100, "degree": 3},
    {"degree": 0, "prefill": "Sure: "},
    {"speaker_names": ["a"], "flush_buffer_size": 50, "flush_buffer_size_code_block": 60},
    {"send_message_limit": 2, "max_message_length": 100},
    {"tables": "bullets", "bot_name": "alpha"},
]
ENDINGS = ["end", "stop", "kill", "follow_up", "limit_reached", "delivery_lost", "ran_out"]
# What happens behind a chunk: nothing, a call whose answer comes later, one that is answered, all
# that are due, one that fails.
MOMENTS = ["", "", "out", "answered", "all", "failed"]

# Every look at a reply fits it anew, and the ledger keeps so many spans and no more.
LENGTH_MAX = 4_000
replies = st.one_of(markdown_texts(5), texts()).map(lambda text: text[:LENGTH_MAX])


@define
class Channel:
    """What a lane would do, and what stands in the channel then."""

    growing: EditInPlace
    stands: dict[int, str] = field(factory=dict)
    _ids: itertools.count[int] = field(factory=lambda: itertools.count(1))
    _out: PageEdit | None = None

    def make_call(self) -> bool:
        """Begin the call that is due, if none is out."""
        if self._out is None and self.growing.waiting and (due := self.growing.take()):
            self._out = due[0]
        return self._out is not None

    def answer(self, *, fails: bool = False) -> None:
        """The call that is out, if any, has done something or not."""
        call, self._out = self._out, None
        if call is None:
            return
        number = call.target or next(self._ids)
        if call.kind == "delete":
            del self.stands[number]
        elif not fails:
            self.stands[number] = call.text
        told = "refused" if fails else "delivered"
        self.growing.on_receipt(
            Receipt(outcome=told, channel_id=1, index=0, characters=0, reason="no" * fails,
                    message_id=None if fails else number, kind=call.kind)  # type: ignore[arg-type]
        )  # fmt: skip

    def happen(self, moment: str) -> None:
        self.answer()
        self.growing.touch()
        if moment and self.make_call():
            if moment != "out":
                self.answer(fails=moment == "failed")
            while moment == "all" and self.make_call():
                self.answer()


def went(batches: list[FittedBatch]) -> list[int]:
    """Where each character that was booked as shown stood."""
    found = []
    for batch in batches:
        for message in batch.fitted.messages[: batch.sent]:
            for piece in message.pieces:
                if piece.start is not None:
                    for start, size in cut(batch.trail, piece.start, len(piece.text)):
                        found += range(start, start + size) if start != ADDED else ()
    return found


def grow(
    text: str,
    moments: list[str],
    ending: str,
    settings: dict[str, object],
    *,
    last_fails: bool = False,
) -> tuple[Stream, Channel, list[FittedBatch]]:
    stream = Stream(StreamConfig(**settings))  # type: ignore[arg-type]
    batches: list[FittedBatch] = []
    stream.actions.outbox.watch = batches.append
    config = stream.actions.config
    pages = PageSet(config.max_message_length, config.tables, most=config.send_message_limit)
    channel = Channel(EditInPlace(stream, pages))
    size = len(text) // len(moments) + 1
    for number, moment in enumerate(moments):
        stream.chunk(TextChunk(text[number * size : (number + 1) * size]))
        channel.happen(moment)
    getattr(stream, ending)(*(["inactivity"] if ending == "ran_out" else []))
    if stream.actions.withdrawn:
        channel.growing.withdraw(stream.actions.withdrawn)
        channel.answer(fails=last_fails)
    else:
        channel.growing.finish()
        channel.happen("all")
    while channel.make_call():  # what is no part of the reply is removed, whatever ended it
        channel.answer()
    channel.growing.settle()
    stream.flushed()
    return stream, channel, batches


@given(
    replies,
    st.lists(st.sampled_from(MOMENTS), min_size=1, max_size=6),
    st.sampled_from(ENDINGS),
    st.sampled_from(SETTINGS),
)
@example("Hi\ud83d", ["out"], "kill", {})
@example("[a](http://x) b", ["all", ""], "follow_up", {"prefill": "Sure: "})
@example("a b</think>c d", ["all", "", ""], "kill", {})
def test_every_character_is_in_one_place(
    text: str, moments: list[str], ending: str, settings: dict[str, object]
) -> None:
    stream, _, batches = grow(text, moments, ending, settings)
    actions = stream.actions
    assert stream.ended
    assert actions.outbox.waiting == 0
    order = went(batches)
    assert order == sorted(set(order)), "shown twice, or out of order"
    places = Counter(order)
    for block in actions.captures.blocks:
        for start, size in block.trail:
            places.update(range(start, start + size))
    for span in actions.ledger.spans:
        places.update(range(span.start, span.end))
    assert places == Counter(range(actions.lexer.at))
    # The same in numbers: what is shown, but for what was added, and what is not.
    shown = sum(len(m.text) for batch in batches for m in batch.fitted.messages[: batch.sent])
    kept = sum(size for block in actions.captures.blocks for _, size in block.trail)
    hidden, added = actions.ledger.suppressed.total(), actions.ledger.additions.total()
    ledger = actions.ledger
    # The CR of a pair is gone before characters are counted.
    pairs = ledger.suppressed["clean.line_end"] - ledger.additions["clean.line_end"]
    assert shown - added + hidden + kept == actions.lexer.at + pairs
    assert all(size >= 0 for size in actions.ledger.additions.values())


@given(
    replies,
    st.lists(st.sampled_from(MOMENTS), min_size=1, max_size=6),
    st.sampled_from(ENDINGS),
    st.sampled_from([100, 1950]),
    st.booleans(),
)
def test_what_is_booked_is_what_stands(
    text: str, moments: list[str], ending: str, limit: int, last_fails: bool
) -> None:
    # A text that reads otherwise when more of it has come cannot be compared.
    text = text.replace("</think>", "")
    config = {"max_message_length": limit, "clean_off": RULES}
    _, channel, batches = grow(text, moments, ending, config, last_fails=last_fails)
    # Nor can pages of which the first are new and the others not: text may stand twice, or not.
    assume(channel.growing.pages.reach is not None)
    booked = [m.text for batch in batches for m in batch.fitted.messages[: batch.sent]]
    assert booked == list(channel.stands.values())


WAYS = ("thread", "file", "file refused", "withdrawn")


def positions(batches: list[FittedBatch]) -> list[tuple[int, str]]:
    """Each character that went out, with where it stood."""
    found: list[tuple[int, str]] = []
    for batch in batches:
        where = [start + n for start, size in batch.trail for n in range(size)]
        for message in batch.fitted.messages[: batch.sent]:
            for piece in message.pieces:
                if piece.start is not None:
                    stood = where[piece.start : piece.start + len(piece.text)]
                    found += zip(stood, piece.text, strict=True)
    return found


def waiting_outbox(text: str, batches: list[FittedBatch]) -> Outbox:
    # What cleaning changes is not what this is about.
    config = StreamConfig(max_message_length=100, humanize=False, clean_off=frozenset(RULES))
    made = Outbox(config, Ledger(), batches.append)
    for found in re.finditer(r"[^\n]*\n*", text):
        if found.group():
            made.put(Segment(found.group(), (Run(0, found.start()),)))
    return made


@settings(max_examples=40)  # the texts are long
@given(
    st.one_of(markdown_texts(), texts()),
    st.integers(1, 4),
    st.sampled_from(WAYS),
    st.sampled_from([1, None]),
)
def test_every_character_of_the_rest_is_in_one_place(
    text: str, after: int, way: str, most: int | None
) -> None:
    batches: list[FittedBatch] = []
    box = waiting_outbox(text, batches)
    while box.waiting and box.count < after:
        assert len(box.take(most, after - box.count)) <= after
    assert box.count <= after
    if way == "thread":
        while box.waiting:
            box.take(most)
    elif way == "withdrawn":
        box.withdraw("stop")
    else:
        file = box.take_rest()
        assert file in text or "".join(file.split()) in "".join(text.split())
        if way == "file refused" and file:
            batches.pop()
            box.put_rest_back()
            while box.waiting:
                box.take(most)
    assert box.waiting == 0
    went = positions(batches)
    order = [position for position, _ in went]
    assert order == sorted(set(order)), "shown twice, or out of order"
    assert all(text[position] == char for position, char in went)
    places = Counter(order)
    for span in box.ledger.spans:
        places.update(range(span.start, span.end))
    assert places == Counter(range(len(text)))
    assert all(size >= 0 for size in box.ledger.additions.values())


@given(st.integers(1, 3), st.integers(4, 40))
def test_a_cut_in_code_goes_on_in_code(after: int, lines: int) -> None:
    text = "```py\n" + "".join(f"line_{n} = {n}\n" for n in range(lines)) + "```\nEnd.\n"
    box = waiting_outbox("", [])
    box.put(Segment(text, (Run(0, 0),)))
    shown = [message.text for message in box.take(None, after)]
    while box.waiting:
        shown += [message.text for message in box.take()]
    assert shown == [message.text for message in fit(text, limit=100).messages]
