"""One test for each rule about what a message may be: text, embeds, nonce, mentions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import hikari
import pytest

from minamo.twin import Rules, Twin

pytestmark = pytest.mark.anyio
Rest = hikari.impl.RESTClientImpl
Refusal = Callable[[Any], Awaitable[tuple[int, int]]]


# Content.


async def test_content_has_at_most_2000_code_points(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    home = twin.channel().id
    await rest.create_message(home, "x" * 2000)
    assert await refused(rest.create_message(home, "x" * 2001)) == (400, 50035)


async def test_a_family_of_seven_code_points_counts_seven(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    assert len(family) == 7
    home = twin.channel().id
    await rest.create_message(home, family * 285)  # 1995, although 3135 in UTF-16
    assert await refused(rest.create_message(home, family * 286)) == (400, 50035)


async def test_edges_are_trimmed_before_they_are_counted(twin: Twin, rest: Rest) -> None:
    sent = await rest.create_message(twin.channel().id, "  \n" + "x" * 2000 + " \n")
    assert sent.content == "x" * 2000


@pytest.mark.parametrize("text", ["", "   ", "\n\t "])
async def test_blank_is_empty(twin: Twin, rest: Rest, text: str, refused: Refusal) -> None:
    assert await refused(rest.create_message(twin.channel().id, text)) == (400, 50006)


async def test_lone_surrogates_are_taken_out(twin: Twin, rest: Rest) -> None:
    sent = await rest.create_message(twin.channel().id, "a\ud800b")
    assert sent.content == "ab"


async def test_an_edit_has_the_same_limits(twin: Twin, rest: Rest, refused: Refusal) -> None:
    home = twin.channel().id
    sent = await rest.create_message(home, "x")
    assert await refused(rest.edit_message(home, sent, "x" * 2001)) == (400, 50035)
    assert await refused(rest.edit_message(home, sent, "  ")) == (400, 50006)
    edited = await rest.edit_message(home, sent, " y ")
    assert edited.content == "y"
    assert edited.edited_timestamp is not None


# Embeds and components.


@pytest.mark.parametrize(
    ("embed", "ok"),
    [
        (hikari.Embed(description="x" * 4096), True),
        (hikari.Embed(description="x" * 4097), False),
        (hikari.Embed(description=" " * 9 + "x" * 4096), True),
        (hikari.Embed(title="x" * 257), False),
        (hikari.Embed(title="t").set_footer("x" * 2049), False),
        (hikari.Embed(title="t").set_author(name="x" * 257), False),
        (hikari.Embed().add_field("x" * 257, "v"), False),
        (hikari.Embed().add_field("n", "x" * 1025), False),
        (hikari.Embed(description="x" * 4000).set_footer("x" * 2000), True),
        (hikari.Embed(description="x" * 4000, title="t").set_footer("x" * 2000), False),
    ],
)
async def test_embed_limits(
    twin: Twin, rest: Rest, embed: hikari.Embed, ok: bool, refused: Refusal
) -> None:
    call = rest.create_message(twin.channel().id, embed=embed)
    if ok:
        await call
    else:
        assert await refused(call) == (400, 50035)


async def test_embeds_are_ten_and_6000_in_sum(twin: Twin, rest: Rest, refused: Refusal) -> None:
    home = twin.channel().id
    small = [hikari.Embed(title="x")] * 11
    assert await refused(rest.create_message(home, embeds=small)) == (400, 50035)
    large = [hikari.Embed(description="x" * 3001)] * 2
    assert await refused(rest.create_message(home, embeds=large)) == (400, 50035)


def _texts(rest: Rest, *texts: str) -> list[Any]:
    return [hikari.impl.TextDisplayComponentBuilder(content=one) for one in texts]


async def test_components_v2_have_no_content_and_get_ids(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    home = twin.channel().id
    sent = await rest.create_message(home, components=_texts(rest, "a", "b"))
    assert [one.id for one in sent.components] == [1, 2]
    assert sent.flags & hikari.MessageFlag.IS_COMPONENTS_V2
    both = rest.create_message(home, "text", components=_texts(rest, "a"))
    assert await refused(both) == (400, 50035)
    edited = await rest.edit_message(home, sent, components=_texts(rest, "c"), flags=0)
    assert edited.flags & hikari.MessageFlag.IS_COMPONENTS_V2  # it cannot be taken back


async def test_components_v2_are_40_with_4000_characters(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    home = twin.channel().id
    many = _texts(rest, *["x"] * 41)
    assert await refused(rest.create_message(home, components=many)) == (400, 50035)
    long = _texts(rest, "x" * 2001, "x" * 2000)
    assert await refused(rest.create_message(home, components=long)) == (400, 50035)


async def test_components_v2_of_many_bytes_crash_the_server(twin: Twin, client: Any) -> None:
    async with client(twin, max_retries=0) as rest:
        many = _texts(rest, "界" * 3_400)  # 3400 characters, 10200 bytes
        with pytest.raises(hikari.InternalServerError):
            await rest.create_message(twin.channel().id, components=many)


async def test_buttons_need_ids_of_their_own(twin: Twin, rest: Rest, refused: Refusal) -> None:
    row = rest.build_message_action_row()
    for _ in range(2):
        row.add_interactive_button(hikari.ButtonStyle.PRIMARY, "same", label="x")
    assert await refused(rest.create_message(twin.channel().id, component=row)) == (400, 50035)


def _select() -> Any:
    return hikari.impl.MessageActionRowBuilder().add_text_menu("s").add_option("l", "v").parent


def _button() -> Any:
    primary = hikari.ButtonStyle.PRIMARY
    return hikari.impl.InteractiveButtonBuilder(style=primary, custom_id="b", label="b")


def _section(accessory: Any) -> Any:
    texts = [hikari.impl.TextDisplayComponentBuilder(content="x")]
    return hikari.impl.SectionComponentBuilder(accessory=accessory, components=texts)


_PICTURE = "https://example.invalid/a.png"
_BUILDERS: dict[str, Callable[[], Any]] = {
    "select": _select,
    "separator": hikari.impl.SeparatorComponentBuilder,
    "section": lambda: _section(_button()),
    "thumbnail": lambda: _section(hikari.impl.ThumbnailComponentBuilder(media=_PICTURE)),
    "gallery": lambda: hikari.impl.MediaGalleryComponentBuilder(
        items=[hikari.impl.MediaGalleryItemBuilder(media=_PICTURE)]
    ),
    "file": lambda: hikari.impl.FileComponentBuilder(file=hikari.Bytes(b"hi", "a.txt")),
    "container": lambda: hikari.impl.ContainerComponentBuilder(
        components=[hikari.impl.SeparatorComponentBuilder()]
    ),
}


@pytest.mark.parametrize("name", _BUILDERS)
async def test_hikari_reads_back_each_of_its_components(twin: Twin, rest: Rest, name: str) -> None:
    home, built = twin.channel().id, _BUILDERS[name]()
    sent = await rest.create_message(home, components=[built])
    again = await rest.fetch_message(home, sent)
    assert [one.type for one in again.components] == [built.type] == [sent.components[0].type]


# Nonce.


async def test_a_nonce_returns_the_first_message(twin: Twin, rest: Rest) -> None:
    home, other = twin.channel().id, twin.channel("other").id
    first = await rest.create_message(home, "a", nonce="n1")
    again = await rest.create_message(home, "b", nonce="n1")
    assert (first.nonce, again.id, again.content) == ("n1", first.id, "a")
    assert (await rest.create_message(other, "c", nonce="n1")).id != first.id
    assert twin.texts() == ["a"]


async def test_a_nonce_has_at_most_25_characters(twin: Twin, rest: Rest, refused: Refusal) -> None:
    home = twin.channel().id
    await rest.create_message(home, "a", nonce="n" * 25)
    assert await refused(rest.create_message(home, "b", nonce="n" * 26)) == (400, 50035)


async def test_a_nonce_of_a_deleted_message_is_unknown(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    home = twin.channel().id
    first = await rest.create_message(home, "a", nonce="n1")
    await rest.delete_message(home, first)
    assert await refused(rest.create_message(home, "a", nonce="n1")) == (404, 10008)
    assert twin.texts() == []


async def test_a_nonce_is_forgotten_after_minutes(client: Any) -> None:
    time_now = [1_800_000_000.0]
    rules = Rules(rate_limits=False)
    async with Twin(rules=rules, clock=lambda: time_now[0]) as twin, client(twin) as rest:
        await rest.create_message(twin.channel().id, "a", nonce="n1")
        time_now[0] += rules.nonce_window_s + 1
        await rest.create_message(twin.channel().id, "b", nonce="n1")
        assert twin.texts() == ["a", "b"]


async def test_a_webhook_has_no_nonce(twin: Twin, rest: Rest) -> None:
    hook = await rest.create_webhook(twin.channel().id, "Nyx")
    for _ in range(2):
        await rest.execute_webhook(hook, hook.token or "", "same")
    assert twin.texts() == ["same", "same"]


# Mentions.


async def test_hikari_pings_nobody_by_default(twin: Twin, rest: Rest) -> None:
    ann = twin.user("ann")
    text = f"<@{ann.id}> @everyone <@&{twin.guild.id}>"
    await rest.create_message(twin.channel().id, text)
    (message,) = twin.messages()
    assert (message.pinged, message.pinged_roles, message.pinged_everyone) == ([], [], False)


async def test_allowed_mentions_ring_who_is_named(twin: Twin, rest: Rest) -> None:
    ann, bob = twin.user("ann"), twin.user("bob")
    text = f"<@{ann.id}> <@{bob.id}> @here"
    home = twin.channel().id
    sent = await rest.create_message(home, text, user_mentions=[ann.id])
    assert list(sent.user_mentions_ids or ()) == [ann.id]
    await rest.create_message(home, text, user_mentions=True, mentions_everyone=True)
    assert [one.pinged for one in twin.messages()] == [[ann.id], [ann.id, bob.id]]
    assert [one.pinged_everyone for one in twin.messages()] == [False, True]


async def test_without_allowed_mentions_everything_rings(twin: Twin) -> None:
    ann = twin.user("ann")
    twin.guild.owner_id = ann.id  # who may call everyone
    said = await twin.say(f"@everyone <@{twin.bot.id}>")
    assert (said.pinged, said.pinged_everyone) == ([twin.bot.id], True)


async def test_everyone_needs_its_permission(twin: Twin) -> None:
    said = await twin.say("@everyone look")
    assert not said.pinged_everyone


async def test_code_rings_no_bell(twin: Twin) -> None:
    said = await twin.say(f"`<@{twin.bot.id}>` ```\n<@{twin.bot.id}>\n```")
    assert said.pinged == []


async def test_a_reply_rings_unless_told_not_to(twin: Twin, rest: Rest) -> None:
    asked = await twin.say("question")
    home = twin.channel().id
    for rings in (True, False):
        await rest.create_message(home, "answer", reply=asked.id, mentions_reply=rings)
    loud, quiet = twin.messages()[1:]
    assert (loud.pinged, quiet.pinged) == ([twin.user("ann").id], [])
    assert loud.type == 19


async def test_contradicting_allowed_mentions_are_refused(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    body = {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}}
    route = hikari.internal.routes.POST_CHANNEL_MESSAGES.compile(channel=twin.channel().id)
    assert await refused(rest._request(route, json=body)) == (400, 50035)


async def test_an_edit_without_allowed_mentions_reads_them_anew(twin: Twin) -> None:
    said = await twin.say("nobody")
    await twin.edit(said, f"<@{twin.bot.id}>")
    assert (said.mentions, said.pinged) == ([twin.bot.id], [])  # an edit rings no bell
