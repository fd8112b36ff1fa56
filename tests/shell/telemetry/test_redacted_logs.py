"""No token in hikari's own logs, down to its lowest level."""

from __future__ import annotations

import logging

import hikari
import pytest

from minamo.shell.telemetry import telemetry as hushing
from minamo.twin import Twin
from support.overseer import overseeing

pytestmark = [pytest.mark.anyio, pytest.mark.rule_breaking("leaks, to see what hushing does")]
SECRET = "aVeryLongTokenThatNobodyMaySee_-.="


@pytest.mark.parametrize(
    ("logger", "said", "hushed"),
    [
        ("hikari.rest", f"POST /webhooks/12/{SECRET}", "POST /webhooks/12/***"),
        (
            "hikari.rest",
            f"POST /interactions/12/{SECRET}/callback",
            "POST /interactions/12/***/callback",
        ),
        (
            "hikari.rest",
            f'{{"id": "1", "token": "{SECRET}", "x": 1}}',
            '{"id": "1", "token": "***", "x": 1}',
        ),
        ("hikari.gateway.0", f'b\'{{"token":"{SECRET}"}}\'', 'b\'{"token":"***"}\''),
        ("hikari.ratelimits", f"abc;12:{SECRET} closed", "abc;12:*** closed"),
        ("hikari.rest", "GET /channels/12/messages at 12:30", "GET /channels/12/messages at 12:30"),
        ("hikari.rest", '{"content": "a token of love"}', '{"content": "a token of love"}'),
    ],
)
def test_p21_tokens_are_taken_out_and_nothing_else(
    logger: str, said: str, hushed: str, caplog: pytest.LogCaptureFixture
) -> None:
    hushing.redact_hikari_logs()
    hushing.redact_hikari_logs()
    caplog.set_level(1)
    caplog.set_level(1, "hikari")
    logging.getLogger(logger).log(5, "%s", said)
    assert caplog.messages == [hushed]


async def use_everything_with_a_token(twin: Twin, bot: hikari.GatewayBot) -> None:
    done = bot.stream(hikari.InteractionCreateEvent, timeout=5)
    with done:
        await twin.slash("ask")
        event = await anext(done)
    assert isinstance(event.interaction, hikari.CommandInteraction)
    await event.interaction.create_initial_response(
        hikari.ResponseType.MESSAGE_CREATE, "here", mentions_everyone=False
    )
    await event.interaction.edit_initial_response("there")
    hook = await bot.rest.create_webhook(twin.channel().id, "Ada")
    await hook.execute("hello")


@pytest.mark.parametrize("is_hushed", [True, False])
async def test_p21_the_real_hikari_tells_no_token(
    twin: Twin, bot: hikari.GatewayBot, is_hushed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hushing.redact_hikari_logs()
    if not is_hushed:  # as it would be without: the test can fail
        for name in hushing._LOGGERS:
            monkeypatch.setattr(logging.getLogger(name), "filters", [])
    with overseeing() as overseer:
        overseer.twins.append(twin)
        await use_everything_with_a_token(twin, bot)
    leaks = [words for words in overseer.wrongs if "token" in words]
    assert bool(leaks) is not is_hushed, leaks
    if not is_hushed:
        homes = {words.split(": ")[1].split(",")[0] for words in leaks}
        assert {"hikari.rest", "hikari.ratelimits", "hikari.gateway.0"} <= homes
