"""The official SDKs as judges: the same server, the same bytes, the same text, calls and reason.

They are no oracle for server-sent events themselves, and some quirks of other servers are
unknown to them: such recordings are named below, each with what the SDK makes of it.
"""

from __future__ import annotations

import base64
import io
import json
import wave
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from minamo.core.chunks import DoneChunk, ErrorChunk
from support.provider_server import saying, serving
from support.recordings import KEY, NAMES, adapter, gathered, recording

pytestmark = [
    pytest.mark.anyio,
    # google-genai derives a class from aiohttp's session, which aiohttp discourages.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
Verdict = tuple[str, list[tuple[str, Any]], str]

# Where an SDK is no judge, and why.
NO_ORACLE = {
    "anthropic-12-spliced": "it gives a half call",
    "anthropic-pause": "it does not go on after a pause",
    "google-other-parts": "a program is no text to it; see below",
    "google-16-vertex": "it does not put streamed arguments together",
    "google-16-vertex-unclosed": "it does not put streamed arguments together",
    "openai-02-done-object": "it takes the last object for more text",
    "openai-02-perplexity-concise": "steps without an index break it",
    "openai-03-nulls": "a delta that is null breaks it",
    "openai-04-mistral-thinking": "content is text to it",
    "openai-04-reasoning-details": "details without an index break it",
    "openai-05-index-zero": "it tells calls apart by index alone, so two become one",
    "openai-05-mistral": "calls without an index break it",
    "openai-05-object-arguments": "arguments are text to it",
    "openai-18-image": "the link of a picture is no content to it",
    "openai-19-speech": "what is said is no content to it; see below",
    "openai-17-odd-events": "an event without data breaks it",
    "openai-17-surrogates": "it does not join the halves of a character",
    "openai-bom": "it loses the frame after a BOM",
}
# Where we report an error: what reason the SDK gives instead; None where it raises too.
ERRORS = {
    "anthropic-13-refusal": "refusal",
    "anthropic-broken-arguments": "max_tokens",
    "anthropic-cut": "",
    "anthropic-error": None,
    "google-15-blocked-prompt": "",
    "google-cut": "",
    "google-error": None,
    "google-malformed-call": "MALFORMED_FUNCTION_CALL",
    "google-safety": "SAFETY",
    "openai-07-openrouter-error": None,
    "openai-07-vllm-error": None,
    "openai-broken-arguments": "length",
    "openai-comments-only": None,
    "openai-content-filter": "content_filter",
    "openai-cut": "",
    "openai-refusal": "stop",
    "responses-broken-arguments": "max_output_tokens",
    "responses-content-filter": "content_filter",
    "responses-cut": "in_progress",
    "responses-error": "in_progress",
    "responses-failed": "failed",
    "responses-refusal": "completed",
}


async def openai_says(url: str) -> Verdict:
    openai = pytest.importorskip("openai")
    streaming = pytest.importorskip("openai.lib.streaming.chat")
    state = streaming.ChatCompletionStreamState()
    client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)
    async with client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        async for chunk in stream:
            state.handle_chunk(chunk)
    choice = state.current_completion_snapshot.choices[0]
    calls = [
        # Text to the SDK, of which only what can be read counts; none at all means none.
        (call.function.name, _read(call.function.arguments or "{}"))
        for call in choice.message.tool_calls or ()
    ]
    return choice.message.content or "", calls, choice.finish_reason or ""


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


async def anthropic_says(url: str) -> Verdict:
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0)
    async with (
        client,
        client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        ) as stream,
    ):
        message = await stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    return text, calls, message.stop_reason or ""


async def google_says(url: str) -> Verdict:
    genai = pytest.importorskip("google.genai")
    client = genai.Client(
        api_key=KEY, http_options=genai.types.HttpOptions(base_url=url, retry_options=None)
    )
    text, calls, reason = "", [], ""
    stream = await client.aio.models.generate_content_stream(model="m", contents="Hi")
    async with aclosing(stream):
        async for chunk in stream:
            for candidate in chunk.candidates or ():
                for part in (candidate.content and candidate.content.parts) or ():
                    text += part.text or "" if not part.thought else ""
                    if part.function_call:
                        calls.append((part.function_call.name, part.function_call.args or {}))
                reason = candidate.finish_reason.value if candidate.finish_reason else reason
    await client.aio.aclose()
    return text, calls, reason


