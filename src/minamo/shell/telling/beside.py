"""Messages beside a reply, such as a notice or its thoughts: in order, in time, no exception."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import anyio

from minamo.core.clean import clean
from minamo.core.config import StreamConfig
from minamo.shell.sending.dispatch import Dispatch
from minamo.shell.sending.lanes import Lanes
from minamo.shell.sending.receipts import Receipt
from minamo.shell.sending.sender import Sender
from minamo.shell.sending.source import Manner, Texts

_LOG = logging.getLogger("minamo.beside")


async def send_beside(
    lanes: Lanes,
    sender: Sender,
    channel_id: int,
    texts: Sequence[str],
    *,
    manner: Manner,
    stream_id: str,
    deadline_s: float,
    line: int | None = None,
) -> tuple[Receipt, ...]:
    """Send *texts*, each as one message, behind everything that waits in the channel or *line*.

    Never raises but for a cancellation from outside, and takes at most *deadline_s*: what is not
    out by then is taken back, and what is out then is reported as unknown.
    """
    source = Texts(list(texts))
    try:
        async with lanes.open(
            channel_id, sender, source, stream_id=stream_id, line=line, manner=manner
        ) as one:
            one.deliver()
            with anyio.move_on_after(deadline_s):
                await one.finish()
            one.withdraw("deadline")
            return (*one.receipts, *_still_out(one))
    except Exception as error:  # noqa: BLE001 - beside a reply nothing may go wrong, only missing
        _LOG.warning("a message beside a reply failed", extra={"kind": type(error).__name__})
        return (not_sent(channel_id, "unexpected", sum(map(len, texts))),)


def clean_beside(text: str, config: StreamConfig) -> str:
    """A model's or a tool's words as they may be shown: by the rules that hold for the reply."""
    return clean(
        text,
        off=config.clean_off,
        mentions=config.mentions,
        first=False,
        uncensor_unicode_space=config.uncensor_unicode_space,
    ).text


def _still_out(one: Dispatch) -> tuple[Receipt, ...]:
    first = one.first
    if first is None:
        return ()
    return (
        Receipt(
            outcome="unknown",
            channel_id=one.channel_id,
            index=first.index,
            characters=len(first.post.text),
            reason="deadline",
            nonce=first.post.nonce,
            attempts=1,
            settled_at=anyio.current_time(),
        ),
    )


def not_sent(channel_id: int, reason: str, characters: int = 0) -> Receipt:
    """The receipt of something that was never tried."""
    return Receipt(
        outcome="not_sent",
        channel_id=channel_id,
        index=0,
        characters=characters,
        reason=reason,
        settled_at=anyio.current_time(),
    )
