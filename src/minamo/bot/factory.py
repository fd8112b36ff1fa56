"""Factories from the settings: the providers in the order they are tried, the bot, the client."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import hikari
from attrs import field, frozen

from minamo.bot.settings import ProviderSettings, Settings
from minamo.bot.settings_file import KEY_VARIABLES
from minamo.core.chunks import Chunk
from minamo.errors import BadRequest, BadSetting
from minamo.shell.client import Client
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
from minamo.shell.stops.registry import Stops
from minamo.shell.telemetry.observer import StreamInspector
from minamo.shell.telemetry.telemetry import Telemetry
from minamo.shell.turns.channels import Lease
from minamo.shell.validation import is_loopback
from minamo.wire.conversation import ChatMessage

Adapter = OpenAI | OpenAICompatible | Gemini | Anthropic

#: Default address of each kind of provider.
HOMES = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com",
    "anthropic": "https://api.anthropic.com",
}
_NONE = (
    "no model to ask: set MINAMO_MODEL and one of OPENAI_API_KEY, GEMINI_API_KEY, "
    "ANTHROPIC_API_KEY or OPENAI_BASE_URL, or write a [[provider]] into a settings file "
    "(minamo run --write-config minamo.toml)"
)


def make_providers(settings: Sequence[ProviderSettings]) -> list[Adapter]:
    """Return one adapter for each of *settings*; the caller closes them."""
    if not settings:
        raise BadSetting(_NONE)
    return [make_provider(provider, number) for number, provider in enumerate(settings, 1)]


def make_provider(provider: ProviderSettings, number: int = 1) -> Adapter:
    """Return the adapter for *provider*, or raise `BadSetting`."""
    base_url = home_of(provider)
    variable = provider.api_key_env or KEY_VARIABLES[provider.kind]
    if not provider.model:
        raise BadSetting(
            f"provider {number} ({provider.kind}) has no model: set MINAMO_MODEL or `model`"
        )
    if not provider.api_key and not is_loopback(base_url) and not provider.allow_http:
        remedy = f"set {variable}"
        if provider.base_url and not provider.api_key_env:
            remedy = f'name the variable that holds it, such as api_key_env = "{variable}"'
        raise BadSetting(f"provider {number} ({provider.kind}) has no key: {remedy}")
    if provider.media_types and (provider.kind != "openai" or is_openai(base_url)):
        raise BadSetting(f"provider {number} ({provider.kind}): media_types is not needed here")
    try:
        if provider.kind == "openai" and is_openai(base_url):
            return OpenAI(base_url=base_url, model=provider.model, api_key=provider.api_key)
        if provider.kind == "openai":
            return OpenAICompatible(
                base_url,
                model=provider.model,
                api_key=provider.api_key or None,
                allow_http=provider.allow_http,
                media_types=provider.media_types or None,
            )
        make = Gemini if provider.kind == "gemini" else Anthropic
        # A self-hosted server may need no key, but these dialects always send one.
        return make(
            base_url=base_url,
            model=provider.model,
            api_key=provider.api_key or "none",
            allow_http=provider.allow_http,
        )
    except BadRequest as error:
        raise BadSetting(f"provider {number} ({provider.kind}): {error}") from None


def is_openai(base_url: str) -> bool:
    """Return whether *base_url* is OpenAI's own, which is asked by the Responses API."""
    return urlsplit(base_url).hostname == "api.openai.com"


@frozen
class ProviderWithOptions:
    """An adapter, with the options of the settings in every request."""

    adapter: Adapter
    _options: Mapping[str, Any] = field(repr=False)

    def chat(self, messages: Sequence[ChatMessage], **options: Any) -> AsyncIterable[str | Chunk]:
        """Return the reply to a conversation; *options* win over those of the settings."""
        return self.adapter.chat(messages, **{**self._options, **options})


def with_options(adapter: Adapter, provider: ProviderSettings) -> ProviderWithOptions:
    """Return *adapter* with the options of *provider*."""
    return ProviderWithOptions(adapter, provider.options)


def home_of(provider: ProviderSettings) -> str:
    """Return the base address of a provider."""
    return provider.base_url or HOMES[provider.kind]


# Messages addressed to the bot include their content even without the privileged intent.
# Channels and threads are known through GUILDS.
_INTENTS = hikari.Intents.GUILDS | hikari.Intents.GUILD_MESSAGES | hikari.Intents.DM_MESSAGES


def intents(settings: Settings) -> hikari.Intents:
    """Return the gateway intents that the settings need."""
    more = settings.discord.message_content
    return _INTENTS | hikari.Intents.MESSAGE_CONTENT if more else _INTENTS


def make_bot(settings: Settings) -> hikari.GatewayBot:
    """Return a bot that is not started yet and prints no banner or logs."""
    return hikari.GatewayBot(
        settings.discord.token,
        rest_url=settings.discord.url or None,
        intents=intents(settings),
        banner=None,
        logs=None,
        suppress_optimization_warning=True,
        cache_settings=hikari.impl.CacheSettings(
            # Otherwise a bot in large servers would keep all of their members in memory.
            components=hikari.api.CacheComponents.ME
            | hikari.api.CacheComponents.GUILDS
            | hikari.api.CacheComponents.GUILD_CHANNELS
            | hikari.api.CacheComponents.GUILD_THREADS,
        ),
    )


def make_client(
    bot: hikari.GatewayBot,
    settings: Settings,
    *,
    inspector: StreamInspector | None = None,
    stops: Stops | None = None,
    lease: Lease | None = None,
    telemetry: Sequence[Telemetry] = (),
) -> Client:
    """Return a client with the owner's settings."""
    wants = settings.bot
    return Client(
        bot,
        config=settings.stream,
        policy=wants.while_busy,  # type: ignore[arg-type]  # checked by the settings
        stops=stops,
        lease=lease,
        thoughts=ThoughtDisplay(wants.thoughts, channel_id=wants.thoughts_channel or None),  # type: ignore[arg-type]
        locale=wants.locale,
        stop_command=wants.stop_command or None,
        rest_url=settings.discord.url or None,
        inspect=False if inspector is None else inspector,
        telemetry=telemetry,
    )
