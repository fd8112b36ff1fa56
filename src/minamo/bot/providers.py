"""From the settings of providers to providers, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Sequence

from minamo.bot.reading import KEY_VARIABLES
from minamo.bot.settings import ProviderSettings
from minamo.errors import BadRequest, BadSetting
from minamo.shell.providing.adapters import Anthropic, Gemini, OpenAICompatible
from minamo.shell.providing.checks import is_loopback

Adapter = OpenAICompatible | Gemini | Anthropic

#: Where each kind lives unless told otherwise.
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
    """One adapter for each; whoever calls this closes them."""
    if not settings:
        raise BadSetting(_NONE)
    return [make_provider(one, number) for number, one in enumerate(settings, 1)]


def make_provider(one: ProviderSettings, number: int = 1) -> Adapter:
    """The adapter for *one*."""
    base_url = home_of(one)
    variable = one.api_key_env or KEY_VARIABLES[one.kind]
    if not one.model:
        raise BadSetting(
            f"provider {number} ({one.kind}) has no model: set MINAMO_MODEL or `model`"
        )
    if not one.api_key and not is_loopback(base_url) and not one.allow_http:
        how = f"set {variable}"
        if one.base_url and not one.api_key_env:
            how = f'name the variable that holds it, such as api_key_env = "{variable}"'
        raise BadSetting(f"provider {number} ({one.kind}) has no key: {how}")
    try:
        if one.kind == "openai":
            return OpenAICompatible(
                base_url,
                model=one.model,
                api_key=one.api_key or None,
                allow_http=one.allow_http,
            )
        make = Gemini if one.kind == "gemini" else Anthropic
        # A server of one's own may not want a key, but these dialects always send one.
        return make(
            base_url=base_url,
            model=one.model,
            api_key=one.api_key or "none",
            allow_http=one.allow_http,
        )
    except BadRequest as error:
        raise BadSetting(f"provider {number} ({one.kind}): {error}") from None


def home_of(one: ProviderSettings) -> str:
    """The address it is asked at."""
    return one.base_url or HOMES[one.kind]
