"""Nobody is pinged, nothing secret is told, and every refusal has a name."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

import pytest

from minamo.core.messages import SUPPRESS_EMBEDS, AllowedMentions, Embed
from minamo.core.messages import OutgoingMessage as Message
from minamo.shell.delivery.interfaces import Accepted
from minamo.twin import CREATE, EDIT, EXECUTE, Permission, Rules, Twin
from support.lanes import SendOptions, persona, posting, reasons, unpaced
from support.seeds import FIRST, dice, seeds

pytestmark = pytest.mark.anyio


def hostile(seed: int, twin: Twin) -> str:
    """Mentions of all kinds, in long runs and odd company."""
    random_ = random.Random(seed)
    ann, role = twin.user("ann").id, twin.guild.id
    bits = ["@everyone", "@here", f"<@{ann}>", f"<@!{ann}>", f"<@&{role}>", f"<#{ann}>", "\\", "`"]
    bits += ["@", "<@", "\u200b", "```", "> ", "|", "* ", "\n", "everyone", "@ everyone", "a"]
    made = "".join(random_.choice(bits) * random_.choice((1, 1, 1, 7)) for _ in range(12))
    return f"x{made[:1_900]}"


async def ring_nobody(numbers: range) -> None:
    texts = len(numbers)
    async with Twin(rules=Rules(rate_limits=False)) as twin:
        twin.allow("general", Permission.MENTION_EVERYONE)
        async with posting(twin, pacer=unpaced()) as post, persona(post) as sender:
            sent = [hostile(seed, twin) for seed in numbers]
            half = len(sent) // 2
            receipts = await post.send(*sent[:half])
            receipts += await post.send(*sent[half:], sender=sender)
            assert [one.delivered for one in receipts] == [True] * texts
            place, bot = twin.channel().id, post.sender()
            for receipt, text in zip(receipts[:half:10], sent[half:], strict=False):
                assert receipt.message_id is not None
                changed = Message(channel_id=place, text=text)
                assert await bot.edit(changed, receipt.message_id) == Accepted(receipt.message_id)
        assert twin.journal.count(CREATE) + twin.journal.count(EXECUTE) == texts
        assert len(twin.messages()) == texts
        for name in (CREATE, EXECUTE, EDIT):
            bodies = [one.body for one in twin.journal.requests(name)]
            assert bodies
            for body in bodies:
                assert body["allowed_mentions"]["parse"] == []
                assert not body["allowed_mentions"].get("users")
                assert not body["allowed_mentions"].get("roles")
                assert len(body["content"]) <= 2000
        for message in twin.messages():
            assert (message.pinged, message.pinged_roles, message.pinged_everyone) == (
                [],
                [],
                False,
            )


async def test_p20_hostile_text_rings_nobody() -> None:
    with dice(FIRST):
        await ring_nobody(seeds(500))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(5))
async def test_p20_10_000_hostile_texts_ring_nobody(
    part: int, figure: Callable[[str], None]
) -> None:
    numbers = seeds(2_000, part)
    with dice(numbers.start):
        await ring_nobody(numbers)
    figure("P20: 2,000 hostile texts")


async def test_p20_who_is_named_is_rung_and_nobody_else() -> None:
    async with Twin() as twin, posting(twin) as post:
        ann, bob = twin.user("ann"), twin.user("bob")
        manner = SendOptions(ping=AllowedMentions(users=(ann.id,)))
        await post.send(f"<@{ann.id}> <@{bob.id}> @everyone", manner=manner)
        assert twin.messages()[-1].pinged == [ann.id]
        asked = await twin.say("hm?", user="bob")
        await post.send("so", manner=SendOptions(reply_to=asked.id))
        assert (twin.messages()[-1].reply_to, twin.messages()[-1].pinged) == (asked.id, [])
        await post.send(
            "so", manner=SendOptions(reply_to=asked.id, ping=AllowedMentions(reply=True))
        )
        assert twin.messages()[-1].pinged == [bob.id]
        assert twin.journal.requests(CREATE)[-1].body["allowed_mentions"]["replied_user"] is True


async def test_a_reply_to_a_deleted_message_is_sent_all_the_same() -> None:
    async with Twin() as twin, posting(twin) as post:
        asked = await twin.say("hm?")
        await twin.delete(asked)
        (receipt,) = await post.send("so", manner=SendOptions(reply_to=asked.id))
        assert receipt.delivered


async def test_flags_and_embeds_go_with_the_message() -> None:
    async with Twin() as twin, posting(twin) as post:
        notice = Embed(title="Trouble", description="It did not work.", colour=0xFF0000)
        await post.send("", manner=SendOptions(embed=notice))
        await post.send("https://example.invalid", manner=SendOptions(flags=SUPPRESS_EMBEDS))
        with_embed, without = twin.messages()
        assert (with_embed.content, with_embed.embeds[0]["title"]) == ("", "Trouble")
        assert without.flags & SUPPRESS_EMBEDS


@pytest.mark.rule_breaking("a text that no fitting would let through")
async def test_a_text_that_is_too_long_is_refused() -> None:
    async with Twin() as twin, posting(twin) as post:
        assert reasons(await post.send("x" * 2_001)) == [("refused", "bad_form")]
        assert (await post.send("x" * 2_000))[0].delivered


async def test_a_dead_or_badly_named_persona_is_refused_by_name() -> None:
    async with Twin() as twin, posting(twin) as post:
        async with persona(post, name="clyde") as sender:
            assert reasons(await post.send("hi", sender=sender)) == [("refused", "bad_form")]
        async with persona(post, name="Ada", avatar_url="https://example.invalid/a.png") as sender:
            assert (await post.send("hi", sender=sender))[0].delivered
            assert twin.messages()[-1].webhook_id == sender.place
            sender._token = "wrong"
            assert reasons(await post.send("hi", sender=sender)) == [("refused", "bad_token")]
            await post.rest.delete_webhook(sender.place)
            told = reasons(await post.send("hi", sender=sender))
            assert told == [("refused", "unknown_webhook")]


async def test_p21_no_secret_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        Twin() as twin,
        posting(twin, max_retries=0) as post,
        persona(post, name="Ada") as sender,
    ):
        secrets = [twin.token, sender._token, f"/webhooks/{sender.place}/{sender._token[:4]}"]
        shown: list[object] = [sender, sender.bot, sender.calls, post.lanes]
        twin.faults.drop(on=EXECUTE)
        shown += await post.send("hi", sender=sender)
        twin.faults.status(502, on=EXECUTE)
        shown += await post.send("hi", sender=sender)
        await post.rest.delete_webhook(sender.place)
        shown += await post.send("hi", sender=sender)
        twin.faults.html(on=CREATE)
        one = post.open(["hi"])
        await twin.journal.until(lambda: twin.journal.count(CREATE, status=429))
        one.withdraw("stop")
        shown += await one.finish()
    # All loggers, hikari's too: it is our client that speaks here.
    ours = [r.getMessage() + str(r.__dict__) for r in caplog.records]
    told = [repr(one) for one in shown] + [str(one) for one in shown] + ours
    assert not [text for text in told if any(secret in text for secret in secrets)]
    assert len(shown) >= 8
    assert any("/***" in text for text in ours)


async def test_an_odd_text_is_not_an_exception(caplog: pytest.LogCaptureFixture) -> None:
    async with Twin() as twin, posting(twin) as post:
        sender = post.sender()
        answer = await sender.create(Message(channel_id=sender.place, text="\ud800", nonce="n"))
        assert answer.__class__.__name__ in ("Lost", "Took", "Rejected")
        assert "\ud800" not in caplog.text
