"""What an owner can decide about the ready-made bot, checked when it is read.

Every class here is a table of the settings file; `settings.toml` beside it explains them to people.
"""

from __future__ import annotations

from typing import Any, get_args
from urllib.parse import urlsplit

from attrs import Attribute, Factory, field, frozen

from minamo.core.config import StreamConfig
from minamo.errors import BadSetting
from minamo.shell.notices.thoughts import Place
from minamo.shell.turns.channels import Policy
from minamo.shell.validation import is_loopback

# More would not fit the list that Discord shows when somebody picks a persona.
PERSONAS_MAX = 25
# A tenth provider will not save a reply that nine have refused.
PROVIDERS_MAX = 10
# Longer ones cost more than they help, with every single reply.
PROMPT_CHARS_MAX = 32_000

KINDS = ("openai", "gemini", "anthropic")
MODES = ("messages", "edit")


def _wrong(attribute: Attribute[Any], may: str) -> BadSetting:
    # The value is not repeated: what stands at the wrong place may be a key.
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
    if not isinstance(value, tuple) or not all(isinstance(one, str) and one for one in value):
        raise _wrong(attribute, "a list of names")


def _ids(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, tuple) or not all(_is_id(one) for one in value):
        raise _wrong(attribute, "a list of ids, as Discord's `Copy ID` gives them")


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 64


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    # Ids are too long for JavaScript's numbers, so people are used to write them in quotes.
    return tuple(int(one) if isinstance(one, str) and one.isdecimal() else one for one in value)


def _command(_: object, attribute: Attribute[Any], value: object) -> None:
    fine = isinstance(value, str) and (not value or _is_command(value))
    if not fine:
        raise _wrong(attribute, "a command's name (small letters, digits, - and _), or empty")


def _is_command(name: str) -> bool:
    plain = name.replace("-", "").replace("_", "")
    return len(name) <= 32 and plain.isalnum() and name == name.lower()


def _url(*schemes: str) -> Any:
    def check(_: object, attribute: Attribute[Any], value: object) -> None:
        may = f"empty or an address that begins with {' or '.join(f'{one}://' for one in schemes)}"
        try:
            parts = urlsplit(value) if isinstance(value, str) else None
        except ValueError:
            parts = None
        if parts is None or (value and (parts.scheme not in schemes or not parts.hostname)):
            raise _wrong(attribute, may)

    return check


@frozen(kw_only=True)
class DiscordSettings:
    """Whose bot it is."""

    token: str = field(default="", repr=False, validator=_text(200))
    url: str = field(default="", validator=_url("https", "http"))
    """Another Discord, such as `minamo twin`; empty: the real one."""
    allow_http: bool = field(default=False, validator=_flag)
    """Plain http to another machine, such as a proxy in a network of one's own."""
    message_content: bool = field(default=False, validator=_flag)
    """Ask for the privileged intent; without it only what is said to the bot can be read."""

    def __attrs_post_init__(self) -> None:
        http = self.url.lower().startswith("http:")
        if http and not self.allow_http and not is_loopback(self.url):
            raise BadSetting(
                "url must be https: plain http to another machine shows the token to everyone on "
                "the way; set allow_http = true in a network that you trust"
            )


@frozen(kw_only=True)
class BotSettings:
    """What it answers, and how."""

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
            raise BadSetting('thoughts_channel belongs to thoughts = "log", and that needs it')


@frozen(kw_only=True)
class LimitSettings:
    """How much one person may ask for."""

    replies_per_minute: int = field(default=6, validator=_whole(0, 600))
    """0: any number.  Each call of a model is one; a question that takes tools has several."""
    at_once: int = field(default=2, validator=_whole(0, 50))
    """0: any number."""


@frozen(kw_only=True)
class ProviderSettings:
    """Where replies come from."""

    kind: str = field(default="openai", validator=_one_of(*KINDS))
    model: str = field(default="", validator=_text(256))
    base_url: str = field(default="", validator=_url("https", "http"))
    api_key: str = field(default="", repr=False, validator=_text(500))
    api_key_env: str = field(default="", validator=_text(100))
    """The variable that holds the key; empty: the usual one of its kind."""
    allow_http: bool = field(default=False, validator=_flag)


@frozen(kw_only=True)
class PersonaSettings:
    """A name and a face the bot can speak with."""

    name: str = field(validator=_text(80, needed=True))
    avatar_url: str = field(default="", validator=_url("https"))
    prompt: str = field(default="", repr=False, validator=_text(PROMPT_CHARS_MAX))
    channels: tuple[int, ...] = field(default=(), converter=_listed, validator=_ids)
    """Where it always speaks."""


@frozen(kw_only=True)
class RedisSettings:
    """For a bot that is several processes."""

    # A password may be in it.
    url: str = field(default="", repr=False, validator=_url("redis", "rediss"))
    prefix: str = field(default="minamo", validator=_text(64, needed=True))


@frozen(kw_only=True)
class PageSettings:
    """The live page: the states of every reply, for the owner's eyes."""

    on: bool = field(default=False, validator=_flag)
    port: int = field(default=0, validator=_whole(0, 65_535))


@frozen(kw_only=True)
class Settings:
    """Everything."""

    discord: DiscordSettings = Factory(DiscordSettings)
    bot: BotSettings = Factory(BotSettings)
    limits: LimitSettings = Factory(LimitSettings)
    stream: StreamConfig = Factory(StreamConfig)
    provider: tuple[ProviderSettings, ...] = ()
    persona: tuple[PersonaSettings, ...] = ()
    redis: RedisSettings = Factory(RedisSettings)
    page: PageSettings = Factory(PageSettings)

    def __attrs_post_init__(self) -> None:
        if len(self.provider) > PROVIDERS_MAX:
            raise BadSetting(f"[[provider]]: at most {PROVIDERS_MAX}")
        if len(self.persona) > PERSONAS_MAX:
            raise BadSetting(f"[[persona]]: at most {PERSONAS_MAX}")
        names = [one.name for one in self.persona]
        if len(set(names)) < len(names):
            raise BadSetting("[[persona]]: two have the same name")
