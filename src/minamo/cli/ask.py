"""`minamo ask`: stream one reply into the terminal, through the real machine."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import urlsplit

from minamo.cli import colours
from minamo.errors import BadRequest

if TYPE_CHECKING:
    from minamo.core.stream import Stream
    from minamo.shell.stops.registry import StopSignal

_KINDS = ("openai", "gemini", "anthropic")
_FINE = ("completed", "function_call")
_EPILOG = """\
environment, as for `minamo run`:

  MINAMO_MODEL         the model to ask, and one of these:
  OPENAI_API_KEY  GEMINI_API_KEY  ANTHROPIC_API_KEY  OPENAI_BASE_URL

examples:

  minamo ask "Why is the sea blue?" --model NAME
  minamo ask "Hi" --base-url http://localhost:11434/v1 --model NAME     a server of your own
  minamo ask "Hi" --model NAME --trace hi.jsonl                         then: minamo replay hi.jsonl

Ctrl-C stops the reply; what was said stays.
exit codes: 0 the whole reply was received; 1 it was not; 2 an argument, the model or the key is
missing or wrong
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "ask",
        help="stream one reply into the terminal",
        description="Ask a model and watch the reply go through the machine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("prompt", help="what to ask")
    parser.add_argument(
        "--provider",
        type=lambda name: "gemini" if name == "google" else name,
        choices=_KINDS,
        help="the dialect; default: the one whose key is set, else openai",
    )
    parser.add_argument("--base-url", metavar="URL", help="another server of the same dialect")
    parser.add_argument("--model", metavar="NAME", help="default: MINAMO_MODEL")
    parser.add_argument(
        "--allow-http",
        action="store_true",
        help="allow plain http to another machine, where anyone on the way can read the key",
    )
    parser.add_argument("--json", action="store_true", help="chunks and the result as JSON lines")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="record for `minamo replay`")
    parser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="S",
        help="the longest silence to wait for, in seconds",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    import anyio

    from minamo.core.config import StreamConfig
    from minamo.core.stream import Stream

    if not 0 < options.timeout < 1_000_000:
        raise BadRequest("--timeout is a number of seconds, more than 0")
    if not options.prompt.strip():
        raise BadRequest("the prompt is empty: write what to ask")
    patience_ms = max(1, round(options.timeout * 1000))
    stream = Stream(
        StreamConfig(first_token_timeout_ms=patience_ms, inactivity_timeout_ms=patience_ms)
    )
    adapter = _adapter(options)
    source = adapter.ask(options.prompt)  # refuses a prompt that is too long
    record = options.trace.open("w", encoding="utf-8") if options.trace else None
    try:
        anyio.run(_ask, source, adapter, stream, _Printer(stream, options.json, record))
    finally:
        if record is not None:
            record.close()
    return 0 if stream.state in _FINE else 1


def _adapter(options: argparse.Namespace) -> Any:
    from minamo.bot.factory import HOMES, is_openai
    from minamo.bot.settings_file import KEY_VARIABLES, providers_named
    from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
    from minamo.shell.validation import is_loopback

    model = options.model or os.environ.get("MINAMO_MODEL", "").strip()
    if not model:
        raise BadRequest("no model to ask: name it with --model, or set MINAMO_MODEL")
    found = providers_named({**os.environ, "MINAMO_MODEL": model})
    # An explicit --base-url decides where the question goes; the environment is a default.
    kind = options.provider or (found[0].kind if found and not options.base_url else "openai")
    meant = os.environ.get("OPENAI_BASE_URL", "").strip() if kind == "openai" else ""
    base_url = options.base_url or meant or HOMES[kind]
    _check_address(base_url, "--base-url" if options.base_url else "OPENAI_BASE_URL")
    api_key = os.environ.get(KEY_VARIABLES[kind], "").strip()
    if not api_key and not is_loopback(base_url):
        raise BadRequest(f"no key for {kind}: set {KEY_VARIABLES[kind]}")
    allow_http = options.allow_http
    try:
        if kind == "openai" and is_openai(base_url):
            return OpenAI(base_url=base_url, model=model, api_key=api_key)
        if kind == "openai":
            return OpenAICompatible(
                base_url, model=model, api_key=api_key or None, allow_http=allow_http
            )
        make = Gemini if kind == "gemini" else Anthropic
        # A local server may not require a key, but these dialects always send one.
        return make(
            base_url=base_url, model=model, api_key=api_key or "none", allow_http=allow_http
        )
    except BadRequest as error:
        raise BadRequest(str(error).replace("allow_http=True", "--allow-http")) from None


