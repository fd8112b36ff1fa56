"""Decoder of server-sent events by the WHATWG rules, independent of how the reads were split.

Goals: linear time, no byte scanned twice, memory bounded by one frame.  Plan: work on bytes,
because UTF-8 has no CR or LF inside a character; turn CR and CRLF into LF; split; fold the lines.
`id` and `retry` serve reconnecting, which no provider supports: they are skipped.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import repeat
from typing import TypeVar

import msgspec

from minamo.wire.limits import HEAVY_BYTES, REPLY_BYTES_MAX, WireLimits

_BOM = b"\xef\xbb\xbf"
# Overhead counted for each line besides its bytes, about its real cost, so that a flood of blank
# lines or one-letter comments also reaches the limit.
_LINE_COST = 32
# A line with a picture is copied once; for all others it is quicker to split everything at once.
_LONG = 65_536


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One dispatched event.  `data` is bytes: JSON is decoded from them directly."""

    data: bytes
    name: bytes = b""
    """The event type; empty if the stream named none, which means ``message``."""


class Comment(msgspec.Struct, frozen=True, gc=False):
    """A comment line, which servers send to keep the connection alive."""


_COMMENT = Comment()


class Oversize(msgspec.Struct, frozen=True, gc=False):
    """The beginning of a data line above the limit.  The rest of its event is discarded."""

    head: bytes
    name: bytes = b""


class TooLong(msgspec.Struct, frozen=True, gc=False):
    """A broken limit; always the last item of a stream."""

    limit: str
    """`line`, `frame`, `stream` or `frames`."""


Item = SseEvent | Comment | Oversize | TooLong
# How much is kept of an oversize line: enough to tell of what kind it is.
_HEAD_BYTES = 1_024
CUT_OUT = "*"
"""Stands for the content of a file that is too long for its line; it is not valid in base64."""
_DATA_URL = re.compile(rb'data:[^",]{,99};base64,')
# Of what precedes the content of a file, so much is looked at.
_BEFORE_FILE_BYTES = 512
_FILE_ENDS = re.compile(rb'["\n]')
_Line = TypeVar("_Line", bytes, bytearray)
# A line that begins otherwise is none of an event stream.
_FIELDS = (b"data:", b":", b"event:", b"id:", b"retry:")


class ReadPhase(Enum):
    """What becomes of the next bytes."""

    READ = auto()
    """They are read."""
    DISCARD = auto()
    """They belong to a line above the limit, and are discarded up to its end."""
    DISCARD_FILE = auto()
    """They belong to a file that is too long for its line, and are discarded up to its end."""
    OVER = auto()
    """They are discarded: a limit was broken."""


