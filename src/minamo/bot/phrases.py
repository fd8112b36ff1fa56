"""What the ready-made bot says of itself."""

from __future__ import annotations

import math

from minamo.bot.allowance import Denied


def too_much(verdict: Denied) -> str:
    """To somebody who asked too much."""
    if verdict.wait_s is None:
        return "I am still answering you. Please wait until I am done, or stop me with the button."
    seconds = max(1, math.ceil(verdict.wait_s))
    return f"That was a lot of questions in one minute. Please ask again in {seconds} s."
