"""Settings of the ready-made bot, validated when they are created.

Every class here is a table of the settings file; `settings.toml` in this folder explains them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlsplit

from attrs import Attribute, Factory, field, frozen

from minamo.core.config import StreamConfig
from minamo.errors import BadRequest, BadSetting
from minamo.shell.notices.thoughts import Place
from minamo.shell.turns.channels import Policy
from minamo.shell.validation import is_loopback
from minamo.wire.options import ReplyOptions, RequestOptions

# Discord's list of choices, from which a user picks a persona, takes no more.
PERSONAS_MAX = 25
# If nine providers have refused a reply, a tenth will not help.
PROVIDERS_MAX = 10
# A longer prompt costs more than it helps, with every single reply.
PROMPT_CHARS_MAX = 32_000

KINDS = ("openai", "gemini", "anthropic")
MODES = ("messages", "edit")


def _wrong(attribute: Attribute[Any], may: str) -> BadSetting:
    # The value is not repeated: a misplaced value may be a key.
    return BadSetting(f"{attribute.name} must be {may}")


def _text(most: int = 2_000, *, needed: bool = False) -> Any:
    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        if not isinstance(value, str) or len(value) > most or (needed and not value.strip()):
            least = "1" if needed else "0"
            raise _wrong(attribute, f"text of {least} to {most} characters")

    return check


def _flag(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise _wrong(attribute, "true or false")


def _whole(low: int, high: int) -> Any:
    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        fine = isinstance(value, int) and not isinstance(value, bool)
        if not fine or not low <= value <= high:  # type: ignore[operator]
            raise _wrong(attribute, f"a whole number, {low} to {high}")

    return check


def _one_of(*known: str) -> Any:
    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        if value not in known:
            raise _wrong(attribute, f"one of {', '.join(map(repr, known))}")

    return check


def _names(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(name, str) and name for name in value):
        raise _wrong(attribute, "a list of names")


def _ids(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, tuple) or not all(_is_id(snowflake) for snowflake in value):
        raise _wrong(attribute, "a list of ids, as Discord's `Copy ID` gives them")


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 64


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    # Ids are too long for JavaScript's numbers, so people are used to writing them in quotes.
    return tuple(
        int(snowflake) if isinstance(snowflake, str) and snowflake.isdecimal() else snowflake
        for snowflake in value
    )


def _command(_: object, attribute: Attribute[Any], value: object) -> None:
    fine = isinstance(value, str) and (not value or _is_command(value))
    if not fine:
        raise _wrong(attribute, "a command's name (small letters, digits, - and _), or empty")


def _is_command(name: str) -> bool:
    plain = name.replace("-", "").replace("_", "")
    return len(name) <= 32 and plain.isalnum() and name == name.lower()


def _url(*schemes: str) -> Any:
    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        begins = " or ".join(f"{scheme}://" for scheme in schemes)
        may = f"empty or an address that begins with {begins}"
        try:
            parts = urlsplit(value) if isinstance(value, str) else None
        except ValueError:
            parts = None
        if parts is None or (value and (parts.scheme not in schemes or not parts.hostname)):
            raise _wrong(attribute, may)

    return check


#: The options of a request that a provider may have in the file; tools come from [bot].
OPTIONS = tuple(
    name for name in ReplyOptions.__annotations__ if name not in ("tools", "tool_choice")
)


def _options(_: object, __: Attribute[Any], value: object) -> None:
    if not isinstance(value, Mapping):
        raise BadSetting("options must be a table: write it as [provider.options]")
    for name in value:
        if name not in OPTIONS:
            raise BadSetting(f"options has no {name!r}; known are {', '.join(OPTIONS)}")
    try:
        RequestOptions(**value)
    except BadRequest as error:
        raise BadSetting(f"options are wrong: {error}") from None


@frozen(kw_only=True)
class DiscordSettings:
    """The bot's account and the Discord it connects to."""

    token: str = field(default="", repr=False, validator=_text(200))
    url: str = field(default="", validator=_url("https", "http"))
    """Another Discord, such as `minamo twin`; empty: the real one."""
    allow_http: bool = field(default=False, validator=_flag)
    """Allow plain http to another machine, such as a proxy in a private network."""
    message_content: bool = field(default=False, validator=_flag)
    """Request the privileged intent; without it only messages to the bot can be read."""

    def __attrs_post_init__(self) -> None:
        http = self.url.lower().startswith("http:")
        if http and not self.allow_http and not is_loopback(self.url):
            raise BadSetting(
                "url must be https: plain http to another machine shows the token to everyone on "
                "the way; set allow_http = true in a network that you trust"
            )


