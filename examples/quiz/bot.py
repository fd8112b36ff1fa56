"""A statechart of your own: a quiz in a channel, whose rules are in quiz.yaml.

Look at `Quiz`: it says *how* (each method is an action or a guard of the chart), and the chart
says *when*. `compile` refuses a chart with a misspelt name; `verify` finds states that nothing
reaches and events that a state neither handles nor ignores with a reason.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import hikari

from minamo.machine import Machine, compile, load, to_svg, verify

CHART = load(
    Path(__file__).with_name("quiz.yaml")
)  # a Path; a str is the name of a chart of minamo
assert verify(CHART) == []

QUESTION, ANSWER = "Which planet is the largest?", "jupiter"
HINTS = ["It has a red spot.", "It begins with J."]
SECONDS = 60


class Quiz:
    """The guards and actions of the chart; each gets the payload of the event."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self.say = say
        self.hints = list(HINTS)

    def right(self, payload: object) -> bool:
        return str(payload).strip().lower() == ANSWER

    def hint_left(self, _: object) -> bool:
        return bool(self.hints)

    def ask(self, _: object) -> None:
        self.say(QUESTION)

    def praise(self, _: object) -> None:
        self.say("Yes!")

    def console(self, _: object) -> None:
        self.say("No.")

    def give_hint(self, _: object) -> None:
        self.say(self.hints.pop(0))

    def refuse_hint(self, _: object) -> None:
        self.say("That was all I know.")

    def reveal(self, _: object) -> None:
        self.say(f"It is {ANSWER.title()}.")


TABLE = compile(CHART, Quiz)  # once; a machine then takes microseconds
bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None, intents=hikari.Intents.ALL)
quizzes: dict[int, Machine] = {}
tasks: set[asyncio.Task[None]] = set()


def begin(channel_id: int) -> None:
    """Start a quiz, send what it says in order, and end it when the time is over."""
    lines: asyncio.Queue[str] = asyncio.Queue()
    machine = quizzes[channel_id] = Machine(TABLE, Quiz(lines.put_nowait))

    async def send() -> None:
        while not (machine.ended and lines.empty()):
            await bot.rest.create_message(channel_id, await lines.get())
        del quizzes[channel_id]

    async def wait() -> None:
        await asyncio.sleep(SECONDS)
        machine.send("time_over")

    for work in (send(), wait()):
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if not (event.is_human and event.content):
        return
    machine = quizzes.get(event.channel_id)
    if machine is None:
        if event.content == "!quiz":
            begin(event.channel_id)
    elif event.content == "!hint":
        machine.send("hint_wanted")
    elif event.content == "!where":  # the picture of the chart, with the state of this quiz lit
        picture = hikari.Bytes(to_svg(CHART, lit=machine.state), "quiz.svg")
        await event.message.respond(attachment=picture)
    else:
        machine.send("answered", event.content)


if __name__ == "__main__":
    bot.run()
