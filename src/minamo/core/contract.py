"""The contract of a source: it yields text, or a chunk whose fields have their types.

Sources are third-party code.  `as_chunk` checks each yielded value at the boundary: it becomes a
chunk that the rest of minamo can rely on, or an `ErrorChunk` that names the problem.
`find_problem` is the same check for the tests of an adapter.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from msgspec.structs import replace

from minamo.core.checks import is_number, is_whole, shown
from minamo.core.chunks import (
    CITATIONS_MAX,
    MESSAGE_CHARS_MAX,
    PLACES_MAX,
    RETRY_AFTER_MAX_S,
    Call,
    Chunk,
    Citation,
    DoneChunk,
    ErrorChunk,
    ErrorKind,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.redact import shorten

# Longer texts are split, so that processing one does not block the event loop.
TEXT_MAX = 500
_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
_NONE: tuple[str, ...] = ()  # the empty-tuple singleton
_TEXTS = {str}
# For subclasses of str, whose own methods may do anything.
_exact = str.__str__


def as_chunk(output: object) -> tuple[Chunk, str]:
    """Return a source's output as a valid chunk, and its problem; empty if there is none.

    An error chunk is repaired, because the source has failed in any case.  Any other invalid
    value becomes an error chunk.
    """
    kind, item = type(output), cast("Any", output)
    try:
        # Nearly all chunks have this form, and pass unchanged.
        if kind is TextChunk and type(item.content) is str and item.overlap is None:
            thoughts = item.thoughts
            known = type(thoughts) is tuple and {*map(type, thoughts)} <= _TEXTS
            if known and item.citations is _NONE:
                return item, ""
        if isinstance(output, str):
            return TextChunk(_exact(output)), ""
        problem = find_problem(output)
        if isinstance(output, ErrorChunk):
            return _mended(output), problem
        if not problem:
            return _rebuilt(output), ""
    except Exception as error:  # noqa: BLE001 - an attribute of a foreign class may raise
        problem = f"a {_name(output)} whose fields raise {_name(error)}"
    return ErrorChunk("api_error", f"the provider failed: {problem}"), problem


def split_text(chunk: Chunk) -> Sequence[Chunk]:
    """Return *chunk*, its text split into chunks of at most `TEXT_MAX` characters."""
    if not isinstance(chunk, TextChunk) or len(chunk.content) <= TEXT_MAX:
        return (chunk,)
    starts = range(TEXT_MAX, len(chunk.content), TEXT_MAX)
    first = TextChunk(chunk.content[:TEXT_MAX], chunk.thoughts, overlap=chunk.overlap)
    parts = [first, *(TextChunk(chunk.content[at : at + TEXT_MAX]) for at in starts)]
    parts[-1] = replace(parts[-1], citations=chunk.citations)
    return parts


def find_problem(chunk: Any) -> str:
    """Return in one line how *chunk* breaks the contract; empty if it does not."""
    match chunk:
        case TextChunk():
            problem = _text("content", chunk)
            if chunk.overlap is not None and not is_whole(chunk.overlap, 0):
                problem = problem or _wrong("overlap", "a number of characters", chunk.overlap)
            problem = problem or _citations(chunk.citations)
        case FileChunk():
            problem = _text("media_type", chunk) or _text("name", chunk)
            if not isinstance(chunk.data, bytes):
                problem = _wrong("data", "bytes", chunk.data)
        case FunctionCall():
            problem = _calls(chunk.calls) or _usage(chunk.usage) or _ending(chunk)
        case ErrorChunk():
            problem = _error(chunk)
        case DoneChunk():
            problem = _usage(chunk.usage) or _mapping("replay", chunk.replay)
            problem = problem or _text("model", chunk) or _text("provider", chunk) or _ending(chunk)
        case None:
            return "a source gives text, and this gave None; leave those out"
        case _:
            return f"a source gives text, and this gave a {_name(chunk)}; give the text in it"
    problem = problem or _thoughts(chunk.thoughts)
    return f"in {_name(chunk)}, {problem}" if problem else ""


def _name(value: object) -> str:
    """Return the name of a value's class, even if its metaclass overrides the name."""
    return shorten(type.__dict__["__name__"].__get__(type(value)), 60)


def _wrong(name: str, may: str, value: object) -> str:
    return f"{name} must be {may}, and is a {_name(value)}"


def _text(name: str, chunk: object) -> str:
    value = getattr(chunk, name)
    return "" if isinstance(value, str) else _wrong(name, "text", value)


def _mapping(name: str, value: object) -> str:
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return ""
    return _wrong(name, "a mapping of names", value)


def _thoughts(value: object) -> str:
    if not isinstance(value, tuple):
        return _wrong("thoughts", "a tuple of texts", value)
    wrong = [thought for thought in value if not isinstance(thought, str)]
    return f"thoughts must be texts, and one is a {_name(wrong[0])}" if wrong else ""


def _usage(value: object) -> str:
    return "" if value is None or isinstance(value, Usage) else _wrong("usage", "a Usage", value)