class Decoder:
    """Decoder from bytes to events.  Its state after ``ab`` equals that after ``a`` and ``b``."""

    __slots__ = (
        "_after_cr", "_data", "_file_begins", "_held", "_limits", "_name", "_opening", "_partial",
        "_phase", "_roomy", "_spoiled", "_total", "frames", "head",
    )  # fmt: skip

    def __init__(
        self, limits: WireLimits | None = None, file_begins: re.Pattern[bytes] | None = None
    ) -> None:
        self._limits = limits or WireLimits()
        self._file_begins = file_begins  # in a line, up to the content of a file in base64
        self._roomy = min(self._limits.line_bytes_max, self._limits.frame_bytes_max)
        self._opening: bytes | None = b""  # the first bytes, while they may be a BOM
        self._partial = bytearray()  # an incomplete line
        self._after_cr = False  # a LF now belongs to the previous CR
        self._phase = ReadPhase.READ
        self._spoiled = False  # an event whose data was discarded is not dispatched
        self._data: list[bytes] = []
        self._name = b""
        self._held = 0  # the cost of the complete lines since the last event
        self._total = 0
        self.head: bytearray = bytearray()
        """The first bytes, kept until the first event: they may be of no event stream."""
        self.frames: int = 0

    @property
    def over(self) -> bool:
        """Whether a limit was broken: further input is discarded."""
        return self._phase is ReadPhase.OVER

    def is_heavy(self, data: object) -> bool:
        """Return whether *data*, or the end, completes something of more than `HEAVY_BYTES`.

        Anything but bytes and None, which is the end, takes no time.
        """
        if data is None:  # all of a reply that is no event stream
            return not self.frames and len(self.head) > HEAVY_BYTES
        if not isinstance(data, bytes):
            return False
        held = self._held + len(self._partial) + len(data)
        return held > HEAVY_BYTES and (10 in data or 13 in data)

    def feed(self, data: bytes) -> list[Item]:
        """Take some bytes and return the events they complete."""
        out: list[Item] = []
        if not self.frames:
            self.head += data[: REPLY_BYTES_MAX - len(self.head)]
        if self._phase is ReadPhase.OVER:
            return out
        room = self._limits.stream_bytes_max - self._total
        self._total += len(data)
        # Cut exactly at the limit, so that the events do not depend on how the bytes were split.
        taken = data[:room] if len(data) > room else data
        if self._opening is not None:
            taken = self._opened(self._opening + taken)
        self._lines(taken, out)
        if len(data) > room and not self.over:
            self._give_up("stream", out)
        return out

    def _opened(self, data: bytes) -> bytes:
        """Return the first bytes of the stream without a BOM."""
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._opening = data
            return b""
        self._opening = None
        return data.removeprefix(_BOM)

    def _lines(self, data: bytes, out: list[Item]) -> None:
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        # Only CR, LF and CRLF end a line.  str.splitlines() also splits at U+2028, legal in JSON.
        if 13 in data:  # a CR; `b"\r" in data` means the same and costs five times as much
            data = self._after_events(data, out)
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._phase is ReadPhase.DISCARD:
            _, end, data = data.partition(b"\n")
            if end:
                self._phase = ReadPhase.READ
                self._held += _LINE_COST
        if self._phase is ReadPhase.DISCARD_FILE:
            found = _FILE_ENDS.search(data)
            if found is None:
                return
            self._phase = ReadPhase.READ
            data = data[found.start() :]
        if 10 in data:
            if not self._complete(data, out):
                return
        else:
            self._partial += data
        if not self._partial and not self._held:
            return
        limit = self._too_long(len(self._partial), self._held)
        if limit == "line":
            shorter, is_open = self._without_files(self._partial)
            if is_open:
                self._phase = ReadPhase.DISCARD_FILE
            self._partial = bytearray(shorter)
            limit = self._too_long(len(shorter), self._held)
        if limit and self._skips(limit, self._partial, self._name, out):
            self._phase = ReadPhase.DISCARD
            self._partial = bytearray()

    def _after_events(self, data: bytes, out: list[Item]) -> bytes:
        """Decode whole events of lines that all end with CRLF; return the data after them."""
        end = data.rfind(b"\r\n\r\n") + 4
        if end < 4 or self._phase is not ReadPhase.READ or len(self._partial) > _LONG:
            return data
        if not self._plain(bytes(self._partial) + data[:end], out, b"\r\n"):
            return data
        self._partial.clear()
        return data[end:]

    def _complete(self, data: bytes, out: list[Item]) -> bool:
        """Decode the lines that *data* completes; return False once a limit is broken.

        Typical are the rest of an event, whole events, and the beginning of another.
        """
        if len(self._partial) > _LONG:
            end, _, data = data.partition(b"\n")
            self._partial += end
            if not self._fold([bytes(self._partial)], out):
                return False
        elif self._partial:
            data = bytes(self._partial) + data
        at = 0
        if self._is_inside and (found := data.find(b"\n\n")) >= 0:
            at = found + 2
            if not self._fold(data[: at - 1].split(b"\n"), out):
                return False
        found = data.rfind(b"\n\n", at)
        if found >= 0 and self._plain(data[at : found + 2], out):
            at = found + 2
        *lines, rest = data[at:].split(b"\n")
        self._partial = bytearray(rest)
        return self._fold(lines, out)

    @property
    def _is_inside(self) -> bool:
        """Whether something of the next event was read, or counted."""
        return bool(self._held or self._data or self._name or self._spoiled)

    def _plain(self, data: bytes, out: list[Item], end: bytes = b"\n") -> bool:
        """Decode whole events of the usual form; return False, changing nothing, for others.

        Usual are one data line each, or a name and one data line, well within every limit.
        *end* ends each line.  `_fold` gives the same result in three times the time.
        """
        if 2 * (len(data) + _LINE_COST) > self._roomy or self._is_inside:
            return False
        if data[:6] == b"data: ":
            events = list(map(SseEvent, data[6 : -2 * len(end)].split(end + end + b"data: ")))
            lines = 2 * len(events)
        elif data[:7] == b"event: ":
            events = _named_events(data, end)
            lines = 3 * len(events)
        else:
            return False
        # With any other line, or without one of these, there are more line ends.
        if data.count(b"\n") != lines or data.count(b"\r") != lines * (len(end) - 1):
            return False
        if self.frames + len(events) > self._limits.frames_max:
            return False
        self.frames += len(events)
        out += events
        return True

    def _too_long(self, size: int, held: int) -> str:
        """Return the limit that a line breaks first in order of bytes, not of reads; "" if none."""
        line, frame = self._limits.line_bytes_max, self._limits.frame_bytes_max - held
        if size <= line and size <= frame:
            return ""
        return "line" if line <= frame else "frame"

    def _fold(self, lines: list[bytes], out: list[Item]) -> bool:
        # Local names for speed: this loop runs for every line of every stream.
        line_max, frame_max = self._limits.line_bytes_max, self._limits.frame_bytes_max
        held, data, name = self._held, self._data, self._name
        for line in lines:
            size = len(line)
            if size > line_max or held + size > frame_max:
                limit = self._too_long(size, held)
                if limit == "line":
                    line, _ = self._without_files(line)
                    size = len(line)
                    limit = self._too_long(size, held)
                if limit:
                    if not self._skips(limit, line, name, out):
                        return False
                    held += _LINE_COST
                    continue
            held += size + _LINE_COST
            if line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif not line:
                if data or self._spoiled:
                    if self.frames == self._limits.frames_max:
                        return self._give_up("frames", out)
                    self.frames += 1
                    if not self._spoiled:
                        out.append(SseEvent(data[0] if len(data) == 1 else b"\n".join(data), name))
                    self._spoiled = False
                    data = []
                    held = 0
                name = b""  # an event without data is not dispatched
            elif line.startswith(b"event:"):
                name = line[7:] if line.startswith(b" ", 6) else line[6:]
            elif line.startswith(b":"):
                out.append(_COMMENT)
            elif line == b"data":  # no colon: an empty data line
                data.append(b"")
            elif line == b"event":
                name = b""
        self._held, self._data, self._name = held, data, name
        return True

    def _skips(self, limit: str, line: bytes | bytearray, name: bytes, out: list[Item]) -> bool:
        """Report a line above a limit; return whether the stream can go on without it."""
        if limit != "line" or not line.startswith(_FIELDS):
            return self._give_up(limit, out)
        if line.startswith(b":"):
            out.append(_COMMENT)
        elif line.startswith(b"data:"):
            self._spoiled = True
            # No more than is there in any case, however the bytes were split.
            head = line[: min(_HEAD_BYTES, self._limits.line_bytes_max)]
            out.append(Oversize(bytes(head).removeprefix(b"data:"), name))
        return True

    def _give_up(self, limit: str, out: list[Item]) -> bool:
        self._phase = ReadPhase.OVER
        self._partial = bytearray()
        self._data = []
        out.append(TooLong(limit))
        return False

    def _without_files(self, line: _Line) -> tuple[_Line, bool]:
        """Return a line with the content of its files cut out, as far as it takes to fit the limit.

        The second value says whether the line ends inside of the last of them.  A picture that is
        too large for Discord ends no reply: the text around it is read, and users learn of it.
        """
        limit = self._limits.line_bytes_max
        while len(line) > limit:
            start = self._file_start(line, limit)
            if not start:
                return line, False
            end = line.find(b'"', limit)
            if end < 0:
                return line[:start] + CUT_OUT.encode(), True
            line = line[:start] + CUT_OUT.encode() + line[end:]
        return line, False

    def _file_start(self, line: _Line, limit: int) -> int:
        """Return where the content of a file begins that fills a line up to *limit*; 0 if none.

        It must be half of the line at least, so that little is copied for each cut.
        """
        if self._file_begins is None or not line.startswith(b"data:"):
            return 0
        start = line.rfind(b'"', 0, limit) + 1
        url = _DATA_URL.match(line, start, limit)
        start = url.end() if url else start
        before = line[max(0, start - _BEFORE_FILE_BYTES) : start]
        return start if start <= limit // 2 and self._file_begins.search(before) else 0


def _named_events(data: bytes, end: bytes) -> list[SseEvent]:
    """Return the events of a name and one data line; most have the same name as the first."""
    named, value = end + end + b"event: ", end + b"data: "
    name, found, lines = data[7 : -2 * len(end)].partition(value)
    if not found:
        return []
    *same, rest = lines.split(named + name + value)
    events = list(map(SseEvent, same, repeat(name)))
    last, *others = rest.split(named)
    events.append(SseEvent(last, name))
    for other in others:
        name, found, line = other.partition(value)
        if found:
            events.append(SseEvent(line, name))
    return events
