"""The smallest bot: it answers every message in which it is mentioned.

Look at `result`: every reply ends in exactly one status, and nothing is raised.

    export DISCORD_TOKEN=…  OPENAI_BASE_URL=http://localhost:11434/v1  MODEL=…
    python examples/minimal.py
"""

import os

import hikari

import minamo

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
client = minamo.Client(bot, stop_command="stop")
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),  # a server on this machine needs none
)


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    me = bot.get_me()
    if me is None or not event.is_human or me.id not in (event.message.user_mentions_ids or ()):
        return
    result = await client.stream(event, llm.ask(event.content or "Hello!"))
    print(result.status, len(result.accumulated_text))


if __name__ == "__main__":
    bot.run()
