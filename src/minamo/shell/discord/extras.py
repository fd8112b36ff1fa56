"""Components, embeds and attachments of the caller's own, added to the last message of a reply.

Which message is the last is known only at the end, so they are added by an edit, which does no
harm when it is repeated.  Where an edit would do harm, they are a message of their own:

- Embeds are hidden by the flag that suppresses link previews.  Clearing it for a text with links
  would let Discord fetch addresses that the model wrote.
- New attachments replace the old: the file with the rest of a long reply would be lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import hikari
from attrs import define, field

from minamo.core.messages import SUPPRESS_EMBEDS, Extras, Kind, MessageSource, Receipt
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import Sender, SendOptions, TextQueue
from minamo.shell.delivery.lanes import Lanes
from minamo.shell.notices.notices import send_source
from minamo.shell.options import ResolvedOptions

# A reply waits for it; a message that Discord takes longer for is sent nevertheless.
_DEADLINE_S = 15.0
_LINK = re.compile(r"https?://", re.IGNORECASE)


@define
class MessageChange(MessageSource):
    """A message source with one edit that leaves the text as it is."""

    target: int
    kind: Kind = field(default="edit", init=False)
    text: str = field(default="", init=False)
    waiting: int = field(default=1, init=False)
    file: None = field(default=None, init=False)

    def take(self, most: int | None = None, room: int | None = None) -> Sequence[MessageChange]:
        """Take and return the edit, once."""
        del most, room
        taken, self.waiting = self.waiting, 0
        return [self] if taken else []

    def withdraw(self, reason: str) -> None:
        """Discard the edit."""
        del reason
        self.waiting = 0


def check_extras(options: ResolvedOptions) -> None:
    """Refuse objects that hikari could not send.

    Raises:
        BadSetting: the message names the option.
    """
    for embed in options.embeds:
        if not isinstance(embed, hikari.Embed):
            raise BadSetting(
                f"embeds must be hikari.Embed objects; one is a {type(embed).__name__}"
            )
    for component in options.components:
        if not hasattr(component, "build"):
            raise BadSetting(
                "components must be builders, such as hikari's action rows or a view of miru; "
                f"one is a {type(component).__name__}"
            )


async def send_extras(
    options: ResolvedOptions,
    result: StreamResult,
    *,
    lanes: Lanes,
    sender: Sender,
    channel_id: int,
    stream_id: str,
) -> Receipt | None:
    """Add the extras of *options* to the reply; return the receipt, or None if there are none.

    A reply that was killed, replaced by a newer one or lost on its way gets none.
    """
    extras = Extras(tuple(options.components), tuple(options.embeds), tuple(options.attachments))
    if not extras or not _wants_extras(result):
        return None
    last = last_message(result.receipts)
    is_edit = last is not None and _may_edit(extras, options, result, last)
    # Components need a text, an embed or a file beside them.
    if not is_edit and not (extras.embeds or extras.attachments):
        return None
    if last is None and result.status not in ("completed", "empty_response"):
        return None
    receipts = await send_source(
        lanes,
        sender,
        last.channel_id if last is not None else channel_id,
        MessageChange(last.message_id or 0) if last and is_edit else TextQueue([""]),
        options=SendOptions(
            flags=0 if options.link_previews else SUPPRESS_EMBEDS, ping=options.ping, extras=extras
        ),
        stream_id=f"{stream_id}/extras",
        deadline_s=_DEADLINE_S,
        line=channel_id,
    )
    return receipts[-1]


def last_message(receipts: Iterable[Receipt]) -> Receipt | None:
    """Return the receipt of the last message of the reply that is still there."""
    shown: dict[int, Receipt] = {}
    for receipt in receipts:
        if not receipt.delivered or receipt.message_id is None:
            continue
        if receipt.kind == "delete":
            shown.pop(receipt.message_id, None)
        # An error notice has neither text nor a file.
        elif receipt.kind == "create" and (receipt.characters or receipt.file):
            shown[receipt.message_id] = receipt
    return next(reversed(shown.values()), None)


def _wants_extras(result: StreamResult) -> bool:
    was_lost = result.stop_reason in ("killed", "delivery_lost")
    return not was_lost and result.status not in ("follow_up_interrupt", "function_call")


def _may_edit(
    extras: Extras, options: ResolvedOptions, result: StreamResult, last: Receipt
) -> bool:
    fetches = not options.link_previews and _LINK.search(result.accumulated_text) is not None
    return not (extras.embeds and fetches) and not (extras.attachments and last.file)
