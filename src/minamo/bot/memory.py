"""What was said before in direct messages, where people do not reply to messages: they just write.

Elsewhere the chain of replies is the memory (`Client.conversation`).
"""

from __future__ import annotations

import datetime

import hikari

from minamo.shell.discord.calls import Calls
from minamo.shell.discord.history import Chain, Memory
from minamo.wire.conversation import Message

# After a longer pause it is another conversation.
_PAUSE = datetime.timedelta(hours=6)


async def direct_conversation(
    rest: hikari.api.RESTClient, me: int, last: hikari.Message, memory: Memory
) -> list[Message]:
    """The newest messages of a private channel up to *last*, as a provider understands them."""
    before: list[hikari.Message] = []

    async def look() -> None:
        found = rest.fetch_messages(last.channel_id, before=last.id).limit(memory.messages_max - 1)
        before.extend([one async for one in found])

    if memory.messages_max > 1:
        # What cannot be fetched is not remembered; a conversation can do without.
        await Calls().make(look())
    kept: list[hikari.PartialMessage] = [last]
    left, at = memory.characters_max - len(last.content or ""), last.timestamp
    for one in before:
        left -= len(one.content or "")
        if left < 0 or at - one.timestamp > _PAUSE:
            break
        kept.append(one)
        at = one.timestamp
    return await Chain(rest, me, memory).read(kept[::-1])
