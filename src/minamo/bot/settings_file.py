"""Reader of the settings: a TOML file, overridden by the environment where there are secrets.

Every error is one line that names the file, the line and the key.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, fields, frozen

from minamo.bot.settings import (
    BotSettings,
    DiscordSettings,
    HealthSettings,
    LimitSettings,
    McpSettings,
    PageSettings,
    PersonaSettings,
    ProviderSettings,
    RedisSettings,
    Settings,
)
from minamo.core.config import StreamConfig
from minamo.errors import BadSetting

_TABLE = re.compile(r"\s*+(\[{1,2})([A-Za-z0-9_\-.\"' \t]++)\]{1,2}\s*+(#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_\-]+|\"[^\"]*\"|'[^']*')\s*=")
_LONG = ('"""', "'''")

At = tuple[str | int, ...]


@define
class TomlPositions:
    """Line numbers of the tables and keys of a TOML document."""

    text: str = field(repr=False)
    _places: dict[At, int] = field(factory=dict, init=False, repr=False)
    _keys: dict[int, str] = field(factory=dict, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        table: At = ()
        count: Counter[str] = Counter()
        closer = ""
        for number, line in enumerate(self.text.split("\n"), 1):
            if closer:  # inside a multi-line string
                closer = "" if closer in line else closer
                continue
            if found := _TABLE.match(line):
                name = found[2].strip("\"' \t")
                table = (name, count[name]) if found[1] == "[[" else (name,)
                count[name] += 1
                self._places.setdefault((name,), number)
                self._places.setdefault(table, number)
            elif found := _KEY.match(line):
                key = found[1].strip("\"'")
                self._places.setdefault((*table, key), number)
                self._keys[number] = ".".join([*(str(part) for part in table if part != 0), key])
                value = line[found.end() :].strip()
                opener = next((quotes for quotes in _LONG if value.startswith(quotes)), "")
                closer = opener if opener and opener not in value[3:] else ""

    def of(self, at: At) -> int | None:
        """Return the line of a setting, or else of the table it should be in."""
        while at:
            if at in self._places:
                return self._places[at]
            at = at[:-1]
        return None

    def key_at(self, line: int) -> str:
        """Return the setting on a line; empty if there is none."""
        return self._keys.get(line, "")


# A settings file is a few kilobytes; a larger file is not a settings file.
FILE_BYTES_MAX = 1 << 20

#: Default variable of the key for each kind of provider.
KEY_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
_TABLES: Mapping[str, Callable[..., Any]] = {
    "discord": DiscordSettings,
    "bot": BotSettings,
    "limits": LimitSettings,
    "redis": RedisSettings,
    "page": PageSettings,
    "health": HealthSettings,
}
_LISTS: Mapping[str, Callable[..., Any]] = {
    "provider": ProviderSettings,
    "persona": PersonaSettings,
    "mcp": McpSettings,
}
_WHERE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
# Model name prefixes that identify the provider, if several keys are set and no provider is.
_MODEL_NAMES = {"gemini": "gemini", "claude": "anthropic"}


def example() -> str:
    """Return the example settings file, which explains every setting."""
    return resources.files("minamo.bot").joinpath("settings.toml").read_text(encoding="utf-8")


def read_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of *path*, if given, combined with those of the environment."""
    environ = os.environ if environ is None else environ
    text = "" if path is None else _text(path)
    found = _File("" if path is None else str(path), TomlPositions(text)).read(text, environ)
    return _from_environment(found, environ)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise BadSetting(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > FILE_BYTES_MAX:
        raise BadSetting(f"{path} is too large for a settings file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadSetting(f"{path}:{line}: this is not UTF-8 text") from None


@frozen
class _File:
    path: str
    lines: TomlPositions

    def read(self, text: str, environ: Mapping[str, str]) -> Settings:
        try:
            given = tomllib.loads(text.replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as error:
            raise self._syntax(str(error), text) from None
        known = (*_TABLES, "stream", *_LISTS)
        for name in given:
            if name not in known:
                raise self._wrong((name,), f"unknown {_nearest(name, known)}")
        made: dict[str, Any] = {}
        for name, make in _TABLES.items():
            made[name] = self._table((name,), make, _keys(make), given.get(name, {}))
        for name, make in _LISTS.items():
            made[name] = self._list(name, make, given.get(name, []))
        made["stream"] = self._stream(given.get("stream", {}), environ)
        try:
            return Settings(**made)
        except BadSetting as error:
            raise BadSetting(f"{self.path}: {error}" if self.path else str(error)) from None

    def _list(self, name: str, make: Callable[..., Any], given: object) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise self._wrong((name,), f"write it as [[{name}]], once for each {name}")
        return tuple(
            self._table((name, number), make, _keys(make), table)
            for number, table in enumerate(given)
        )

    def _stream(self, given: object, environ: Mapping[str, str]) -> StreamConfig:
        # Validated alone first, so that an error in the file is reported for the file.
        self._table(("stream",), StreamConfig, _keys(StreamConfig), given)
        return StreamConfig.from_env(environ, **given)  # type: ignore[arg-type]

    def _table(
        self,
        at: tuple[str | int, ...],
        make: Callable[..., Any],
        keys: Sequence[str],
        given: object,
    ) -> Any:
        if not isinstance(given, dict):
            raise self._wrong(at, f"it is a table: write it as [{at[0]}]")
        for key in given:
            if key not in keys:
                raise self._wrong((*at, key), f"unknown {_nearest(key, keys)}")
        try:
            return make(**given)
        except TypeError:
            raise self._wrong(at, "it needs a name") from None
        except BadSetting as error:
            # Every error message begins with the name of the setting.
            key, _, problem = str(error).partition(" ")
            raise self._wrong((*at, key) if key in keys else at, problem) from None

    def _wrong(self, at: tuple[str | int, ...], problem: str) -> BadSetting:
        line = self.lines.of(at)
        place = f"{self.path}:{line}" if line else self.path
        shown = ".".join(str(key) for key in at if isinstance(key, str))
        return BadSetting(f"{place}: {shown}: {problem}")

    def _syntax(self, words: str, text: str) -> BadSetting:
        found = _WHERE.search(words)
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        problem = _WHERE.sub("", words).strip().rstrip(".")
        key = self.lines.key_at(line)
        shown = f"{key}: " if key else ""
        return BadSetting(f"{self.path}:{line}: {shown}{problem}")


def _keys(make: Any) -> list[str]:
    return [field.name for field in fields(make)]


def _nearest(name: str, known: Iterable[str]) -> str:
    every = list(known)
    close = difflib.get_close_matches(name, every, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(every)}"
    return f"setting; {hint}"


def _from_environment(settings: Settings, environ: Mapping[str, str]) -> Settings:
    token = environ.get("DISCORD_TOKEN", "").strip()
    discord = evolve(settings.discord, token=token) if token else settings.discord
    health = _health(settings.health, environ.get("MINAMO_HEALTH", "").strip())
    redis, url = settings.redis, environ.get("MINAMO_REDIS_URL", "").strip()
    if url:
        try:
            redis = evolve(redis, url=url)
        except BadSetting as error:
            raise BadSetting(f"the environment: MINAMO_REDIS_URL: {error}") from None
    given = settings.provider or providers_named(environ)
    providers = tuple(_with_key(provider, environ) for provider in given)
    return evolve(settings, discord=discord, provider=providers, redis=redis, health=health)


def _health(settings: HealthSettings, given: str) -> HealthSettings:
    """Return *settings* with the address that MINAMO_HEALTH has: ``8081`` or ``host:8081``."""
    if not given:
        return settings
    host, _, port = given.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise BadSetting("the environment: MINAMO_HEALTH must be a port or host:port")
    return evolve(settings, host=host.strip("[]") or settings.host, port=int(port))


def providers_named(environ: Mapping[str, str]) -> tuple[ProviderSettings, ...]:
    """Return the provider of the environment; at most one, as there is one MINAMO_MODEL."""
    model = environ.get("MINAMO_MODEL", "").strip()
    base_url = environ.get("OPENAI_BASE_URL", "").strip()
    kinds = [kind for kind, name in KEY_VARIABLES.items() if environ.get(name, "").strip()]
    if base_url and "openai" not in kinds:
        kinds.insert(0, "openai")
    if not kinds:
        return ()
    named = next((kind for part, kind in _MODEL_NAMES.items() if model.startswith(part)), "openai")
    kind = named if named in kinds else kinds[0]
    try:
        return (
            ProviderSettings(kind=kind, model=model, base_url=base_url if kind == "openai" else ""),
        )
    except BadSetting as error:
        raise BadSetting(f"the environment: OPENAI_BASE_URL or MINAMO_MODEL: {error}") from None


def _with_key(provider: ProviderSettings, environ: Mapping[str, str]) -> ProviderSettings:
    # The key of one service must not be sent to another by accident: a custom address gets the
    # default key only if the environment sets both, and any other key only by its variable's name.
    foreign = provider.base_url and provider.base_url != environ.get("OPENAI_BASE_URL", "").strip()
    if foreign and not provider.api_key_env:
        return provider
    key = environ.get(provider.api_key_env or KEY_VARIABLES[provider.kind], "").strip()
    return evolve(provider, api_key=key) if key else provider
