"""A slash command with crescent.

Look at the model: crescent hands it to every command, so the client and the provider live there.
"""

import os
from dataclasses import dataclass

import crescent
import hikari

import minamo


@dataclass
class Model:
    """What the commands share."""

    client: minamo.Client
    llm: minamo.OpenAICompatible


bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
model = Model(
    minamo.Client(bot, stop_command="stop"),
    minamo.OpenAICompatible(
        os.environ["OPENAI_BASE_URL"],
        model=os.environ.get("MODEL", "any"),
        api_key=os.environ.get("OPENAI_API_KEY"),
    ),
)
framework = crescent.Client(bot, model)


@framework.include
@crescent.command(name="ask", description="Ask the model")
class Ask:
    question = crescent.option(str, "What to ask")

    async def callback(self, ctx: crescent.Context) -> None:
        await model.client.stream(ctx, model.llm.ask(self.question))


if __name__ == "__main__":
    bot.run()
