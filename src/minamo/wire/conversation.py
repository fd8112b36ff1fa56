"""What was said so far: messages of four roles, each made by the function of its name.

The words are people's, so a `repr` shows their length only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Literal

from attrs import field, frozen

from minamo.core.chunks import Call
from minamo.errors import BadRequest
from minamo.wire.images import Image
from minamo.wire.surrogates import whole

Role = Literal["system", "user", "assistant", "tool"]
FILLER = "…"
"""Said where a provider insists that somebody speaks and nobody did, as after a stopped tool."""
_ANY_ID = re.compile(".+", re.DOTALL)


def _size(value: Any) -> str:
    return f"<{len(value)}>"


@frozen(slots=True)
class Message:
    """One turn of a conversation.  Made by `user`, `assistant`, `system` and `tool`."""

    role: Role
    text: str = field(default="", repr=_size)
    name: str = ""
    """Who says it, where several people talk."""
    images: tuple[Image, ...] = ()
    calls: tuple[Call, ...] = ()
    """What an assistant asked for after its text."""
    call: Call | None = None
    """What a tool's answer answers."""
    failed: bool = False
    replay: Mapping[str, Any] = field(factory=dict, repr=_size)
    """The `replay` of the done chunk that ended this reply."""


def _sound(text: object, what: str) -> str:
    """Text that can be sent; a lone half of a character cannot."""
    if not isinstance(text, str):
        raise BadRequest(f"{what} must be text, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return whole(text)
    return text


def user(text: str = "", *, name: str = "", images: Iterable[Image | bytes | str] = ()) -> Message:
    """A person says something, shows pictures, or both."""
    shown = tuple(i if isinstance(i, Image) else Image(i) for i in images)
    text = _sound(text, "a user's message")
    if not text.strip() and not shown:
        raise BadRequest("a user's message needs text or an image")
    return Message("user", text, " ".join(_sound(name, "a name").split()), shown)


def assistant(
    text: str = "",
    *,
    calls: Sequence[Call] = (),
    name: str = "",
    replay: Mapping[str, Any] | None = None,
) -> Message:
    """The model said *text* and then asked for *calls*."""
    text = _sound(text, "an assistant's message")
    if not text.strip() and not calls:
        raise BadRequest("an assistant's message needs text or calls")
    if not all(isinstance(call, Call) for call in calls):
        raise BadRequest("the calls of an assistant's message must be Call objects")
    return Message("assistant", text, name, calls=tuple(calls), replay=dict(replay or {}))


def system(text: str) -> Message:
    """What the model is told about itself."""
    text = _sound(text, "a system message")
    if not text.strip():
        raise BadRequest("a system message needs text")
    return Message("system", text)


def tool(call: Call, text: str, *, failed: bool = False) -> Message:
    """The answer to *call*, one of the assistant's message before."""
    if not isinstance(call, Call):
        raise BadRequest("a tool's message answers a Call")
    return Message("tool", _sound(text, "a tool's answer"), call.name, call=call, failed=failed)


@frozen(slots=True)
class Turn:
    """A message with the ids of its calls: the provider's own, or ours where it gave none."""

    message: Message
    ids: tuple[str, ...] = ()


def paired(messages: Sequence[Message], fits: re.Pattern[str] = _ANY_ID) -> list[Turn]:
    """Check that calls and answers match, as every provider demands, and give each an id.

    An id is kept if it *fits* the provider and no call before has it: the history may come from
    somebody else, and some servers begin to count anew with every reply.
    """
    given: object = messages
    if not isinstance(given, Iterable) or isinstance(given, str):
        kind = type(given).__name__
        raise BadRequest(f"a conversation is a list such as [minamo.user(…)]; this is a {kind}")
    messages = list(messages)
    turns: list[Turn] = []
    waiting: list[tuple[Call, str]] = []
    for number, message in enumerate(messages):
        if not isinstance(message, Message):
            raise BadRequest(
                f"message {number} is a {type(message).__name__}, not a Message; "
                "minamo.user(…), assistant(…), system(…) and tool(…) make them"
            )
    taken: set[str] = set()
    fresh = _fresh({call.id for message in messages for call in message.calls})
    for number, message in enumerate(messages):
        if message.call is not None:
            match = next((item for item in waiting if item[0] == message.call), None)
            if match is None:
                raise BadRequest(f"message {number} answers {message.name!r}, which was not called")
            waiting.remove(match)
            turns.append(Turn(message, (match[1],)))
            continue
        if waiting:
            raise BadRequest(f"{waiting[0][0].name!r} was called, message {number} is no answer")
        for call in message.calls:
            keeps = call.id not in taken and fits.fullmatch(call.id)
            waiting.append((call, call.id if keeps else next(fresh)))
            taken.add(call.id)
        turns.append(Turn(message, tuple(call_id for _, call_id in waiting)))
    if waiting:
        raise BadRequest(f"{waiting[0][0].name!r} was called and never answered")
    if not any(turn.message.role != "system" for turn in turns):
        raise BadRequest("a conversation needs at least one message that is not a system message")
    return turns


def _fresh(known: set[str]) -> Iterator[str]:
    """Ids that nobody has: nine letters and digits, which is what the strictest provider takes."""
    return (made for number in count(1) if (made := f"call{number:05d}") not in known)
