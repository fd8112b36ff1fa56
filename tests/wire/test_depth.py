"""P23: values nested to the brim, wherever a provider may put one."""

from __future__ import annotations

import pytest

from minamo.core.chunks import DoneChunk, ErrorChunk
from support.recordings import once

PLACES = {
    "openai": [
        '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":{"a":%s}}}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a"},"extra_content":%s}]}}]}',
        '{"choices":[{"delta":{"reasoning_details":[{"a":%s}]}}]}',
        '{"choices":[{"delta":{"content":%s}}]}',
        '{"choices":[],"usage":%s,"model":%s,"provider":%s,"object":%s}',
        '{"error":{"message":%s,"code":%s,"details":[%s]}}',
        '{"object":"error","message":%s}',
        '{"unknown":%s}',
        "%s",
    ],
    "anthropic": [
        '{"type":"content_block_start","content_block":{"type":"tool_use","name":"a","input":%s}}',
        '{"type":"message_start","message":{"content":[{"type":"tool_use","input":{"a":%s}}]}}',
        '{"type":"message_start","message":{"id":"a","usage":%s,"model":%s}}',
        '{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":%s}}',
        '{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":%s}}',
        '{"type":"error","error":{"message":%s,"type":%s}}',
        '{"type":"error","error":%s}',
    ],
    "google": [
        '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{"a":%s}}}]}}]}',
        '{"candidates":[{"finishReason":"OTHER","finishMessage":%s}]}',
        '{"promptFeedback":{"blockReason":"a","blockReasonMessage":%s}}',
        '{"usageMetadata":%s,"modelVersion":%s}',
        '{"error":{"message":%s,"details":%s}}',
    ],
}


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize(
    ("dialect", "place"), [(name, place) for name, places in PLACES.items() for place in places]
)
@pytest.mark.no_cover  # measuring would be most of its time
def test_p23_nesting_never_breaks_out(dialect: str, place: str, opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    # Around the depth at which Python gives up, which depends on where we are called from.
    for depth in (1, 63, 66, *range(780, 1_000, 9), *range(930, 990)):
        value = opening * depth + "0" + closing * depth
        data = f"data: {place.replace('%s', value)}\n\ndata: [DONE]\n\n".encode()
        said = once(dialect, data)

        assert isinstance(said.last, DoneChunk | ErrorChunk)
        assert depth < 65 or said.calls in ([], [("a", {})])
