"""A slash command with tanjun.

Look at `Client.from_tanjun`: it makes the client and injects it into commands by its type.
tanjun 2.17 cannot declare commands with hikari 2.7: use hikari 2.6, or declare them once yourself.
"""

import os

import hikari
import tanjun

import minamo

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
framework = tanjun.Client.from_gateway_bot(
    bot, declare_global_commands=hikari.__version__.startswith("2.6.")
)
minamo.Client.from_tanjun(framework, bot)
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)
component = tanjun.Component()


@component.with_command
@tanjun.with_str_slash_option("question", "What to ask")
@tanjun.as_slash_command("ask", "Ask the model")
async def ask(
    ctx: tanjun.abc.SlashContext,
    question: str,
    client: minamo.Client = tanjun.injected(type=minamo.Client),
) -> None:
    await client.stream(ctx, llm.ask(question))


framework.add_component(component)

if __name__ == "__main__":
    bot.run()
