"""Search for texts that take long on their way into Discord, by every way there is.

`PYTHONPATH=tests python -m support.slow_texts --seed 1 --texts 1000` tries so many texts of 8,000 characters, shared by
all ways, and tells the slowest of each.  Texts are made of atoms; half of them are mutations of the
slowest so far, so that the search climbs towards time per character.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from zlib import crc32

from attrs import frozen

from minamo.core.accounting.outbox import Outbox
from minamo.core.accounting.spans import Ledger
from minamo.core.chunks import TextChunk
from minamo.core.cleaning.clean import clean
from minamo.core.cleaning.humanize import humanize
from minamo.core.config import StreamConfig
from minamo.core.contract import TEXT_MAX
from minamo.core.fitting.compose import OpenFormatting
from minamo.core.fitting.fences import Fence
from minamo.core.fitting.fit import fit
from minamo.core.lexing.segmenter import Run, Segment
from minamo.core.limits import AGGREGATE_MAX, AHEAD_MAX, FIT_MAX, FIT_STEP, MESSAGE_LENGTH
from minamo.core.messages import Receipt
from minamo.core.stream import Stream
from minamo.inspect.explain import AuditSnapshot, fates
from minamo.inspect.tracks import Tracks
from minamo.shell.delivery.edit_in_place import EditInPlace, PageSet
from minamo.shell.driver import TURN_CHARACTERS, TURN_CHUNKS
from minamo.shell.notices.localization import Languages
from minamo.shell.notices.notices import quotable
from minamo.shell.notices.thoughts import MESSAGES_MAX, log_embeds, plainly, spoilers

SIZE = 8_000
"""What a lane holds."""
READ_MAX = TURN_CHARACTERS + TEXT_MAX
"""What is read at once: one chunk, after as much as does not yet give others a turn."""
LIMIT_S = 0.05
"""The event loop is never held longer than this, on a computer with nothing else to do..."""
REFERENCE_S = 0.004
"""...which takes so long for the work of `reference`."""

ATOMS = (
    # Formatting.
    *("*", "_", "**", "__", "***", "~~", "||", "|", "`", "``", "```", "\\", "*a ", "_Mr. ", "~~_"),
    # Lines: quotes, lists, headings, fences, tables.
    *("\n", "\n\n", "\r", "\r\n", "> ", ">>> ", "\n> ", "- ", "\n- ", "1. ", "# ", "-# ", "---\n"),
    *("```\n", "\n```\n", "```py\n", "~~~\n", "| a | b |\n", "|---|---|\n", "|-|\n", "| ", "|-"),
    # Links, mentions, tags, debris.
    *("[", "]", "(", ")", "](", "[a](", "https://a", "[a](https://b.c", ' "', "<", ">", "<https://a"),
    *("<@1>", "<:a:1>", "<t:1>", "</a b:1>", "<a:/", "<think>", "</think>", "<details>", "<thi"),
    *("<summary>", "[system: ", "<|im_end|>", "<|im_", "[INST]", "<s>", "@", "@a", "Bob:", "**Bob"),
    # Writing.
    *("a", "b ", " ", "   ", "\t", ".", "...", ". ", "! ", "?", "'", '"', ":", "-", "=", "1", "e.g. "),
    *("word ", "The cat. ", "snake_case", "a-b", "5*3"),
    # Beyond ASCII.
    *("é", "e\u0301", "\u0301", "好", "。", "…", "”", "😀", "👨\u200d👩\u200d👧", "\u200d", "\ufe0f"),
    *("🏴\U000e0067\U000e007f", "\u200b", "\u202e", "\u00a0", "\u3000", "ﷺ", "👍🏽", "🇩🇪", "क्ष"),
)  # fmt: skip


@frozen
class Saying:
    """A text as repeated parts: what is repeated, and how much of the whole it takes up."""

    parts: tuple[tuple[tuple[str, ...], int], ...]
    line: str = ""
    """What every line begins with."""

    def text(self, size: int) -> str:
        """The text with *size* characters."""
        whole = sum(share for _, share in self.parts)
        made: list[str] = []
        for atoms, share in self.parts:
            unit = "".join(atoms)
            room = max(len(unit), size * share // whole)
            made.append((unit * (room // len(unit) + 1))[:room])
        text = "".join(made)
        if self.line:
            text = self.line + text.replace("\n", "\n" + self.line)
        return (text * (size // len(text) + 1))[:size]


def _lines(*parts: tuple[str, int]) -> Saying:
    return Saying(tuple(((text,), share) for text, share in parts))


KNOWN = (
    # Openers that nothing closes, each looked for anew: seconds, once.
    *(Saying((((unit,), 1),), line) for unit in ("*a ", "_Mr. ", "~~_a ") for line in ("", "> ")),
    # Dense markers in a quote, some around spoilers: 25 readings in an edit, 50 ms.
    Saying(((("*a ",), 1), (("\n- ", "**", "||", "\n> "), 5)), "> "),
    Saying(((("*a ",), 1), (("\n- ", "<:a:1>", "**", "||", "\n> ", "…") * 2, 5)), "> "),
    # Blanks before a pipe, divided in every possible way: 110 ms at 4,000 characters.
    _lines(("- ", 1), ("\t", 4_000), ("|-x\n", 1)),
    # Blanks before a quote's mark, divided likewise: 55 ms at 4,100 characters.
    _lines((" ", 4_000), ("**@a", 1), (">>>  ", 4_000)),
    # Single letters below a long header, padded or labelled in each row: 66 messages, 190 ms.
    _lines((f"| {'*x* ' * 18} | b |\n", 80), ("|---|---|\n", 10), ("|a|b\n", 4_000)),
    _lines((f"| {'x' * 58} | b |\n", 66), ("|---|---|\n", 10), ("a|b\n", 4_000)),
    _lines((f"|{'a|' * 60}\n", 122), (f"|{'-|' * 60}\n", 122), (f"|{'b|' * 60}\n", 4_000)),
)
"""What once held the event loop."""


def invented(rng: random.Random) -> Saying:
    """Any text: mostly one thing repeated, sometimes several in a row, sometimes no pattern."""
    if rng.random() < 0.1:
        return Saying(((tuple(rng.choices(ATOMS, k=4_000)), 1),))
    count = rng.choice((1, 1, 1, 2, 3))
    parts = tuple((_atoms(rng), rng.choice((1, 1, 5, 50))) for _ in range(count))
    return Saying(parts, rng.choice(("", "", "", "", "> ", "- ", "| ", "    ", "||")))


def changed(saying: Saying, rng: random.Random) -> Saying:
    """A neighbour of a text: one atom or part more, less or another."""
    parts = list(saying.parts)
    at = rng.randrange(len(parts))
    atoms, share = list(parts[at][0]), parts[at][1]
    where = rng.randrange(len(atoms))
    match rng.randrange(6):
        case 0:
            atoms[where] = rng.choice(ATOMS)
        case 1:
            atoms.insert(where, rng.choice(ATOMS))
        case 2 if len(atoms) > 1:
            del atoms[where]
        case 3:
            atoms[where:where] = atoms[where : where + rng.choice((1, 8))]
        case 4:
            parts.insert(rng.randrange(len(parts) + 1), (_atoms(rng), rng.choice((1, 5, 50))))
            return Saying(tuple(parts[:4]), saying.line)
        case _:
            share = rng.choice((1, 5, 50))
    parts[at] = tuple(atoms), share
    return Saying(tuple(parts), saying.line)


def _atoms(rng: random.Random) -> tuple[str, ...]:
    return tuple(rng.choices(ATOMS, k=rng.choice((1, 1, 2, 3, 4, 7))))


Step = Callable[[], object]
Way = Callable[[str], Iterator[Step]]
"""From a text to the steps it takes: each holds the event loop by itself."""

_WORDING = Languages().wording()
_CARRY = OpenFormatting(("> ", "||", "**", "__", "~~", "*"))
_PLAIN = StreamConfig(humanize=False)


def _fitted(**settings: object) -> Way:
    def way(text: str) -> Iterator[Step]:
        # Nobody fits more at once.
        for at in range(0, len(text), FIT_MAX):
            yield partial(fit, text[at : at + FIT_MAX], **settings)  # type: ignore[arg-type]

    return way


def _known(text: str) -> Iterator[Step]:
    """A portion of a text, with formatting carried into it, and what is known to follow."""
    at = MESSAGE_LENGTH * FIT_STEP // 100
    yield lambda: fit(text[:at], carry=_CARRY, last=False, ahead=text[at : at + AHEAD_MAX])


def _cleaned(text: str) -> Iterator[Step]:
    yield lambda: clean(text, bot_name="Bob", mentions={"a": "1", "word": "2"})
    yield lambda: clean(text, first=False, fence="```")


def _humanized(text: str) -> Iterator[Step]:
    yield lambda: humanize(text, 1)


def _behind(text: str) -> Iterator[Step]:
    """A lane that is behind: many segments are cleaned, and then fitted together."""
    size = 2 + crc32(text.encode()) % 97
    box = Outbox(StreamConfig(degree=3, max_message_length=500), Ledger())
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    segments = [Segment(part, (Run(0, at * size),)) for at, part in enumerate(parts)]

    def put(some: list[Segment]) -> None:
        for segment in some:
            box.put(segment)

    count = READ_MAX // size
    for at in range(0, len(segments), count):
        yield partial(put, segments[at : at + count])
    yield lambda: box.take(None, 2)
    while box.waiting:
        yield box.take
    yield lambda: [box.lose(number, "undelivered") for number in range(box.count)]
    yield lambda: box.text


def told_stream(**settings: object) -> Way:
    """A whole stream, in the parts that a driver gives to it; a lane takes what is ready."""

    def way(text: str) -> Iterator[Step]:
        stream = Stream(StreamConfig(**settings))  # type: ignore[arg-type]
        size = (7, TEXT_MAX)[crc32(text.encode()) % 2]

        once = min(READ_MAX, TURN_CHUNKS * size)

        def heard(begin: int) -> None:
            for at in range(begin, begin + once, size):
                stream.chunk(TextChunk(text[at : min(at + size, begin + once)]))
                stream.take_effects()

        for begin in range(0, len(text), once):
            yield partial(heard, begin)
        yield stream.end
        while stream.actions.outbox.waiting:
            yield partial(_take, stream)
        stream.flushed()
        yield stream.result

    return way


def _told_as_one(tables: str) -> Way:
    """A whole stream that is kept to its end: as much as is ever kept."""
    way = told_stream(degree=0, generic_speaker_guard=True, tables=tables)
    return lambda text: way((text * (AGGREGATE_MAX // len(text) + 1))[:AGGREGATE_MAX])


def _take(stream: Stream) -> None:
    stream.delivered(len(stream.actions.outbox.take(1)))


def _grown(text: str) -> Iterator[Step]:
    """A reply that grows in place, and is long."""
    stream = Stream(_PLAIN)
    growing = EditInPlace(stream, PageSet())

    def change() -> None:
        for one in growing.take():
            number = one.target or len(growing.pages.ids) + 1
            growing.on_receipt(
                Receipt(outcome="delivered", channel_id=1, index=0, characters=1, kind=one.kind,
                        message_id=number)
            )  # fmt: skip

    for _ in range(2):
        for at in range(0, len(text), TEXT_MAX):
            yield partial(stream.chunk, TextChunk(text[at : at + TEXT_MAX]))
            growing.touch()
            yield change
    stream.end()
    growing.finish()
    growing.touch()
    while growing.waiting:
        yield change
    yield growing.settle


def _thought(text: str) -> Iterator[Step]:
    for tell in (spoilers, plainly, log_embeds):
        made = tell(text * 3, _WORDING)
        for _ in range(3 * MESSAGES_MAX):  # a message, and a turn for others after each portion
            yield partial(next, made, None)  # type: ignore[arg-type]


def _noticed(text: str) -> Iterator[Step]:
    yield lambda: quotable(text)


def _looked_at(text: str) -> Iterator[Step]:
    """The live page: where every character went."""
    stream = Stream(_PLAIN)
    tracks = Tracks.of(stream)
    outbox = stream.actions.outbox
    stream.actions.idle_lane = lambda: stream.delivered(len(outbox.take_segment()))
    for at in range(0, len(text), 400):
        stream.chunk(TextChunk(text[at : at + 400]))
        stream.take_effects()
    yield lambda: fates(AuditSnapshot.of(tracks))


WAYS: dict[str, Way] = {
    "fit the last": _fitted(),
    "fit one of several": _fitted(last=False),
    "fit, cut off": _fitted(cut_off=True, limit=100, tables="bullets"),
    "fit in a fence": _fitted(carry=OpenFormatting(("||",), Fence("py", "```")), last=False),
    "fit below a table": _fitted(
        carry=OpenFormatting(table="| a | b |\n|---|---|"), last=False, tables="code"
    ),
    "fit with what is known": _known,
    "clean": _cleaned,
    "humanize": _humanized,
    "a lane that is behind": _behind,
    "a stream": told_stream(),
    "a stream of sentences": told_stream(degree=3, speaker_names=("Bob", "Ann"), bot_name="Bob"),
    "a stream as one": _told_as_one("raw"),
    "a stream as one, with tables": _told_as_one("bullets"),
    "a reply that grows": _grown,
    "thoughts": _thought,
    "notices": _noticed,
    "the live page": _looked_at,
}


def reference() -> float:
    """The processor seconds of a fixed piece of work: other programs slow that down, too."""
    begin = time.process_time()
    sum(len(str(number)) for number in range(50_000))
    return time.process_time() - begin


def held_alone(way: Way, text: str, seconds: float) -> float:
    """What a text that took *seconds* takes on an idle computer; the best of some more tries."""
    slowness = reference()
    for _ in range(6):
        seconds = min(seconds, held(way, text))
        slowness = min(slowness, reference())
    return seconds / max(1.0, slowness / REFERENCE_S)


def held(way: Way, text: str) -> float:
    """The processor seconds of the longest step."""
    worst = 0.0
    for step in way(text):
        begin = time.process_time()
        step()
        worst = max(worst, time.process_time() - begin)
    return worst


@frozen
class Find:
    """The slowest text of one way."""

    seconds: float
    saying: Saying
    texts: int = 0


def search(
    name: str, rng: random.Random, texts: int, size: int = SIZE, enough_s: float = LIMIT_S
) -> Find:
    """The slowest of so many *texts*; the search ends at one that takes too long."""
    way, best = WAYS[name], list[Find]()
    # A collection of all that tests and modules hold takes longer than most texts do.
    gc.collect()
    gc.freeze()
    for number in range(texts):
        if number < len(KNOWN):
            saying = KNOWN[number]
        elif rng.random() < 0.5:
            saying = changed(rng.choice(best).saying, rng)
        else:
            saying = invented(rng)
        text = saying.text(size)
        seconds = held(way, text)
        if seconds > max(0.8 * enough_s, best[0].seconds if best else 0.0):
            seconds = held_alone(way, text, seconds)
        best = sorted([*best, Find(seconds, saying, number + 1)], key=lambda one: -one.seconds)[:6]
        if seconds > enough_s:
            return best[0]
    return Find(best[0].seconds, best[0].saying, texts)


def told(name: str, found: Find) -> str:
    """One line about a find."""
    took = f"{found.texts:7,} texts, at most {1_000 * found.seconds:5.1f} ms"
    return f"{name:24} {took}: {ascii(found.saying)[:600]}"


def main() -> None:
    """Search by hand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", type=int, default=1_000, help="of all ways together")
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--way", action="append", choices=list(WAYS), help="only these")
    parser.add_argument("--enough", type=float, default=1_000 * LIMIT_S, help="milliseconds")
    options = parser.parse_args()
    names = options.way or list(WAYS)
    for name in names:
        rng = random.Random(f"{options.seed} {name}")
        count = max(1, options.texts // len(names))
        found = search(name, rng, count, options.size, options.enough / 1_000)
        print(told(name, found), flush=True)


if __name__ == "__main__":
    main()
