"""JSON decoding into typed structures, and the surrogate halves that JSON may leave.

msgspec decodes; a slower fallback takes input that it refuses.  Invalid JSON and wrong types are
expected of a provider, so they are a value (None), not an exception.  JSON may escape the halves of
a surrogate pair, such as an emoji, in two frames, and Python does not join them by itself.  A lone
half is passed on unchanged: the core counts it as `surrogate`.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeVar

import msgspec

from minamo.wire.limits import ARGUMENT_DEPTH_MAX

T = TypeVar("T")

TOO_HEAVY = 1 << 62

# RecursionError is not a ValueError, and 200 kB of "[" raise it.
BROKEN = (msgspec.DecodeError, ValueError, RecursionError)


def decode(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    """Return *data* decoded, or None if it is not JSON of that type."""
    try:
        return decoder.decode(data)
    except BROKEN:
        return decode_lenient(decoder, data)


def decode_lenient(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    """Decode like `decode`, but accept lone surrogate escapes and invalid UTF-8."""
    try:
        plain = json.loads(data.decode("utf-8", "replace"), parse_constant=_refuse)
        found: T = msgspec.convert(plain, decoder.type)
    except BROKEN:
        return None
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def loads_strict(text: str) -> Any:
    """Return a complete, strictly valid JSON value; raise ValueError otherwise."""
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def measure(value: Any) -> tuple[int, int]:
    """Return a value's approximate size in characters and its depth, without recursion."""
    chars = deepest = 0
    todo = [(value, 1)]
    while todo:
        item, level = todo.pop()
        chars += len(item) if isinstance(item, str) else 1
        if isinstance(item, dict | list):
            deepest = max(deepest, level)
            if isinstance(item, dict):
                chars += sum(map(len, item))
                item = item.values()
            todo.extend((child, level + 1) for child in item)
    return chars, deepest


def size_of(value: Any) -> int:
    """Return a value's size in characters, or `TOO_HEAVY` if it nests too deep."""
    chars, depth = measure(value)
    return chars if depth <= ARGUMENT_DEPTH_MAX else TOO_HEAVY


def convert_optional(kind: type[T], value: Any) -> T | None:
    """Convert optional metadata such as usage; return None instead of raising."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except BROKEN:
        return None


def count_at(found: Any, path: str) -> int | None:
    """Return the number at a dotted path in decoded JSON; None if there is none."""
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return None if found is None else convert_optional(int, found)


def total(*counts: int | None) -> int | None:
    """Return the sum of the known counts, or None if none is known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def is_joined(text: str) -> bool:
    """Return whether *text* has no halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def joined(text: str) -> str:
    """Return *text* with every surrogate pair joined into one character."""
    if text.isascii() or is_joined(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def whole(text: str) -> str:
    """Return *text* in an encodable form: pairs joined, lone halves replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def split_half(text: str) -> tuple[str, str]:
    """Return the complete characters of a non-empty piece, and the high half at its end, if any.

    The half belongs in front of the next piece, which may bring the low half.
    """
    if "\ud800" <= text[-1] <= "\udbff":
        return joined(text[:-1]), text[-1]
    return joined(text), ""
