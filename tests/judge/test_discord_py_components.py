"""Selects, modals, completions, subcommands and context menus, as discord.py reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from judge.discord_py_bot import Bot, Rig, app_commands, connected, discord
from minamo.twin import Twin

pytestmark = pytest.mark.anyio


class Form(discord.ui.Modal, title="Tell me"):
    """A modal of an old and a new kind of field."""

    name = discord.ui.TextInput(label="Name", custom_id="name", max_length=20)
    why = discord.ui.Label(
        text="Why",
        component=discord.ui.TextInput(custom_id="why", required=False, default="because"),
    )

    async def on_submit(self, interaction: Any) -> None:
        await interaction.response.send_message(f"{self.name.value}: {self.why.component.value}")


class Menus(discord.ui.View):
    """Menus of texts, users and channels."""

    @discord.ui.select(
        custom_id="fruit",
        max_values=2,
        options=[discord.SelectOption(label=one) for one in ("apple", "pear", "plum")],
    )
    async def fruit(self, interaction: Any, menu: Any) -> None:
        await interaction.response.send_message(" and ".join(menu.values))

    @discord.ui.select(cls=discord.ui.UserSelect, custom_id="who")
    async def who(self, interaction: Any, menu: Any) -> None:
        (member,) = menu.values
        assert isinstance(member, discord.Member)
        await interaction.response.send_message(member.name)

    @discord.ui.select(cls=discord.ui.ChannelSelect, custom_id="where")
    async def where(self, interaction: Any, menu: Any) -> None:
        await interaction.response.send_message(menu.values[0].name)

    @discord.ui.button(custom_id="form", label="Form")
    async def form(self, interaction: Any, _: Any) -> None:
        await interaction.response.send_modal(Form())


async def _register(bot: Bot) -> None:
    config = app_commands.Group(name="config", description="Settings")
    deep = app_commands.Group(name="deep", description="More settings", parent=config)

    @config.command(name="set", description="Set a thing")
    async def set_(interaction: Any, key: str, number: int) -> None:
        await interaction.response.send_message(f"{key} = {number}")

    @deep.command(name="get", description="Get a thing")
    async def get(interaction: Any, key: str) -> None:
        await interaction.response.send_message(f"{key}?")

    @get.autocomplete("key")
    async def keys(interaction: Any, current: str) -> list[app_commands.Choice[str]]:
        known = [one for one in ("colour", "count", "name") if one.startswith(current)]
        return [app_commands.Choice(name=one, value=one) for one in known]

    @bot.tree.command(name="form", description="Fill in a form")
    async def form(interaction: Any) -> None:
        await interaction.response.send_modal(Form())

    @bot.tree.context_menu(name="Quote")
    async def quote(interaction: Any, message: discord.Message) -> None:
        await interaction.response.send_message(f"> {message.content}")

    @bot.tree.context_menu(name="Greet")
    async def greet(interaction: Any, member: discord.Member) -> None:
        await interaction.response.send_message(f"hello {member.name}")

    bot.tree.add_command(config)
    del set_, keys, form, quote, greet


@pytest.fixture
async def rig(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    async with connected(twin, monkeypatch, _register) as made:
        await made.bot.tree.sync()
        yield made


async def says(rig: Rig, text: str) -> None:
    await rig.twin.journal.until(lambda: rig.twin.texts()[-1:] == [text])


async def test_subcommands_and_groups_are_used(rig: Rig) -> None:
    await rig.twin.slash("config set", {"key": "colour", "number": 5})
    await says(rig, "colour = 5")
    await rig.twin.slash("config deep get", {"key": "name"})
    await says(rig, "name?")


async def test_an_option_is_completed(rig: Rig) -> None:
    used = await rig.twin.complete("config deep get", "key", "co")
    await rig.twin.journal.until(lambda: used.is_answered)
    assert [one["value"] for one in used.choices] == ["colour", "count"]


async def test_context_menus_of_messages_and_users_are_used(rig: Rig) -> None:
    said = await rig.twin.say("words", user="bob")
    await rig.twin.menu("Quote", said)
    await says(rig, "> words")
    await rig.twin.menu("Greet", rig.twin.user("bob"))
    await says(rig, "hello bob")


async def test_menus_are_chosen_from(rig: Rig) -> None:
    await rig.channel.send("choose", view=Menus())
    (message,) = rig.twin.messages()
    await rig.twin.select(message, "fruit", "apple", "plum")
    await says(rig, "apple and plum")
    await rig.twin.select(message, "who", rig.twin.user("bob"))
    await says(rig, "bob")
    await rig.twin.select(message, "where", rig.twin.channel())
    await says(rig, "general")


async def test_a_modal_of_a_command_is_filled_in(rig: Rig) -> None:
    opened = await rig.twin.slash("form")
    await rig.twin.journal.until(lambda: opened.is_answered)
    await rig.twin.submit(opened, {"name": "Ann", "why": "so"})
    await says(rig, "Ann: so")


async def test_a_modal_of_a_button_is_filled_in(rig: Rig) -> None:
    await rig.channel.send("press", view=Menus())
    opened = await rig.twin.click(rig.twin.messages()[0], "form")
    await rig.twin.journal.until(lambda: opened.is_answered)
    await rig.twin.submit(opened, {"name": "Ann"})
    await says(rig, "Ann: because")


async def test_what_is_not_there_cannot_be_chosen(rig: Rig) -> None:
    twin = rig.twin
    await rig.channel.send("choose", view=Menus())
    (message,) = twin.messages()
    opened = await twin.slash("form")
    answered = await twin.click(message, "form")
    await twin.journal.until(lambda: opened.is_answered and answered.is_answered)
    said = await twin.say("x")
    for attempt, words in (
        (twin.select(message, "colour", "red"), "no menu 'colour'"),
        (twin.select(message, "fruit", "melon"), "no 'melon'; it has apple, pear, plum"),
        (twin.select(message, "fruit"), "takes 1 to 2 values"),
        (twin.select(message, "who", "bob"), "no 'bob'"),
        (twin.slash("config"), "used by its subcommands: deep, set"),
        (twin.slash("config deep"), "used by its subcommands: get"),
        (twin.slash("config unset"), "no subcommand 'unset'; it has deep, set"),
        (twin.slash("form again"), "no subcommand 'again'"),
        (twin.menu("Report", said), "no command 'Report'; it has Quote"),
        (twin.submit(opened, {"nick": "x"}), "no field 'nick'; it has name, why"),
        (twin.submit(opened, {}), "'name' must be filled in"),
        (twin.submit(opened, {"name": "x" * 21}), "'name' takes 0 to 20"),
    ):
        with pytest.raises(LookupError, match=words):
            await attempt
    await twin.delete(message)
    with pytest.raises(LookupError, match="the message is gone"):
        await twin.select(message, "fruit", "pear")
    used = await twin.slash("config set", {"key": "k", "number": 1})
    await says(rig, "k = 1")
    with pytest.raises(LookupError, match="did not answer with a modal"):
        await twin.submit(used, {})
