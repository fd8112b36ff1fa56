"""A pytest plugin with the fixture `twin`, for the tests of a bot.

In the `conftest.py` beside the tests, one line:

    pytest_plugins = ["minamo.twin.fixture"]

Then a test requests `twin`, with the plugin of anyio (`@pytest.mark.anyio`) or with
pytest-asyncio in its `auto` mode:

    async def test_it_answers(twin):
        async with twin.running(make_my_bot(twin.token, rest_url=twin.url)):
            await twin.say("ping", mention=True)
            await twin.journal.until(lambda: twin.texts() == ["pong"])

The rules are Discord's; override the fixture `twin_rules` to change them. The report of a
failed test ends with the journal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import Any

import pytest

from minamo.twin.rules import Rules
from minamo.twin.twin import Twin


@pytest.fixture
def twin_rules() -> Rules:
    """Return the rules that the twin enforces; override it to change a number."""
    return Rules()


@pytest.fixture
async def twin(twin_rules: Rules) -> AsyncIterator[Twin]:
    """Yield a local Discord; the test fails if the bot used a route that it does not support."""
    async with Twin(rules=twin_rules) as started:
        yield started


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Add the journal to the report of a failed test."""
    outcome = yield
    report = outcome.get_result()
    started = getattr(item, "funcargs", {}).get("twin")
    if report.failed and isinstance(started, Twin):
        report.sections.append(("the twin's journal", started.journal.transcript()))
