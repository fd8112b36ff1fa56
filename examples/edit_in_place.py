"""One message that grows while the model writes, with a Stop button.

Look at `edit=True`: edits are paced within Discord's limits, only the newest text is sent, and a
reply that grows too long continues in a second message. `button=True` is for the user who asked
and for moderators.
"""

import os

import hikari

import minamo

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
client = minamo.Client(bot)
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if event.is_human and event.content:
        result = await client.stream(event, llm.ask(event.content), edit=True, button=True)
        print(result.status, result.stop_reason)


if __name__ == "__main__":
    bot.run()
