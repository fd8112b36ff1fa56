"""A bot without a gateway: Discord calls it by HTTP (`pip install 'hikari[server]'`).

Look at `replies`: Discord waits three seconds for the answer to the request, so the request is
answered at once and the reply is streamed in a task of its own.
"""

import asyncio
import os

import hikari

import minamo

bot = hikari.RESTBot(os.environ["DISCORD_TOKEN"], "Bot", banner=None)
client = minamo.Client(bot)
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)
replies: set[asyncio.Task[minamo.StreamResult]] = set()  # asyncio itself keeps no task alive


async def on_command(
    interaction: hikari.CommandInteraction,
) -> hikari.api.InteractionDeferredBuilder:
    question = str(interaction.options[0].value) if interaction.options else "Hello!"
    reply = asyncio.create_task(client.stream(interaction, llm.ask(question), button=True))
    replies.add(reply)
    reply.add_done_callback(replies.discard)
    return interaction.build_deferred_response()


bot.set_listener(hikari.CommandInteraction, on_command)

if __name__ == "__main__":
    bot.run(host="127.0.0.1", port=8080)
