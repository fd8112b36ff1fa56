"""Replies that grow in place: whatever goes wrong, the books tell what the channel shows."""

from __future__ import annotations

from typing import Any

import pytest

from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.shell.stops.registry import StopRequest
from simulation.editable_channel import FAULTS, Board, Fault, check_grown, grow
from support.driver import END, FOLLOW_UP, KILL, USER, Provider, plain, tracers

WISHES: dict[str, StopRequest | None] = {
    "": None,
    "stop": USER,
    "follow-up": FOLLOW_UP,
    "kill": KILL,
}
ENDS: dict[str, list[tuple[float, Any]]] = {
    "end": [(9.0, END)],
    "raise": [(9.0, OSError())],
    "error": [(9.0, ErrorChunk("api_error", "no"))],
    "call": [(9.0, FunctionCall((Call("roll"),)))],
    "silent": [],
}
# Two pages, the second of which comes when the first has grown for a while.
CALLS = 7


def text(size: int = 30) -> list[tuple[float, Any]]:
    some = tracers()
    return [
        (0.7 * n, f"{some(size)} {some(9)}\n\n{some(2)}<think>{some(2)}</think>") for n in range(6)
    ]


def faulty(fault: Fault, at: int, *, always: bool = False) -> Board:
    return Board(lambda call: fault if call == at or (always and call > at) else "")


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_books_are_right_when_the_kth_call_fails(
    fault: Fault, fresh: bool, always: bool
) -> None:
    if fresh and fault == "deleted":
        return  # a fresh page that somebody deletes is no loss: what grew still says it
    config = plain(max_message_length=100, inactivity_timeout_ms=20_000)
    for k in range(1, CALLS + 3):
        run = grow(Provider([*text(), *ENDS["end"]]), faulty(fault, k, always=always), config,
                   fresh=fresh)  # fmt: skip
        check_grown(run)


@pytest.mark.parametrize("wish", [name for name in WISHES if name])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_books_are_right_when_a_wish_comes_while_the_kth_call_is_out(
    fault: Fault, wish: str
) -> None:
    config = plain(max_message_length=100)
    for k in range(1, CALLS + 1):
        board = faulty(fault, k, always=True)
        run = grow(Provider([*text(), *ENDS["end"]]), board, config, wish=WISHES[wish], during=k)
        check_grown(run)
        assert run.result.status in ("stopped_by_user", "follow_up_interrupt", "error")


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_books_are_right_however_the_reply_ends(fault: Fault, ends: str) -> None:
    for k in (1, 2, 4, CALLS):
        run = grow(Provider([*text(5), *ENDS[ends]]), faulty(fault, k), plain(
            inactivity_timeout_ms=5_000))  # fmt: skip
        check_grown(run)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("wish", [name for name in WISHES if name])
def test_the_books_are_right_whenever_a_wish_comes(wish: str, fresh: bool) -> None:
    config = plain(max_message_length=100)
    script = [*text(), (3.6, END)]
    for tenth in (*range(0, 36, 3), *range(36, 90)):
        run = grow(Provider(script), None, config, wish=WISHES[wish], after_s=tenth / 10 + 0.03,
                   fresh=fresh)  # fmt: skip
        check_grown(run)
        assert run.board.known == run.board.stands


@pytest.mark.parametrize("wish", [name for name in WISHES if name])
def test_no_page_is_begun_after_a_wish_that_came_with_the_first_one_out(wish: str) -> None:
    some = tracers()
    provider = Provider([(0.0, f"{some(80)} {some(80)} {some(80)}")])
    run = grow(provider, None, plain(max_message_length=100), wish=WISHES[wish], during=1)
    check_grown(run)
    assert len(run.board.stands) == (3 if wish == "stop" else 1)
