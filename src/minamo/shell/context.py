"""What one stream is about besides its provider: where it goes, for whom, and how it is told."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from minamo.shell.callbacks import plain_function
from minamo.shell.sending.sender import Sender
from minamo.shell.sending.source import Manner
from minamo.shell.stopping.wishes import Wishes
from minamo.shell.telling.wording import Languages, Wording

if TYPE_CHECKING:
    from minamo.shell.orchestrator import StreamOrchestrator


def new_stream_id() -> str:
    """An id that nobody else has; nonces are made of it."""
    return secrets.token_hex(8)


@frozen(kw_only=True)
class StreamContext:
    """One reply's place in the world.  `Client` makes one for each; so may you."""

    orchestrator: StreamOrchestrator = field(repr=False)
    channel_id: int
    sender: Sender = field(repr=False)
    """Who speaks: the bot, a persona, the answer to an interaction."""
    stream_id: str = field(factory=new_stream_id)
    """What stops are addressed to; never used twice within minutes."""
    manner: Manner = field(factory=Manner, repr=False)
    """What it replies to, whom it may ring for, the button, what to do with too long a reply."""
    scene: bool = False
    """One of several replies to one message: none of them shows it, whatever `manner` says."""
    typing: bool = True
    edit: bool = False
    """One message grows in place instead of several being sent."""
    fresh: bool = False
    """At the end of an edited reply send it anew, so that the channel shows unread."""
    wishes: Wishes = field(factory=Wishes, repr=False)
    requester: str | int | None = None
    """The id of the person who asked for the reply; they may stop it."""
    wording: Wording = field(factory=lambda: Languages().wording(), repr=False)
    suppress_user_errors: bool = False
    """No embed says what went wrong; for attempts that will be repeated."""
    on_stream_progress: Callable[[], object] | None = field(
        default=None, repr=False, validator=plain_function
    )
    """Called on each chunk and each receipt."""
    current_turn_model_parts: list[dict[str, Any]] | None = field(default=None, repr=False)
    """Gets ``{"text": …}`` for each segment that was handed over."""
