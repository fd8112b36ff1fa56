"""Options of one reply: `StreamOptions` as given, `ResolvedOptions` checked, `StreamContext`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from attrs import Attribute, field, fields, frozen
from attrs.validators import optional

from minamo.core.config import StreamConfig
from minamo.core.messages import NOBODY, AllowedMentions
from minamo.errors import BadSetting
from minamo.shell.callbacks import plain_function
from minamo.shell.delivery.interfaces import Sender, SendOptions
from minamo.shell.delivery.overflow import Overflow
from minamo.shell.notices.localization import Languages, Wording
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.stops.registry import StopSignal
from minamo.shell.turns.channels import Policy

if TYPE_CHECKING:
    import hikari

    from minamo.shell.orchestrator import StreamOrchestrator


new_stream_id: Callable[[], str] = partial(secrets.token_hex, 8)
"""Returns a random unique id; nonces are derived from it."""


@frozen(kw_only=True)
class StreamContext:
    """Everything one reply needs besides its source.  `Client` makes one; callers may too."""

    orchestrator: StreamOrchestrator = field(repr=False)
    channel_id: int
    sender: Sender = field(repr=False)
    """The identity that sends: the bot, a persona, or an interaction response."""
    stream_id: str = field(factory=new_stream_id)
    """The id that stops are addressed to; never used twice within minutes."""
    options: SendOptions = field(factory=SendOptions, repr=False)
    """The message replied to, allowed mentions, the Stop button, and the overflow handling."""
    scene: bool = False
    """One of several replies to one message: none shows a reference, even if `options` has one."""
    typing: bool = True
    edit: bool = False
    """Edit one message in place instead of sending several."""
    fresh: bool = False
    """Send an edited reply again at its end, so that the channel is marked unread."""
    stop_signal: StopSignal = field(factory=StopSignal, repr=False)
    requester: str | int | None = None
    """The id of the user who asked for the reply and may stop it."""
    wording: Wording = field(factory=lambda: Languages().wording(), repr=False)
    suppress_user_errors: bool = False
    """Send no error notice; for attempts that will be repeated."""
    on_stream_progress: Callable[[], object] | None = field(
        default=None, repr=False, validator=optional(plain_function)
    )
    """Called on each chunk and each receipt."""
    current_turn_model_parts: list[dict[str, Any]] | None = field(default=None, repr=False)
    """Receives ``{"text": …}`` for each segment handed to delivery."""


Reply = bool | Literal["auto"]

# Discord's limit.
_NAME_MAX = 80


def _name(_: object, __: Attribute[str], value: object) -> None:
    if not isinstance(value, str) or not 1 <= len(value.strip()) <= _NAME_MAX:
        raise BadSetting(f"a persona's name has 1 to {_NAME_MAX} characters")


def _avatar(_: object, __: Attribute[Any], value: object) -> None:
    if value is not None and not (isinstance(value, str) and value.startswith("https://")):
        raise BadSetting("a persona's avatar_url must be an https address of a picture")


@frozen
class Persona:
    """A name and an avatar under which a webhook sends the reply."""

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
    components: Sequence[hikari.api.ComponentBuilder]
    embeds: Sequence[hikari.Embed]
    attachments: Sequence[hikari.Resourceish]


def _is(*kinds: Any) -> Any:
    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        if not isinstance(value, kinds):
            names = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
            raise BadSetting(f"{attribute.name} must be {names}; it is {value!r}")

    return check


def _sequence(most: int) -> Any:
    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise BadSetting(f"{attribute.name} must be a list; it is a {type(value).__name__}")
        if len(value) > most:
            raise BadSetting(f"{attribute.name}: Discord takes {most} in a message")

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
    """The options of one reply, validated."""

    reply: Reply = field(default="auto", validator=_reply)
    """Whether the reply references the message it answers.  ``"auto"``: if the bot was addressed
    directly or the question had to wait, unless the reply is part of a scene."""
    scene: bool = field(default=False, validator=_FLAG)
    """One of several replies to one message, such as a dialogue of personas: it never references
    that message, because all of them would show the same reference."""
    config: StreamConfig | None = field(default=None, validator=_is(StreamConfig, type(None)))
    edit: bool = field(default=False, validator=_FLAG)
    """Edit one message in place instead of sending several."""
    fresh: bool = field(default=False, validator=_FLAG)
    """Send an edited reply again at its end, so that the channel is marked unread."""
    persona: Persona | None = field(default=None, validator=_is(Persona, type(None)))
    button: bool = field(default=False, validator=_FLAG)
    """Show a Stop button below the reply while it is written."""
    ephemeral: bool = field(default=False, validator=_FLAG)
    """Visible only to the user who asked; interactions only."""
    ping: AllowedMentions = field(default=NOBODY, validator=_is(AllowedMentions))
    link_previews: bool = field(default=False, validator=_FLAG)
    """Allow link previews.  Off by default: Discord fetches any address the model wrote."""
    overflow: Overflow | None = field(default=None, validator=_is(Overflow, type(None)))
    policy: Policy | None = field(default=None, validator=_policy)
    """How to treat a reply already being written in the channel; None: the client's policy."""
    locale: str | None = field(default=None, validator=_is(str, type(None)))
    thoughts: ThoughtDisplay | None = field(default=None, validator=_is(ThoughtDisplay, type(None)))
    suppress_user_errors: bool = field(default=False, validator=_FLAG)
    on_stream_progress: Callable[[], object] | None = field(
        default=None, repr=False, validator=optional(plain_function)
    )
    components: Sequence[hikari.api.ComponentBuilder] = field(
        default=(), repr=False, validator=_sequence(40)
    )
    """Added to the last message when the reply has ended, as the next two are."""
    embeds: Sequence[hikari.Embed] = field(default=(), repr=False, validator=_sequence(10))
    attachments: Sequence[hikari.Resourceish] = field(
        default=(), repr=False, validator=_sequence(10)
    )

    def __attrs_post_init__(self) -> None:
        """Refuse contradictory options."""
        if self.ephemeral and self.persona is not None:
            raise BadSetting(
                "ephemeral: everyone in the channel sees what a persona says; leave one out"
            )
        if self.scene and self.reply is True:
            raise BadSetting("scene: a part of a scene never replies; leave out reply=True")


DEFAULT_OPTIONS = ResolvedOptions()


def options(given: StreamOptions) -> ResolvedOptions:
    """Return *given* validated; the error for an unknown option lists the known ones."""
    known = [option.name for option in fields(ResolvedOptions)]
    if unknown := sorted(set(given) - set(known)):
        raise BadSetting(f"unknown option {', '.join(unknown)}; known are {', '.join(known)}")
    return ResolvedOptions(**given)
