"""A bot that remembers: it reads the chain of replies, and has a character.

Look at `client.conversation`: it returns the messages that led to this one, with the names of
their authors and their pictures, so nothing is stored outside of Discord.
"""

import os

import hikari

import minamo

PROMPT = "You are a lighthouse keeper. You answer in two sentences."

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
client = minamo.Client(bot)
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)


def is_for_me(event: hikari.MessageCreateEvent) -> bool:
    """Return whether a person mentions the bot, replies to it, or writes to it directly."""
    me = bot.get_me()
    return (
        me is not None
        and event.is_human
        and (event.message.guild_id is None or me.id in (event.message.user_mentions_ids or ()))
    )


@bot.listen()
async def on_message(event: hikari.MessageCreateEvent) -> None:
    if not is_for_me(event):
        return
    messages = await client.conversation(event)
    await client.stream(event, llm.chat([minamo.system(PROMPT), *messages]), reply=True)


if __name__ == "__main__":
    bot.run()
