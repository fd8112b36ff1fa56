"""Every reply that grows in place, with every order of text, calls and faults (P1, P10).

The real pages are shown in a small model of a channel.  At each step a `Chooser` decides whether
text comes or the lane makes a call, whether the call fails, and whether the reply is withdrawn or
retracted; the number of faults and requests is limited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from attrs import define, field

from minamo.core.fitting.fit import fit
from minamo.core.messages import Outcome, Receipt
from minamo.machine import compile
from minamo.shell.delivery import edit_in_place
from minamo.shell.delivery.edit_in_place import CHART, PageEdit, PageSet
from simulation.choices import Chooser

LIMIT = 100
# Words that are all different.  With the last text, words of the second page move to the first.
WORDS = [f"w{number:02}" for number in range(40)]
TEXTS = [" ".join(WORDS[:12]) + "\n\n" + " ".join(WORDS[12:count]) for count in (15, 27, 40)]
CALLS_MAX = 30


@define(eq=False)
class Reply:
    """One reply, and the channel it is in."""

    chooser: Chooser
    faults: int
    fresh: bool
    pages: PageSet = field(init=False)
    stands: dict[int, str] = field(factory=dict)
    """What the channel shows."""
    happened: list[str] = field(factory=list)
    calls: int = 0

    def __attrs_post_init__(self) -> None:
        self.pages = PageSet(limit=LIMIT, fresh=self.fresh)

    def run(self) -> None:
        texts = list(TEXTS)
        while texts and not self.pages.frozen:
            if self.request():
                break
            self.pages.show(texts[0])
            # The lane may take any number of calls before more text comes.
            while self.chooser.choose(2) and self.call():
                pass
            texts.pop(0)
        self.pages.finish(cut_off=bool(texts))
        while self.request() or self.call():
            assert self.calls < CALLS_MAX, "calls without an end"
        self.pages.settle()

    def request(self) -> bool:
        """Withdraw or retract the reply, if that is what happens."""
        if not self.faults or "withdrawn" in self.happened or "retracted" in self.happened:
            return False
        chosen = ("", "withdrawn", "retracted")[self.chooser.choose(3)]
        if chosen:
            self.faults -= 1
            self.happened.append(chosen)
            self.pages.withdraw("killed", remove=chosen == "retracted")
        return bool(chosen)

    def call(self) -> bool:
        """Make the call that is due; return whether there was one."""
        due = self.pages.take()
        if not due:
            return False
        self.calls += 1
        fault = (
            ("", "refused", "lost", "answer lost")[self.chooser.choose(4)] if self.faults else ""
        )
        if fault:
            self.faults -= 1
            self.happened.append(f"{fault}: {due[0].kind}")
        number = due[0].target or self.calls
        if fault in ("", "answer lost"):
            self.change(due[0], number)
        if not fault and self.request():
            self.happened.append("while a call was out")
        outcome: Outcome = (
            "delivered" if not fault else "refused" if fault == "refused" else "unknown"
        )
        self.pages.on_receipt(
            Receipt(
                outcome=outcome,
                channel_id=1,
                index=0,
                characters=0,
                message_id=None if fault else number,
                kind=due[0].kind,
                reason=fault,
            )
        )
        return True

    def change(self, page: PageEdit, number: int) -> None:
        if page.kind == "delete":
            del self.stands[number]
        else:
            self.stands[number] = page.text

    def judge(self) -> None:
        shown = [self.stands[number] for number in sorted(self.stands)]
        words = " ".join(shown).split()
        failed = set(self.happened) - {"withdrawn", "retracted", "while a call was out"}
        # A page of which Discord never tells is one that nothing can be done about.
        if self.pages.state == "shown" and not any("lost" in fault for fault in failed):
            assert shown == [message.text for message in fit(TEXTS[-1], limit=LIMIT).messages]
        if not self.happened:
            assert self.pages.state == "shown", "nothing happened, and the text is not shown"
        if not failed:
            assert max(Counter(words).values(), default=0) <= 1, "a word is shown twice"
            assert words == WORDS[: len(words)], "a word is missing in the middle"
            assert not shown or "retracted" not in self.happened, (
                "a page is left of a retracted reply"
            )
        # What Discord refuses to delete stays; but what it refuses to make or change is not missed.
        if self.happened in (["refused: create"], ["refused: edit"]):
            assert max(Counter(words).values(), default=0) <= 1, "a word is shown twice"


def explore(faults: int) -> tuple[int, set[str]]:
    """Go through all possibilities; return their number, and the states in which they end."""
    runs, states = 0, set[str]()
    for fresh in (False, True):
        chooser = Chooser()
        while True:
            reply = Reply(chooser, faults, fresh)
            try:
                reply.run()
                reply.judge()
            except AssertionError as error:
                error.add_note(f"{fresh=} {reply.happened} {reply.stands} {chooser}")
                raise
            states.add(reply.pages.state)
            runs += 1
            if not chooser.next():
                break
    return runs, states


def test_p01_p10_every_growing_reply_with_one_fault(figure: Callable[[str], None]) -> None:
    runs, states = explore(1)
    figure(f"P1: {runs:,} replies that grow, all with one fault or request at most")
    assert states == {leaf.id for leaf in CHART.leaves if leaf.final}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_p01_p10_every_growing_reply_with_two_faults(figure: Callable[[str], None]) -> None:
    runs, _ = explore(2)
    figure(f"P1: {runs:,} replies that grow, all with two faults or requests at most")


# It would find what is wrong.


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("drop_pages", "retracted"), ("drop_page", "missing"), ("note_texts", "twice")],
)
def test_a_broken_action_is_found(name: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = type("Broken", (PageSet,), {name: lambda _, __: None})
    monkeypatch.setattr(edit_in_place, "TABLE", compile(CHART, broken))
    with pytest.raises(AssertionError, match=wrong):
        explore(2)
