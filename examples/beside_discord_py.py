"""minamo beside a bot that is written with discord.py.

Look at `setup_hook`: minamo speaks through a REST client of hikari, which needs no gateway. Targets
are ids of channels. Close both when the bot closes, so that replies in progress end in order.
"""

import os

import discord
import hikari

import minamo

app = hikari.RESTApp()
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)


class Bot(discord.Client):
    async def setup_hook(self) -> None:
        await app.start()
        self.rest = app.acquire(os.environ["DISCORD_TOKEN"], "Bot")
        self.rest.start()
        self.minamo = minamo.Client(self.rest)

    async def on_message(self, message: discord.Message) -> None:
        if self.user in message.mentions and not message.author.bot:
            await self.minamo.stream(message.channel.id, llm.ask(message.content))

    async def close(self) -> None:
        await self.minamo.close()
        await self.rest.close()
        await app.close()
        await llm.close()
        await super().close()


bot = Bot(intents=discord.Intents.default())

if __name__ == "__main__":
    bot.run(os.environ["DISCORD_TOKEN"])
