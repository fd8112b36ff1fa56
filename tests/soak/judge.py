"""The judge of a soak: reads the channels and the results, and knows nothing of how they came about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from soak.plans import WHOLE, WORD, Reply

#: Reasons for which words of a reply may be missing at its end.
CUT_SHORT = {"killed", "follow_up", "send_message_limit", "user_request", "delivery_lost"}
#: The drain of a stopped stream takes 5 s at most, a call to Discord that is out its own time.
OBEYED_WITHIN_S = 10.0
#: A request may cross the begin or the end of its reply.
CROSSING_S = 1.0
KINDS = ("lost", "doubled", "reordered", "mixed", "untrue", "disobeyed")


class Problem(NamedTuple):
    """Something that must not happen, and the stream to which it did."""

    kind: str
    stream: int
    what: str


class Shown(NamedTuple):
    """A message of the bot, as the channel shows it at the end."""

    channel: int
    text: str


def read_channels(replies: dict[int, Reply], messages: Iterable[Shown]) -> list[Problem]:
    """Give every reply the words that stand in its channel; report those of no or another reply."""
    problems: list[Problem] = []
    newest: dict[int, int] = {}
    for message in messages:
        for word in WORD.finditer(message.text):
            number = int(word.group(1))
            reply = replies.get(number)
            if reply is None or reply.channel != message.channel:
                problems.append(Problem("mixed", number, f"{word.group()} is in another channel"))
                continue
            if number < newest.get(message.channel, number):
                problems.append(Problem("mixed", number, f"{word.group()} is behind a newer reply"))
            newest[message.channel] = max(number, newest.get(message.channel, number))
            reply.shown.append(word.group())
    return problems


def judge(reply: Reply) -> list[Problem]:
    """Compare what stands in the channel with what the result says, and with the plan."""
    if reply.failed or reply.ended_at is None or reply.began_at is None:
        seen = "began" if reply.began_at else "never began"
        return [_problem(reply, "lost", reply.failed or f"the reply {seen} and did not end")]
    return [*_judge_text(reply), *_judge_status(reply), *_judge_stop(reply)]


def _judge_text(reply: Reply) -> list[Problem]:
    shown, words = reply.shown, reply.plan.words
    places = {word: place for place, word in enumerate(words)}
    found = []
    if len(set(shown)) < len(shown):
        found.append(_problem(reply, "doubled", "words stand there twice"))
    order = [places.get(word, -1) for word in shown]
    if order != sorted(order):
        found.append(_problem(reply, "reordered", "words are out of order"))
    if missing := sorted(set(words[: max(order, default=-1) + 1]) - set(shown), key=places.get):  # type: ignore[arg-type]
        found.append(_problem(reply, "lost", f"{len(missing)} words in the middle: {missing[:3]}"))
    return found


def _judge_status(reply: Reply) -> list[Problem]:
    plan, status, reason = reply.plan, reply.status, reply.stop_reason
    missing = len(plan.words) - len(reply.shown)
    found = []
    if not reply.uncertain and reply.booked != reply.shown:
        found.append(_problem(reply, "untrue", f"booked {len(reply.booked)} words"))
    if status == "completed" and missing:
        found.append(_problem(reply, "lost", "it is called completed"))
    if missing and reason not in CUT_SHORT and status not in ("error", "timeout"):
        empty = status == "empty_response" and plan.fault == "empty"
        if not empty:
            found.append(_problem(reply, "lost", "nothing cut it short"))
    # A request lets a reply drain for some seconds; receipts name what was not sent by then.
    told = plan.limit or reply.uncertain or (plan.act != "nothing" and reply.unsent)
    if status == "timeout" and not told and reply.shown != plan.said:
        found.append(_problem(reply, "lost", f"{len(plan.said)} words came before the silence"))
    if reason == "user_request" and plan.act != "stop":
        found.append(_problem(reply, "untrue", "no user stopped it"))
    if reply.status not in _expected(reply):
        found.append(_problem(reply, "untrue", f"expected {' or '.join(sorted(_expected(reply)))}"))
    return found


def _expected(reply: Reply) -> set[str]:
    """The statuses that a reply may have, by its fault and what was done to it."""
    plan = reply.plan
    by_fault = {"stall": "timeout", "empty": "empty_response"}
    fits = {"completed" if plan.fault in WHOLE else by_fault.get(plan.fault, "error")}
    if plan.limit or plan.act in ("stop", "kill"):
        fits.add("stopped_by_user")
    if plan.act in ("next", "follow_up"):
        fits.add("follow_up_interrupt")
    if reply.stop_reason == "delivery_lost":
        fits.add("error")
    return fits


def _judge_stop(reply: Reply) -> list[Problem]:
    if reply.act_at is None or not reply.act_outcome:
        return []
    assert reply.ended_at is not None
    assert reply.began_at is not None
    after_s = reply.ended_at - reply.act_at
    if reply.act_outcome == "yes" and after_s > OBEYED_WITHIN_S:
        return [_problem(reply, "disobeyed", f"it ended {after_s:.1f} s after a request")]
    ran = reply.began_at < reply.act_at - CROSSING_S and after_s > CROSSING_S
    if reply.act_outcome == "no" and ran:
        return [_problem(reply, "disobeyed", f"the request found nothing; it ran {after_s:.1f} s")]
    return []


def _problem(reply: Reply, kind: str, what: str) -> Problem:
    result = (
        f"{reply.status or 'no result'}{f' ({reply.stop_reason})' if reply.stop_reason else ''}"
    )
    return Problem(
        kind,
        reply.plan.number,
        f"{reply.plan}: {what}; {result}, {len(reply.shown)} words shown, "
        f"not sent: {', '.join(reply.unsent) or 'nothing'}, shard {reply.shard}, act answered {reply.act_outcome or 'nothing'}",
    )


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line of least squares through the points."""
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
