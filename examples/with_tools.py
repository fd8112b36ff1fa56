"""A bot whose model may call functions.

Look at `roll`: its annotations become the JSON schema that the model sees, its docstring the
description. Arguments are checked before the function runs. `client.turn` takes every option of
`client.stream`; it streams, runs the tools that were called, and streams again.
"""

import os
import random

import hikari

import minamo

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
client = minamo.Client(bot)
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)
tools = minamo.Tools()


@tools.add
async def roll(context: minamo.ToolContext, sides: int = 6, times: int = 1) -> list[int]:
    """Roll dice.

    Args:
        sides: How many sides each die has.
        times: How many dice.
    """
    if not (1 <= times <= 100 and sides >= 2):
        raise minamo.ToolError("1 to 100 dice, with two sides or more")
    context.progress(f"Rolling {times}d{sides}…")  # shown to the people who wait
    return [random.randint(1, sides) for _ in range(times)]


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if event.is_human and event.content:
        messages = [minamo.system("You are a game master."), minamo.user(event.content)]
        result = await client.turn(event, llm, messages, tools=tools, button=True)
        print(result.status, [entry.call.name for entry in result.tool_history])


if __name__ == "__main__":
    bot.run()
