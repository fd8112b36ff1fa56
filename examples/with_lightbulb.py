"""A slash command with lightbulb, which needs hikari 2.6.

Look at the registry: lightbulb hands a registered value to every command that asks for its type.
"""

import os

import hikari
import lightbulb

import minamo

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
framework = lightbulb.client_from_app(bot)
bot.subscribe(hikari.StartingEvent, framework.start)
framework.di.registry_for(lightbulb.di.Contexts.DEFAULT).register_value(
    minamo.Client, minamo.Client(bot, stop_command="stop")
)
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)


@framework.register
class Ask(lightbulb.SlashCommand, name="ask", description="Ask the model"):
    question = lightbulb.string("question", "What to ask")

    @lightbulb.invoke
    async def invoke(self, ctx: lightbulb.Context, client: minamo.Client) -> None:
        await client.stream(ctx, llm.ask(self.question))


if __name__ == "__main__":
    bot.run()