def _ending(chunk: DoneChunk | FunctionCall) -> str:
    problem = _text("finish_reason", chunk) or _text("raw_finish_reason", chunk)
    if not problem and not is_whole(chunk.skipped, 0):
        problem = _wrong("skipped", "a number of events", chunk.skipped)
    return problem or _citations(chunk.citations)


def _citations(value: object) -> str:
    if not isinstance(value, tuple):
        return _wrong("citations", "a tuple of Citation", value)
    for source in value:
        if not isinstance(source, Citation):
            return f"citations must be Citation, and one is a {_name(source)}"
        if _text("url", source) or _text("title", source):
            return _text("url", source) or _text("title", source)
        if not _are_places(source.places):
            return _wrong("places", "a tuple of pairs of a start and an end", source.places)
    return ""


def _are_places(value: object) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(place, tuple) and len(place) == 2 and all(is_whole(at, 0) for at in place)
        for place in value
    )


def _calls(value: Any) -> str:
    if not isinstance(value, tuple):
        return _wrong("calls", "a tuple of Call", value)
    if not value:
        return "there are no calls; a reply without calls has no FunctionCall"
    for call in value:
        if not isinstance(call, Call):
            return f"calls must be Call, and one is a {_name(call)}"
        wrong = _text("name", call) or ("" if call.name else "a call needs a name")
        wrong = wrong or _mapping("arguments", call.arguments) or _mapping("replay", call.replay)
        wrong = wrong or _text("id", call)
        if wrong:
            return wrong
    return ""


def _error(error: ErrorChunk) -> str:
    if _kind(error.kind) is None:
        return f"kind must be one of {', '.join(_KINDS)}, and is {shown(error.kind)}"
    wrong = _text("message", error)
    if wrong:
        return wrong
    if type(error.retryable) is not bool:
        return _wrong("retryable", "true or false", error.retryable)
    if error.retry_after is not None and _seconds(error.retry_after) is None:
        return f"retry_after must be seconds, 0 or more, and is {shown(error.retry_after)}"
    if error.status is not None and _status(error.status) is None:
        return f"status must be an HTTP status, and is {shown(error.status)}"
    return ""


def _kind(value: object) -> ErrorKind | None:
    return next((kind for kind in _KINDS if isinstance(value, str) and kind == _exact(value)), None)


def _seconds(value: Any) -> float | None:
    return float(min(value, RETRY_AFTER_MAX_S)) if is_number(value, 0, sys.float_info.max) else None


def _status(value: Any) -> int | None:
    return int(value) if is_whole(value, 100, 599) else None


def _mended(error: ErrorChunk) -> ErrorChunk:
    """Return an error chunk with every valid field, and defaults for the others."""
    message = "" if _text("message", error) else _exact(error.message)
    return ErrorChunk(
        _kind(error.kind) or "api_error",
        shorten(message, MESSAGE_CHARS_MAX),
        error.retryable is True,
        _seconds(error.retry_after),
        _status(error.status),
        () if _thoughts(error.thoughts) else tuple(map(_exact, error.thoughts)),
    )


def _rebuilt(chunk: Any) -> Chunk:
    """Return a valid chunk, perhaps of a subclass or with fields of one, as our exact types."""
    thoughts = tuple(map(_exact, chunk.thoughts))
    if isinstance(chunk, TextChunk):
        return TextChunk(
            _exact(chunk.content),
            thoughts,
            overlap=None if chunk.overlap is None else int(chunk.overlap),
            citations=_sources(chunk.citations),
        )
    if isinstance(chunk, FileChunk):
        return FileChunk(bytes(chunk.data), _word(chunk.media_type), _word(chunk.name), thoughts)
    usage = chunk.usage
    if usage is not None:
        counts = (usage.input_tokens, usage.output_tokens)
        usage = Usage(*counts, usage.reasoning_tokens, usage.cached_tokens)
    reason = _word(chunk.finish_reason)
    raw, sources = _word(chunk.raw_finish_reason), _sources(chunk.citations)
    if isinstance(chunk, FunctionCall):
        calls = tuple(map(_call, chunk.calls))
        return FunctionCall(
            calls,
            thoughts,
            usage,
            reason,
            raw_finish_reason=raw,
            citations=sources,
            skipped=int(chunk.skipped),
        )
    return DoneChunk(
        reason,
        usage,
        _word(chunk.model),
        _word(chunk.provider),
        thoughts,
        dict(chunk.replay),
        raw_finish_reason=raw,
        citations=sources,
        skipped=int(chunk.skipped),
    )


def _sources(citations: tuple[Citation, ...]) -> tuple[Citation, ...]:
    return tuple(
        Citation(_exact(source.url), _word(source.title), source.places[:PLACES_MAX])
        for source in citations[:CITATIONS_MAX]
    )


def _call(call: Call) -> Call:
    return Call(_exact(call.name), dict(call.arguments), _exact(call.id), dict(call.replay))


def _word(value: str) -> str:
    return shorten(_exact(value), MESSAGE_CHARS_MAX)
