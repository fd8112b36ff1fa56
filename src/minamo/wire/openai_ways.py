"""Where the OpenAI-compatible servers differ in what they take."""

from __future__ import annotations

import re

from attrs import frozen

REASONING = ("reasoning_content", "reasoning", "reasoning_details")
# Servers that refuse a field they do not know, with the names they do.
_STRICT: dict[str, tuple[str, ...]] = {
    "groq.com": ("reasoning",),
    "cerebras.ai": ("reasoning",),
    "mistral.ai": (),
    "openai.com": (),
}
_ANY = re.compile(".+", re.DOTALL)
_SHORT = re.compile(".{1,40}", re.DOTALL)
_NINE = re.compile("[A-Za-z0-9]{9}")
# Mistral, Ministral, Devstral, Codestral, Magistral, Mixtral, Pixtral …, whoever serves them:
# the rules of their conversations stand in the models' own templates.
_MISTRAL = re.compile("[sx]tral")


@frozen(slots=True, kw_only=True)
class Ways:
    """What one server, or one model, wants."""

    include_usage: bool = True
    """Ask for usage at the end of the stream; Mistral answers such a request with 422."""
    max_tokens_field: str = "max_tokens"
    """OpenAI's own newer models know `max_completion_tokens` only, others only the old name."""
    seed_field: str = "seed"
    """Mistral's own name for it is `random_seed`; the other is a 422."""
    names: bool = False
    """Send names in their own field, where they fit; otherwise they stand before the text."""
    call_ids: re.Pattern[str] = _ANY
    """What the id of a call may look like; others, from another provider, are replaced."""
    reasoning: tuple[str, ...] = REASONING
    """Which names of reasoning may be sent back."""
    extra_content: bool = True
    """Send back what Gemini's compatible server adds to a call."""
    strict_order: bool = False
    """System messages stand in front, then two sides take turns, tools being on the user's."""


def ways_for(
    host: str,
    model: str,
    *,
    include_usage: bool | None = None,
    max_tokens_field: str | None = None,
    names: bool = False,
) -> Ways:
    """The ways of a server, as far as its host and the model's name tell them."""
    known = next((fields for at, fields in _STRICT.items() if _within(host, at)), None)
    openai = _within(host, "openai.com") or _within(host, "openai.azure.com")
    mistral = _within(host, "mistral.ai")
    strict = mistral or _MISTRAL.search(model.lower()) is not None
    perplexity = _within(host, "perplexity.ai")
    return Ways(
        include_usage=not mistral if include_usage is None else include_usage,
        max_tokens_field=max_tokens_field or ("max_completion_tokens" if openai else "max_tokens"),
        seed_field="random_seed" if mistral else "seed",
        names=names,
        call_ids=_NINE if strict else _SHORT if openai else _ANY,
        reasoning=REASONING if known is None else known,
        extra_content=known is None,
        strict_order=strict or perplexity,
    )


def _within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
