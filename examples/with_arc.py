"""A slash command with arc.

Look at `Client.from_arc`: the client is injected into commands by its type, and a context is a
target like a message. The command is deferred for you; a long answer continues in follow-ups.
"""

import os
from typing import Annotated

import arc
import hikari

import minamo

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
framework = arc.GatewayClient(bot)
minamo.Client.from_arc(framework, stop_command="stop")
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)


@framework.include
@arc.slash_command("ask", "Ask the model")
async def ask(
    ctx: arc.GatewayContext,
    question: Annotated[str, arc.StrParams("What to ask")],  # arc.Option[…], as mypy reads it
    client: minamo.Client = arc.inject(),
) -> None:
    await client.stream(ctx, llm.ask(question))


if __name__ == "__main__":
    bot.run()