def _check_address(url: str, name: str) -> None:
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_fine = False
    if not is_fine:
        raise BadRequest(f"{name} must be an address such as http://localhost:11434/v1")


async def _ask(source: Any, adapter: Any, stream: Stream, out: _Printer) -> None:
    import anyio

    from minamo.shell.driver import Driver, NullSink

    driver = Driver(stream, watch=[out.happened])
    out.stop_signal = driver.stop_signal
    async with adapter, anyio.create_task_group() as tasks:
        tasks.start_soon(_interrupts, driver.stop_signal)
        await driver.run(source, NullSink(stream, out.shown))
        tasks.cancel_scope.cancel()
    out.finish()


async def _interrupts(stop_signal: StopSignal) -> None:
    """Turn Ctrl-C into a stop request, which keeps the text shown so far."""
    import anyio

    from minamo.shell.stops.registry import StopRequest

    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            stop_signal.request(StopRequest(requester="terminal"))


class _Printer:
    """The output of a stream: events on the terminal, and the trace file."""

    def __init__(self, stream: Stream, as_json: bool, record: TextIO | None) -> None:
        self.stop_signal: StopSignal | None = None
        self._is_closed = False
        """Whether the reader of the output, such as `head`, has gone."""
        self._stream = stream
        self._json = as_json
        self._record = record
        self._begin = time.monotonic()
        self._messages: list[str] = []
        self._colour = colours.wanted(sys.stdout) and not as_json
        self._lively = colours.wanted(sys.stderr) and not as_json

    def happened(self, _at: float, event: str, payload: Any) -> None:
        from minamo.core.trace import chunk_record

        if event == "end":
            self._write({"t": self._now(), "end": True})
        if event != "chunk":
            return
        chunk = payload
        line = {"t": self._now(), "chunk": chunk_record(chunk)}
        if self._json:
            self._print(json.dumps(line))
        self._write(line)
        if self._lively:
            print(
                f"\r\x1b[K\x1b[2m{self._stream.state}\x1b[0m", end="", file=sys.stderr, flush=True
            )

    def shown(self, message: str) -> None:
        self._messages.append(message)
        if not self._json:
            self._clear()
            self._print(message + "\n")

    def finish(self) -> None:
        from minamo.core.trace import usage_record
        from minamo.inspect.replay import summary

        self._clear()
        if self._is_closed:
            raise BrokenPipeError
        result = self._stream.result()
        if self._json:
            found = summary(self._stream, self._messages) | {"usage": usage_record(result.usage)}
            print(json.dumps({"result": found}), flush=True)
            return
        for thought in result.thought_log:
            print(self._dim(f"thought: {thought}"))
        for call in result.function_calls:
            print(f"call: {call.name}({json.dumps(dict(call.arguments))})")
        why = f" ({result.stop_reason})" if result.stop_reason else ""
        error = f": {result.data.kind}, {result.data.message}" if result.status == "error" else ""
        print(self._dim(f"{result.status}{why}{error}  ·  {' > '.join(result.states)}"))

    def _print(self, line: str) -> None:
        """Print *line*; stop the reply if nothing reads the output any more."""
        if self._is_closed:
            return
        try:
            print(line, flush=True)
        except BrokenPipeError:
            from minamo.shell.stops.registry import StopRequest

            self._is_closed = True
            if self.stop_signal is not None:
                self.stop_signal.request(StopRequest(requester="terminal"))

    def _now(self) -> float:
        return round(time.monotonic() - self._begin, 3)

    def _write(self, line: dict[str, Any]) -> None:
        if self._record is not None:
            self._record.write(json.dumps(line) + "\n")
            self._record.flush()

    def _clear(self) -> None:
        if self._lively:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _dim(self, text: str) -> str:
        return colours.painted(text, colours.DIM, on=self._colour)
