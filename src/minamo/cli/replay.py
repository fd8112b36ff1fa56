"""`minamo replay`: run recorded streams through the machine and print their outcomes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from minamo.cli import colours

if TYPE_CHECKING:
    from minamo.inspect.replay import Replayed

_SETTINGS = """\
A trace is JSON lines.  The first may be {"settings": {...}} with any of:

  degree                        0 whole reply, 1 paragraphs (default), 2 lines, 3 sentences
  max_message_length            100 to 2000 (1950)
  flush_buffer_size             cut prose about here when no boundary comes (1000)
  flush_buffer_size_code_block  cut a code fence here (15000)
  send_message_limit            messages a reply may have; 0: any number (0)
  inactivity_timeout_ms         longest wait between chunks (120000)
  first_token_timeout_ms        longest wait for the first one (120000)
  stream_deadline_ms            longest reply (900000)
  suppress_text_output          show no text, keep all of it (false)
  overlap_removal               drop repeated tails of a provider (false)
  tables                        "code", "bullets" or "raw" ("code")
  humanize                      informal variation at degree 3 (false here)
  clean_off                     cleaning rules to switch off, such as ["blank_lines"]
  bot_name                      dropped where it labels the reply
  speaker_names                 end the reply where one of these begins to speak
  generic_speaker_guard         end it at any speaker's label (false)
  guard_first_line              look for speaker_names on the first line, too (false)
  mentions                      {"name": "id"}: @name becomes a mention
  prefill                       shown in front of the reply
  show_citations                "end": append the sources that the model names; "in_place": put
                                their numbers into the text, too ("off")

Then one event per line, in order; "t" is seconds from the start:

  {"t": 0.5, "chunk": {"type": "text", "content": "Hi", "thoughts": ["..."]}}
  {"chunk": {"type": "function_call", "name": "roll", "arguments": {}}}
  {"chunk": {"type": "error", "kind": "rate_limit", "message": "...", "retryable": true}}
  {"chunk": {"type": "done", "finish_reason": "stop"}}
  {"t": 2, "stop": {"kind": "user", "requester": "42"}}      or "follow_up"
  {"kill": true}   {"delivery_lost": true}   {"end": true}

Without an end, the provider went silent.
Exit code: 0 for every outcome, 2 if a file cannot be read.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "replay",
        help="run recorded streams through the machine",
        description="Run recorded streams through the real machine, in virtual time.",
        epilog=_SETTINGS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a trace; - for standard input")
    parser.add_argument("--json", action="store_true", help="one JSON object per file")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from minamo.core.trace import read_trace
    from minamo.errors import BadTrace
    from minamo.inspect.replay import replay

    code = 0
    for name in options.files:
        try:
            replayed = replay(read_trace(_read(name).split("\n")))
        except (BadTrace, OSError, UnicodeDecodeError) as error:
            print(f"{name}: {_why(error)}", file=sys.stderr)
            code = 2
            continue
        if options.json:
            print(json.dumps(replayed.summary(), ensure_ascii=True))
        else:
            _show(name, replayed)
    return code


def _why(error: Exception) -> object:
    if isinstance(error, UnicodeDecodeError):
        return f"line {error.object.count(10, 0, error.start) + 1}: not UTF-8 text"
    return error.strerror if isinstance(error, OSError) else error


def _read(name: str) -> str:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    return data.decode("utf-8-sig")


def _show(name: str, replayed: Replayed) -> None:
    from minamo.inspect.explain import ADDITIONS, HIDDEN

    on = colours.wanted(sys.stdout)

    def dim(text: str) -> str:
        return colours.painted(text, colours.DIM, on=on)

    result = replayed.result
    why = f" ({result.stop_reason})" if result.stop_reason else ""
    _print(colours.painted(f"{name}: {result.status}{why}", colours.BOLD, on=on))
    for kind, blocks in (("thought", replayed.thoughts), ("details", replayed.details)):
        for block in blocks:
            _print(_framed(kind, block, dim))
    for number, message in enumerate(replayed.messages, 1):
        _print(_framed(f"message {number}", message, str))
    for call in result.function_calls:
        _print(f"  call     {call.name}({json.dumps(dict(call.arguments))})")
    _print(dim(f"  way      {' > '.join(result.states)}"))
    books = (("hidden", result.suppressed, HIDDEN), ("added", result.additions, ADDITIONS))
    for title, counts, words in books:
        for reason, count in counts.items():
            _print(dim(f"  {title:<8} {count} characters: {reason}. {words.get(reason, '')}"))


def _print(text: str) -> None:
    """Print *text*, with lone surrogates, which no terminal accepts, as question marks."""
    print(text.encode("utf-8", "replace").decode())


def _framed(title: str, text: str, style: object) -> str:
    assert callable(style)
    head = f"  ╭─ {title} · {len(text)}"
    return "\n".join(style(line) for line in (head, *(f"  │ {row}" for row in text.split("\n"))))
