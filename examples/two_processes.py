"""One bot in two processes: a stop reaches the process that writes, and a channel has one reply.

Start it twice with the same REDIS_URL. Look at `/stop` and the Stop button: the press may arrive
at the other process. Look at the lease: both processes hear a message, and one answers.
"""

import os

import hikari

import minamo

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
client = minamo.Client(
    bot,
    stops=minamo.RedisStops(os.environ["REDIS_URL"], prefix="mybot"),
    lease=minamo.RedisLease(os.environ["REDIS_URL"], prefix="mybot"),
    policy="ignore",  # the process that comes second says nothing
    stop_command="stop",
)
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if not (event.is_human and event.content):
        return
    if event.content == "!stop":  # as the button does; asker= leaves the replies to others alone
        user = event.author_id
        await client.request_stop(channel_id=event.channel_id, requester=user, asker=user)
    else:
        result = await client.stream(event, llm.ask(event.content), button=True)
        print(result.status, result.stop_reason, flush=True)


if __name__ == "__main__":
    bot.run()
