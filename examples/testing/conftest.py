"""The fixture `twin`, the event loop that hikari needs, and a profile for Hypothesis."""

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["minamo.twin.fixture"]

# A whole stream is more than Hypothesis expects of one example, in size and in time.
settings.register_profile(
    "streams",
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("streams")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
