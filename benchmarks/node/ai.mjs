// The AI SDK: streamText with each provider, its reasoning middleware, and its abort.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { extractReasoningMiddleware, streamText } from "ai";
import { different, serve, sleep } from "./worker.mjs";

function model(url, dialect) {
  if (dialect === "anthropic") return createAnthropic({ baseURL: `${url}/v1`, apiKey: "k" })("m");
  if (dialect === "google")
    return createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: "k" })("m");
  return createOpenAICompatible({ name: "local", baseURL: `${url}/v1` })("m");
}

async function ingest({ url, dialect }) {
  const parts = [];
  for await (const text of streamText({ model: model(url, dialect), prompt: "Hi" }).textStream)
    parts.push(text);
  return parts.join("");
}

async function concurrent({ url, dialect, streams }) {
  const late = [];
  const before = process.memoryUsage().rss;
  let most = before;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    late.push(Math.max(0, (now - last - 5) / 1e3));
    last = now;
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  const texts = await Promise.all(Array.from({ length: streams }, () => ingest({ url, dialect })));
  clearInterval(timer);
  return { texts: [...new Set(texts)].sort(), late_s: late, grown_bytes: most - before };
}

async function hidden(chunks) {
  const middleware = extractReasoningMiddleware({ tagName: "think" });
  const stream = new ReadableStream({
    start(out) {
      out.enqueue({ type: "text-start", id: "1" });
      for (const chunk of chunks) out.enqueue({ type: "text-delta", id: "1", delta: chunk });
      out.enqueue({ type: "text-end", id: "1" });
      out.close();
    },
  });
  const made = await middleware.wrapStream({ doStream: async () => ({ stream }) });
  let text = "";
  for await (const part of made.stream) if (part.type === "text-delta") text += part.delta;
  return text;
}

const visible = ({ text, cuts }) => different(text, cuts, hidden);

async function stop({ url, dialect, after }) {
  const abort = new AbortController();
  const heard = [];
  let silent;
  const waiting = new Promise((done) => (silent = done));
  const reading = (async () => {
    const { textStream } = streamText({
      model: model(url, dialect), prompt: "Hi", abortSignal: abort.signal,
    });
    for await (const text of textStream) {
      heard.push(text);
      if (heard.length >= after) silent();
    }
  })().catch(() => {});
  await waiting;
  await sleep(20);
  const began = performance.now();
  abort.abort();
  await reading;
  return { took_s: (performance.now() - began) / 1e3, kept: heard.length };
}

async function stall({ url, dialect, timeout_ms }) {
  const heard = [];
  let last = performance.now();
  try {
    const { textStream } = streamText({
      model: model(url, dialect), prompt: "Hi", timeout: { chunkMs: timeout_ms },
    });
    for await (const text of textStream) {
      heard.push(text);
      last = performance.now();
    }
  } catch {
    // That it ends is what is measured.
  }
  return { took_s: (performance.now() - last) / 1e3, kept: heard.length > 0 };
}

serve({ ingest, concurrent, visible, stop, stall });
