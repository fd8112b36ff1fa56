"""What a message is inside of at some place: fences, formatting, quotes, code.

A enclosure knows how it is closed before a cut and how it is opened again after it.  Enclosures
nest; a stack of them is known by a small number, so that one number per character is
enough to say where in the nesting that character stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from minamo.core.limits import BREAKS_MAX, ENCLOSURES_SHARE

SPOILER = "||"


@frozen(slots=True)
class Enclosure:
    """One enclosing construct: the text that opens it and the text that closes it."""

    opener: str
    closer: str = ""
    header: str = ""  # lines repeated after the opener: a table's head
    verbatim: bool = False  # code: whitespace counts, and lines are cut at line ends
    lines: bool = False  # a quote that marks each of its lines

    @property
    def reopening(self) -> str:
        """All that starts the enclosure again in a new message."""
        return self.opener + self.header


def code_enclosure(language: str, header: str = "") -> Enclosure:
    """A code block, as Discord writes it."""
    return Enclosure(f"```{language}\n", "\n```", header, verbatim=True)


def affordable(enclosures: Sequence[Enclosure], limit: int) -> tuple[Enclosure, ...]:
    """The enclosures worth reopening in a message of *limit* characters.

    Size wins over looks: headers are given up first, then formatting from the inside out,
    spoilers last of all.
    """
    budget = limit // ENCLOSURES_SHARE
    kept = list(enclosures)
    if _cost(kept) > budget:
        kept = [evolve(each, header="") for each in kept]
    spoilers = [each for each in kept if each.opener == SPOILER]
    others = [each for each in kept if each.opener != SPOILER]
    for each in (*reversed(others), *spoilers):
        if _cost(kept) <= budget:
            break
        if not each.verbatim:
            kept.remove(each)
    return tuple(kept)


def _cost(enclosures: Sequence[Enclosure]) -> int:
    return (
        sum(len(enclosure.reopening) + len(enclosure.closer) for enclosure in enclosures)
        + BREAKS_MAX
    )


class Stacks:
    """Numbers for stacks of enclosures; 0 is the empty one.  Equal stacks share a number."""

    __slots__ = ("_all", "_numbers")

    def __init__(self) -> None:
        self._all: list[tuple[Enclosure, ...]] = [()]
        self._numbers: dict[tuple[int, Enclosure], int] = {}

    def push(self, below: int, enclosure: Enclosure) -> int:
        """The stack *below* with *enclosure* put inside it."""
        number = self._numbers.get((below, enclosure))
        if number is None:
            number = self._numbers[below, enclosure] = len(self._all)
            self._all.append((*self._all[below], enclosure))
        return number

    def __getitem__(self, number: int) -> tuple[Enclosure, ...]:
        return self._all[number]

    def __len__(self) -> int:
        return len(self._all)
