"""A pytest fixture, for the tests of your own bot.

In the `conftest.py` beside your tests, one line:

    pytest_plugins = ["minamo.twin.fixture"]

and then a test asks for `twin`, with the plugin of anyio (`@pytest.mark.anyio`) or with
pytest-asyncio in its `auto` mode:

    async def test_it_answers(twin):
        bot = make_my_bot(twin.token, rest_url=twin.url)
        ...

The rules are the real ones.  A test that wants others overrides the fixture `twin_rules`.  When
a test fails, its report ends with what the bot did.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import Any

import pytest

from minamo.twin.rules import Rules
from minamo.twin.twin import Twin


@pytest.fixture
def twin_rules() -> Rules:
    """What the twin enforces; override it to change a number."""
    return Rules()


@pytest.fixture
async def twin(twin_rules: Rules) -> AsyncIterator[Twin]:
    """A local Discord for one test; the test fails if the bot used a route it does not know."""
    async with Twin(rules=twin_rules) as started:
        yield started


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Put the transcript into the report of a failed test."""
    outcome = yield
    report = outcome.get_result()
    started = getattr(item, "funcargs", {}).get("twin")
    if report.failed and isinstance(started, Twin):
        report.sections.append(("the twin's journal", started.journal.transcript()))
