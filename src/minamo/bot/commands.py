"""The command to ask with: ``/ask prompt: … persona: …``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import hikari
from attrs import field, frozen

from minamo.core.chunks import as_length
from minamo.shell.telling.wording import FALLBACK, Wording, translations

# Discord takes 6 000; a longer question is better asked with a file or in parts.
_PROMPT_MAX = 4_000


@frozen
class Ask:
    """What somebody asked with the command."""

    prompt: str = field(repr=as_length)
    persona: str | None = None


async def register_ask(
    rest: hikari.api.RESTClient,
    name: str,
    personas: Sequence[str],
    wording: Callable[[str], Wording],
) -> hikari.SlashCommand | None:
    """Let Discord know the command; others of the bot stay as they are."""
    if not name:
        return None
    say = wording(FALLBACK).say
    options = [
        hikari.CommandOption(
            type=hikari.OptionType.STRING,
            name="prompt",
            description=say("ask_prompt"),
            description_localizations=translations(wording, "ask_prompt"),
            is_required=True,
            max_length=_PROMPT_MAX,
        )
    ]
    if personas:
        options.append(
            hikari.CommandOption(
                type=hikari.OptionType.STRING,
                name="persona",
                description=say("ask_persona"),
                description_localizations=translations(wording, "ask_persona"),
                choices=[hikari.CommandChoice(name=one, value=one) for one in personas],
            )
        )
    app = await rest.fetch_application()
    return await rest.create_slash_command(
        app.id,
        name,
        say("ask_command"),
        description_localizations=translations(wording, "ask_command"),
        options=options,
    )


def read_ask(one: hikari.CommandInteraction) -> Ask:
    """What was asked."""
    given = {option.name: option.value for option in one.options or ()}
    persona = given.get("persona")
    return Ask(str(given.get("prompt") or "…"), None if persona is None else str(persona))
