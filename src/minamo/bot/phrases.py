"""How the ready-made bot says no."""

from __future__ import annotations

import math

from minamo.bot.allowance import Denied
from minamo.shell.telling.wording import Wording


def too_much(verdict: Denied, wording: Wording) -> str:
    """To somebody who asked too much."""
    if verdict.wait_s is None:
        return wording.say("still_answering")
    return wording.say("asked_too_much", seconds=max(1, math.ceil(verdict.wait_s)))
