"""How one reply is to be given; every option has a sensible default."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from attrs import Attribute, field, fields, frozen

from minamo.core.config import StreamConfig
from minamo.errors import BadSetting
from minamo.shell.callbacks import plain_function
from minamo.shell.delivery.interfaces import NOBODY, AllowedMentions, Sender, SendOptions
from minamo.shell.delivery.overflow import Overflow
from minamo.shell.notices.localization import Languages, Wording
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.stops.requests import StopSignal
from minamo.shell.turns.channels import Policy

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
    manner: SendOptions = field(factory=SendOptions, repr=False)
    """What it replies to, whom it may ring for, the button, what to do with too long a reply."""
    scene: bool = False
    """One of several replies to one message: none of them shows it, whatever `manner` says."""
    typing: bool = True
    edit: bool = False
    """One message grows in place instead of several being sent."""
    fresh: bool = False
    """At the end of an edited reply send it anew, so that the channel shows unread."""
    wishes: StopSignal = field(factory=StopSignal, repr=False)
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


Reply = bool | Literal["auto"]

# Discord's own limit.
_NAME_MAX = 80


def _name(_: object, __: Attribute[str], value: object) -> None:
    if not isinstance(value, str) or not 1 <= len(value.strip()) <= _NAME_MAX:
        raise BadSetting(f"a persona's name has 1 to {_NAME_MAX} characters")


def _avatar(_: object, __: Attribute[Any], value: object) -> None:
    if value is not None and not (isinstance(value, str) and value.startswith("https://")):
        raise BadSetting("a persona's avatar_url must be an https address of a picture")


@frozen
class Persona:
    """A name and a face to speak with, through a webhook."""

    name: str = field(validator=_name)
    avatar_url: str | None = field(default=None, validator=_avatar, repr=False)


class StreamOptions(TypedDict, total=False):
    """The options of `Client.stream` and `Client.turn`."""

    reply: Reply
    scene: bool
    config: StreamConfig | None
    edit: bool
    fresh: bool
    persona: Persona | None
    button: bool
    ephemeral: bool
    ping: AllowedMentions
    link_previews: bool
    overflow: Overflow | None
    policy: Policy | None
    locale: str | None
    thoughts: ThoughtDisplay | None
    suppress_user_errors: bool
    on_stream_progress: Callable[[], object] | None


def _is(*kinds: Any) -> Any:
    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        if not isinstance(value, kinds):
            names = " or ".join("None" if one is type(None) else one.__name__ for one in kinds)
            raise BadSetting(f"{attribute.name} must be {names}; it is {value!r}")

    return check


def _reply(_: object, __: object, value: object) -> None:
    if value not in (True, False, "auto"):
        raise BadSetting(f'reply must be True, False or "auto"; it is {value!r}')


def _policy(_: object, __: object, value: object) -> None:
    if value is not None and value not in get_args(Policy):
        raise BadSetting(f"policy must be one of {', '.join(get_args(Policy))}; it is {value!r}")


_FLAG = _is(bool)


@frozen(kw_only=True)
class ResolvedOptions:
    """How, checked."""

    reply: Reply = field(default="auto", validator=_reply)
    """Whether the reply shows what it answers.  ``"auto"``: when the bot was spoken to directly,
    or the question had to wait, unless it is part of a scene."""
    scene: bool = field(default=False, validator=_FLAG)
    """One of several replies to one message, such as a dialogue of personas: it never shows what
    it answers, or all of them would show the same."""
    config: StreamConfig | None = field(default=None, validator=_is(StreamConfig, type(None)))
    edit: bool = field(default=False, validator=_FLAG)
    """One message grows instead of several being sent."""
    fresh: bool = field(default=False, validator=_FLAG)
    """At the end of an edited reply send it anew, so that the channel shows unread."""
    persona: Persona | None = field(default=None, validator=_is(Persona, type(None)))
    button: bool = field(default=False, validator=_FLAG)
    """A Stop button below the reply while it is written."""
    ephemeral: bool = field(default=False, validator=_FLAG)
    """Only who asked sees it; interactions only."""
    ping: AllowedMentions = field(default=NOBODY, validator=_is(AllowedMentions))
    link_previews: bool = field(default=False, validator=_FLAG)
    """A preview is fetched from whatever address the model wrote; off unless asked for."""
    overflow: Overflow | None = field(default=None, validator=_is(Overflow, type(None)))
    policy: Policy | None = field(default=None, validator=_policy)
    """What happens to a reply that is being written in the channel; None: the client's."""
    locale: str | None = field(default=None, validator=_is(str, type(None)))
    thoughts: ThoughtDisplay | None = field(default=None, validator=_is(ThoughtDisplay, type(None)))
    suppress_user_errors: bool = field(default=False, validator=_FLAG)
    on_stream_progress: Callable[[], object] | None = field(
        default=None, repr=False, validator=plain_function
    )

    def __attrs_post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if self.ephemeral and self.persona is not None:
            raise BadSetting("ephemeral: what a persona says, everybody in the channel sees")
        if self.scene and self.reply is True:
            raise BadSetting("scene: a part of a scene never replies; leave out reply=True")


def options(how: StreamOptions) -> ResolvedOptions:
    """Check *how*; an option that does not exist is named, with those that do."""
    known = [one.name for one in fields(ResolvedOptions)]
    if unknown := sorted(set(how) - set(known)):
        raise BadSetting(f"unknown option {', '.join(unknown)}; known are {', '.join(known)}")
    return ResolvedOptions(**how)
