"""Every way a stream can end, at any step of a stream of fifty chunks; the table of design §5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.core.messages import OutgoingMessage
from minamo.shell.delivery.interfaces import Rejected, SendOutcome
from minamo.shell.stops.registry import StopRequest
from support.driver import (
    END,
    FOLLOW_UP,
    KILL,
    SYSTEM,
    USER,
    Discord,
    Drive,
    Happening,
    Provider,
    one,
    plain,
    tracers,
)

STEPS = 50
EVERY_S = 2.0
"""Between two chunks: longer than a call to Discord takes, and than its pace."""
HALF_S = EVERY_S / 2


def chunks(steps: int = STEPS) -> list[str]:
    """Paragraphs of tracer text; some hide a thought or details, torn between two chunks."""
    some = tracers()
    out = []
    for step in range(steps):
        match step % 10:
            case 3:
                out.append(f"{some(9)}<think>{some(5)}</th")
            case 4:
                out.append(f"ink>{some(9)}\n\n")
            case 6:
                out.append(f"<details>{some(9)}</details>{some(3)}\n\n")
            case _:
                out.append(f"{some(12)}\n\n")
    return out


@define
class Plot:
    """A stream that was going to be said, and what is done to it."""

    script: list[tuple[float, Any]] = field(
        factory=lambda: [(EVERY_S * (n + 1), text) for n, text in enumerate(chunks())]
    )
    settings: dict[str, Any] = field(factory=dict)
    happenings: list[Happening] = field(factory=list)
    answer: Callable[[int, OutgoingMessage], SendOutcome | None] | None = None
    call_timeout_ms: int | None = None

    def cut(self, at: float, *then: Any) -> None:
        """From *at* on the provider does something else, or nothing."""
        before = [each for each in self.script if each[0] <= at]
        self.script = before + [(at, what) for what in then]

    def run(self, **options: Any) -> Drive:
        discord = options.pop("discord", None) or Discord()
        discord.script = self.answer
        return one(
            Provider(self.script),
            plain(**self.settings),
            self.happenings,
            discord=discord,
            call_timeout_ms=self.call_timeout_ms,
            **options,
        )


@frozen
class End:
    """One ending: how to bring it about at a time, and what must come of it."""

    name: str
    status: str
    reason: str | None
    bring: Callable[[Plot, float], object]
    event: str
    """What the driver calls it."""
    flushes: bool = True


def _raise(plot: Plot, at: float) -> None:
    plot.cut(at, OSError("gone"))


def _silent(plot: Plot, at: float) -> None:
    plot.cut(at)
    heard = max((each[0] for each in plot.script), default=0.0)
    ms = round((at - heard) * 1000) or 1
    plot.settings |= {"inactivity_timeout_ms": ms} if heard else {"first_token_timeout_ms": ms}
    if heard and ms <= EVERY_S * 1000:
        # Shorter than the pauses before: let the chunks come closer together.
        plot.settings["inactivity_timeout_ms"] = round(EVERY_S * 1000) + ms


def _overrun(plot: Plot, at: float) -> None:
    plot.settings["stream_deadline_ms"] = round(at * 1000)


def _call_timeout(plot: Plot, at: float) -> None:
    plot.cut(at)
    plot.call_timeout_ms = round(EVERY_S * 1000) + 500


def _wish(wish: StopRequest) -> Callable[[Plot, float], object]:
    return lambda plot, at: plot.happenings.append((at, wish))


def _limit(plot: Plot, at: float) -> None:
    plot.settings["send_message_limit"] = max(int(at / EVERY_S), 1)


def _guard(plot: Plot, at: float) -> None:
    plot.settings["speaker_names"] = ("Bob",)
    plot.cut(at, "\n\nBob: and so on", "and on")


def _lost(plot: Plot, at: float) -> None:
    number = max(int(at / EVERY_S), 1)
    plot.answer = lambda n, _: Rejected("missing_access") if n == number else None


CALL = FunctionCall((Call("roll", {"sides": 6}),))
ERROR = ErrorChunk("rate_limit", "slow down")

ENDS = [
    End("provider_ended", "completed", None, lambda p, at: p.cut(at, END), "end"),
    End("function_call", "function_call", None, lambda p, at: p.cut(at, CALL), "chunk"),
    End("error_chunk", "error", None, lambda p, at: p.cut(at, ERROR), "chunk"),
    End("source_raises", "error", None, _raise, "chunk"),
    End("went_silent", "timeout", "inactivity", _silent, "silent"),
    End("overran", "timeout", "deadline", _overrun, "silent"),
    End("call_timeout", "timeout", "sdk_call_timeout", _call_timeout, "silent"),
    End("user_stop", "stopped_by_user", "user_request", _wish(USER), "user"),
    End("system_stop", "stopped_by_user", "system_request", _wish(SYSTEM), "user"),
    End("follow_up", "follow_up_interrupt", "follow_up", _wish(FOLLOW_UP), "follow_up", False),
    End("kill", "stopped_by_user", "killed", _wish(KILL), "kill", False),
    End("limit", "stopped_by_user", "send_message_limit", _limit, "limit_reached", False),
    End("guard", "completed", "speaker_guard", _guard, "chunk"),
    End("delivery_lost", "error", "delivery_lost", _lost, "delivery_lost", False),
]
BY_NAME = {end.name: end for end in ENDS}
