"""What the processes of a bot say to each other through Redis: small JSON, strictly read.

A question goes to everybody, its answers to who asked.  A wish is only ever put to streams by
their ids, which are never used twice; so a question that is read late finds the stream it was
meant for, or nothing.  That is why a wish for a channel takes two questions: what runs there
(`find`), then the wish for just those.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from minamo.shell.stopping.board import CHANNEL_ID_MAX, ID_LENGTH_MAX, STREAMS_PER_CHANNEL_MAX
from minamo.shell.stopping.wishes import Wish, WishKind

VERSION: Literal[1] = 1
# A full question is about 9 kB: 64 ids of 64 characters, and the context.
MESSAGE_BYTES_MAX = 32_768

Id = Annotated[str, Meta(min_length=1, max_length=ID_LENGTH_MAX)]
StreamIds = Annotated[tuple[Id, ...], Meta(max_length=STREAMS_PER_CHANNEL_MAX)]
ChannelId = Annotated[int, Meta(gt=0, le=CHANNEL_ID_MAX)]


class Question(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Something asked of every process."""

    v: Literal[1]
    id: Id
    sender: Id
    op: Literal["find", "put", "wished", "forget", "runs"]
    channel: ChannelId | None = None
    streams: StreamIds = ()
    kind: WishKind | None = None
    requester: Id | None = None
    asker: Id | None = None
    context: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if (self.op == "find") != (self.channel is not None):
            raise ValueError("a channel is for finding")
        if (self.op == "put") != (self.kind is not None):
            raise ValueError("a kind is for wishes")

    @property
    def wish(self) -> Wish | None:
        """The wish to put, if that is what is asked."""
        if self.kind is None:
            return None
        return Wish(kind=self.kind, requester=self.requester, context=self.context)


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One process's answer: its streams for which the question holds, often none."""

    v: Literal[1]
    id: Id
    sender: Id
    streams: StreamIds


_questions = msgspec.json.Decoder(Question)
_answers = msgspec.json.Decoder(Answer)
_encoder = msgspec.json.Encoder()


def encoded(message: Question | Answer) -> bytes:
    """A message as bytes."""
    return _encoder.encode(message)


def question_of(data: bytes) -> Question | None:
    """A question, or None for anything else."""
    try:
        return _questions.decode(data) if len(data) <= MESSAGE_BYTES_MAX else None
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None


def answer_of(data: bytes) -> Answer | None:
    """An answer, or None for anything else."""
    try:
        return _answers.decode(data) if len(data) <= MESSAGE_BYTES_MAX else None
    except (ValueError, RecursionError):
        return None
