// The Chat SDK with its Discord adapter, and remend, which its renderer uses.
import { createDiscordAdapter } from "@chat-adapter/discord";
import { StreamingMarkdownRenderer, ThreadImpl } from "chat";
import remend from "remend";
import { serve, tokens } from "./worker.mjs";

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

function adapter(place) {
  return createDiscordAdapter({
    botToken: place?.token ?? "t",
    applicationId: "1",
    publicKey: "0".repeat(64),
    apiUrl: place?.url,
    logger: quiet,
  });
}

// What the adapter would post, for each text.
function split({ texts }) {
  const discord = adapter();
  return texts.map((text) => [
    discord.truncateContent(discord.formatConverter.renderPostable({ markdown: text })),
  ]);
}

// The renderer is asked after every chunk, as the AI SDK's healing loop does.
function pipeline({ chunks, peer }) {
  if (peer === "remend") {
    let text = "";
    let healed = "";
    for (const chunk of chunks) {
      text += chunk;
      healed = remend(text);
    }
    return [healed];
  }
  const renderer = new StreamingMarkdownRenderer();
  for (const chunk of chunks) {
    renderer.push(chunk);
    renderer.render();
  }
  renderer.finish();
  return split({ texts: [renderer.getText()] })[0];
}

async function live({ place, text, rate, begin }) {
  const thread = new ThreadImpl({
    id: `discord:${place.guild}:${place.channel}`,
    adapter: adapter(place),
    stateAdapter: { get: async () => null, set: async () => {} },
    channelId: place.channel,
    isDM: false,
    logger: quiet,
  });
  await thread.post(tokens(text, rate, begin));
}

const connect = () => null;

serve({ split, pipeline, connect, live });
