"""Two personas that answer in turn, each with a name of its own.

Look at `scene=True`: without it, the reply of a persona begins with a line that links to the
message it answers (`-# ↪ …`), because a webhook cannot reply; in a scene no reply has one.
The bot needs the permission *Manage Webhooks*; without it, it speaks under its own name.
"""

import os

import hikari

import minamo

CAST = {
    minamo.Persona("Mira"): "You are Mira, an optimist. One sentence.",
    minamo.Persona("Orlo"): "You are Orlo, a pessimist. One sentence.",
}

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
client = minamo.Client(bot, policy="queue")
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if not (event.is_human and event.content):
        return
    said: list[minamo.ChatMessage] = [minamo.user(event.content)]
    for persona, prompt in CAST.items():
        asked = llm.chat([minamo.system(prompt), *said])
        result = await client.stream(event, asked, persona=persona, scene=True)
        said.append(minamo.user(result.accumulated_text or "…", name=persona.name))


if __name__ == "__main__":
    bot.run()