@frozen(kw_only=True)
class BotSettings:
    """Which messages the bot answers, and how."""

    system_prompt: str = field(default="", repr=False, validator=_text(PROMPT_CHARS_MAX))
    mentions: bool = field(default=True, validator=_flag)
    direct_messages: bool = field(default=True, validator=_flag)
    ask_command: str = field(default="ask", validator=_command)
    stop_command: str = field(default="stop", validator=_command)
    stop_button: bool = field(default=True, validator=_flag)
    mode: str = field(default="messages", validator=_one_of(*MODES))
    while_busy: str = field(default="queue", validator=_one_of(*get_args(Policy)))
    guilds: tuple[int, ...] = field(default=(), converter=_listed, validator=_ids)
    channels: tuple[int, ...] = field(default=(), converter=_listed, validator=_ids)
    memory_messages: int = field(default=24, validator=_whole(1, 100))
    thoughts: str = field(default="nowhere", validator=_one_of(*get_args(Place)))
    thoughts_channel: int = field(default=0, validator=_whole(0, (1 << 64) - 1))
    link_previews: bool = field(default=False, validator=_flag)
    locale: str = field(default="en", validator=_text(35, needed=True))
    tools: tuple[str, ...] = field(default=("roll", "now"), converter=_listed, validator=_names)
    tools_file: str = field(default="", validator=_text())

    def __attrs_post_init__(self) -> None:
        if (self.thoughts == "log") != bool(self.thoughts_channel):
            raise BadSetting('thoughts_channel belongs to thoughts = "log": set both, or neither')


@frozen(kw_only=True)
class LimitSettings:
    """Limits per user."""

    replies_per_minute: int = field(default=6, validator=_whole(0, 600))
    """0: unlimited.  Each call of a model counts; a question that needs tools makes several."""
    at_once: int = field(default=2, validator=_whole(0, 50))
    """0: unlimited."""


def _as_words(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


def _media_types(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
        raise _wrong(attribute, 'a list of media types, such as ["application/pdf"]')


@frozen(kw_only=True)
class ProviderSettings:
    """One provider of replies."""

    kind: str = field(default="openai", validator=_one_of(*KINDS))
    model: str = field(default="", validator=_text(256))
    base_url: str = field(default="", validator=_url("https", "http"))
    api_key: str = field(default="", repr=False, validator=_text(500))
    api_key_env: str = field(default="", validator=_text(100))
    """The variable that holds the key; empty: the default one of its kind."""
    allow_http: bool = field(default=False, validator=_flag)
    media_types: tuple[str, ...] = field(default=(), converter=_as_words, validator=_media_types)
    """The files that a server takes which minamo does not know; empty: what is known of it."""
    options: Mapping[str, Any] = field(factory=dict, repr=False, validator=_options)
    """Sent with every request, such as ``temperature``."""


@frozen(kw_only=True)
class PersonaSettings:
    """A name and an avatar the bot can answer with."""

    name: str = field(validator=_text(80, needed=True))
    avatar_url: str = field(default="", validator=_url("https"))
    prompt: str = field(default="", repr=False, validator=_text(PROMPT_CHARS_MAX))
    channels: tuple[int, ...] = field(default=(), converter=_listed, validator=_ids)
    """Channels in which this persona always answers."""


def _words(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(word, str) and word for word in value):
        raise _wrong(attribute, 'a list of words, such as ["uvx", "mcp-server-time"]')


@frozen(kw_only=True)
class McpSettings:
    """One MCP server whose tools the model may use."""

    # Neither is in the repr: both may hold a key.
    command: tuple[str, ...] = field(default=(), converter=_as_words, repr=False, validator=_words)
    url: str = field(default="", repr=False, validator=_url("https", "http"))
    token_env: str = field(default="", validator=_text(100))
    """The variable with the token for *url*, sent as ``Authorization: Bearer``."""
    prefix: str = field(default="", validator=_text(32))
    only: tuple[str, ...] = field(default=(), converter=_as_words, validator=_words)
    timeout_ms: int = field(default=60_000, validator=_whole(1, 3_600_000))

    def __attrs_post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise BadSetting("command or url: an [[mcp]] needs one of them, and not both")


@frozen(kw_only=True)
class RedisSettings:
    """The Redis shared by a bot of several processes."""

    # Not in the repr: it may contain a password.
    url: str = field(default="", repr=False, validator=_url("redis", "rediss"))
    prefix: str = field(default="minamo", validator=_text(64, needed=True))


@frozen(kw_only=True)
class PageSettings:
    """The live page, which shows the owner the states of every reply."""

    on: bool = field(default=False, validator=_flag)
    port: int = field(default=0, validator=_whole(0, 65_535))


@frozen(kw_only=True)
class HealthSettings:
    """The endpoints for supervisors: /healthz, /readyz and /metrics."""

    host: str = field(default="127.0.0.1", validator=_text(255, needed=True))
    port: int = field(default=0, validator=_whole(0, 65_535))
    """0: off."""


@frozen(kw_only=True)
class Settings:
    """All settings."""

    discord: DiscordSettings = Factory(DiscordSettings)
    bot: BotSettings = Factory(BotSettings)
    limits: LimitSettings = Factory(LimitSettings)
    stream: StreamConfig = Factory(StreamConfig)
    provider: tuple[ProviderSettings, ...] = ()
    persona: tuple[PersonaSettings, ...] = ()
    mcp: tuple[McpSettings, ...] = ()
    redis: RedisSettings = Factory(RedisSettings)
    page: PageSettings = Factory(PageSettings)
    health: HealthSettings = Factory(HealthSettings)

    def __attrs_post_init__(self) -> None:
        if len(self.provider) > PROVIDERS_MAX:
            raise BadSetting(f"[[provider]]: at most {PROVIDERS_MAX}")
        if len(self.persona) > PERSONAS_MAX:
            raise BadSetting(f"[[persona]]: at most {PERSONAS_MAX}")
        names = [persona.name for persona in self.persona]
        if len(set(names)) < len(names):
            raise BadSetting("[[persona]]: two have the same name")
