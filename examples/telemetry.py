"""Spans and metrics with OpenTelemetry (`pip install 'hikari-minamo[otel]' opentelemetry-sdk`).

Look at the console: a span `stream` for each reply, in it `chat <model>` and one `discord create`
for each message; and the metrics gen_ai.client.operation.duration,
gen_ai.client.operation.time_to_first_chunk, gen_ai.client.token.usage, minamo.stop.latency and
minamo.messages. No span holds text of a reply. For a collector, replace the two console exporters.
"""

import os

import hikari
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

import minamo

tracers = TracerProvider()
tracers.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
meters = MeterProvider([PeriodicExportingMetricReader(ConsoleMetricExporter())])

bot = hikari.GatewayBot(os.environ["DISCORD_TOKEN"], banner=None)
telemetry = minamo.OpenTelemetry(tracer_provider=tracers, meter_provider=meters)
client = minamo.Client(bot, telemetry=[telemetry])
llm = minamo.OpenAICompatible(
    os.environ["OPENAI_BASE_URL"],
    model=os.environ.get("MODEL", "any"),
    api_key=os.environ.get("OPENAI_API_KEY"),
)


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if event.is_human and event.content:
        await client.stream(event, llm.ask(event.content))


@bot.listen()
async def on_stopped(_: hikari.StoppedEvent) -> None:
    tracers.shutdown()  # sends what waits
    meters.shutdown()


if __name__ == "__main__":
    bot.run()