async def responses_says(url: str) -> Verdict:
    openai = pytest.importorskip("openai")
    client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)
    text, last = "", None
    async with client:
        async for event in await client.responses.create(model="m", input="Hi", stream=True):
            if event.type == "response.output_text.delta":
                text += event.delta
            last = getattr(event, "response", last)
    assert last is not None
    why = last.incomplete_details.reason if last.incomplete_details else last.status
    calls = [
        (
            item.name,
            _read(item.arguments) if item.type == "function_call" else {"input": item.input},
        )
        for item in last.output
        if item.type in ("function_call", "custom_tool_call")
    ]
    return text or last.output_text, calls, why


JUDGES: dict[str, Callable[[str], Awaitable[Verdict]]] = {
    "openai": openai_says,
    "anthropic": anthropic_says,
    "google": google_says,
    "responses": responses_says,
}


async def verdicts(name: str) -> tuple[Any, Verdict | None]:
    """What we and the SDK make of a recording; None if the SDK raises."""
    dialect = name.partition("-")[0]
    async with serving(saying(recording(name))) as server:
        async with adapter(dialect, server.url) as llm:
            ours = gathered([chunk async for chunk in llm.ask("Hi")])
        try:
            theirs = await JUDGES[dialect](server.url)
        except Exception:  # noqa: BLE001 - of whatever kind: the SDK has no verdict
            return ours, None
    return ours, theirs


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(NO_ORACLE) - set(ERRORS)))
async def test_the_sdk_agrees(name: str) -> None:
    ours, theirs = await verdicts(name)

    assert isinstance(ours.last, DoneChunk)
    assert theirs == (ours.text, ours.calls, ours.last.raw_finish_reason)


@pytest.mark.parametrize("name", ERRORS)
async def test_the_sdk_agrees_on_what_was_said_before_an_error(name: str) -> None:
    ours, theirs = await verdicts(name)

    assert isinstance(ours.last, ErrorChunk)
    assert ours.calls == []
    assert (theirs and theirs[2]) == ERRORS[name]
    if theirs:
        assert theirs[0] == ours.text


# What models send beside text.


async def google_made(url: str) -> list[Any]:
    genai = pytest.importorskip("google.genai")
    options = genai.types.HttpOptions(base_url=url, retry_options=None)
    client = genai.Client(api_key=KEY, http_options=options)
    made: list[Any] = []
    stream = await client.aio.models.generate_content_stream(model="m", contents="Hi")
    async with aclosing(stream):
        async for chunk in stream:
            for part in chunk.candidates[0].content.parts or ():
                if part.inline_data and not part.thought:
                    made.append(part.inline_data.data)
                elif part.executable_code or part.code_execution_result:
                    code = part.executable_code and part.executable_code.code
                    made.append(code or part.code_execution_result.output)
    await client.aio.aclose()
    return made


async def openai_spoke(url: str) -> list[Any]:
    openai = pytest.importorskip("openai")
    made: list[Any] = [b"", ""]
    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        async for chunk in stream:
            told = json.loads(chunk.choices[0].delta.model_dump_json()).get("audio") or {}
            made[0] += base64.b64decode(told.get("data") or "")
            made[1] += told.get("transcript") or ""
    return made


async def responses_drew(url: str) -> list[Any]:
    openai = pytest.importorskip("openai")
    async with (
        openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as client,
        client.responses.stream(model="m", input="Hi") as stream,
    ):
        last = await stream.get_final_response()
    return [base64.b64decode(one.result) for one in last.output if hasattr(one, "result")]


@pytest.mark.parametrize(
    ("name", "judge"),
    [
        ("google-18-image", google_made),
        ("google-19-speech", google_made),
        ("google-other-parts", google_made),
        ("openai-19-speech", openai_spoke),
        ("responses-image", responses_drew),
    ],
)
async def test_the_sdk_agrees_on_files_and_programs(name: str, judge: Any) -> None:
    async with serving(saying(recording(name))) as server:
        async with adapter(name, server.url) as llm:
            ours = gathered([chunk async for chunk in llm.ask("Hi")])
        theirs = await judge(server.url)
    if name.endswith("speech"):
        said = b"".join(part for part in theirs if isinstance(part, bytes))
        with wave.open(io.BytesIO(ours.files[-1].data)) as sound:
            assert sound.readframes(10_000) == said
        assert ours.text == "".join(part for part in theirs if isinstance(part, str))
    else:
        # A picture that is sent twice is shown once.
        data = list(dict.fromkeys(part for part in theirs if isinstance(part, bytes)))
        assert [file.data for file in ours.files] == data
        assert all(part in ours.text for part in theirs if isinstance(part, str))
