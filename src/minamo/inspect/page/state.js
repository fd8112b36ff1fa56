// What the page knows, who wants to hear when it changes, and the talk with the server.

const LATEST_MAX = 400; // happenings kept per stream
const STREAMS_MAX = 64; // a page may stay open for days

export const state = {
  about: null, // charts, reasons, prompts
  streams: new Map(), // by id, in order
  loaded: new Map(), // traces from files, by name
  selected: null, // the stream that is looked at
  following: true, // move on to each new stream
  travel: null, // { look, step } while looking back
  lit: new Map(), // chart to the states it was in, in order: { channel, target, row, when }
  bot: null, // which run of the bot this is; its stream ids begin anew with each
  lost: null, // when the connection was lost
};

const listeners = new Map();
export const on = (name, listener) => listeners.set(name, [...(listeners.get(name) || []), listener]);
export const emit = (name, data) => (listeners.get(name) || []).forEach((listener) => listener(data));

// What a receipt says: a message that arrived, or one that was there and changed.
const DONE = { edit: "changed", delete: "removed" };
export const did = (receipt) => (receipt.outcome === "delivered" && DONE[receipt.call]) || receipt.outcome.replaceAll("_", " ");

// Which of the stream's messages an id is.  Where some were changed or removed, the calls have
// numbers too, and only those messages count that stand.
export function numberOf(stream, id) {
  const found = stream.receipts.find((one) => one.message === id);
  if (!found || !stream.receipts.some((one) => one.call !== "create")) return found ? found.index : -1;
  const stand = [];
  for (const { call, outcome, message } of stream.receipts) {
    if (outcome !== "delivered") continue;
    if (call === "create") stand.push(message);
    else if (call === "delete" && stand.includes(message)) stand.splice(stand.indexOf(message), 1);
  }
  return stand.indexOf(id);
}

// A reply that grows in place: the channel shows text that is not final.
export const grows = (stream) => stream.status === null && stream.receipts.some((one) => one.call === "edit");

export const selected = () => state.streams.get(state.selected) || null;
// A channel has one stream at a time, so an older one that never ended was given up.
export const running = () => {
  if (state.lost !== null) return false;
  const latest = new Map([...state.streams.values()].map((one) => [one.channel, one]));
  return [...latest.values()].some((one) => one.status === null && one.ended_at === null);
};

export function select(id, { follow = false } = {}) {
  state.following = follow;
  state.selected = id;
  emit("selected", selected());
}

function keep(stream) {
  // Ages come from the server's clock; from here on ours is as good.
  stream.began = performance.now() - stream.age * 1000;
  state.streams.set(stream.id, stream);
  if (state.streams.size > STREAMS_MAX) state.streams.delete([...state.streams.keys()].find((id) => id !== state.selected));
}

const streamTook = {
  event(stream, one) {
    if (one.event === "chunk") {
      stream.heard_at = one.t;
      stream.first_at ??= one.t;
    }
    if (one.event === "full") stream.paused_at = one.t;
    if (one.event === "room") {
      if (stream.heard_at !== null && stream.paused_at !== null) stream.heard_at += one.t - stream.paused_at;
      stream.paused_at = null;
    }
  },
  moves(stream, one) {
    stream.state = one.moves[one.moves.length - 1][2];
  },
  receipt(stream, one) {
    stream.receipts.push(one);
  },
  lane(stream, one) {
    stream.lane = one;
  },
  ended(stream, one) {
    Object.assign(stream, one, { kind: undefined, ended_at: one.t, status: one.status || "cancelled" });
  },
};

const LIT_MAX = 400; // per chart

// Remember in which state a chart was, and since when on the clock of this page.
function remember({ chart, channel, target, row, age }) {
  const known = state.lit.get(chart) || [];
  known.push({ channel, target, row, when: performance.now() - age * 1000 });
  if (known.length > LIT_MAX) known.splice(0, LIT_MAX / 4);
  state.lit.set(chart, known);
}

export function take(one) {
  if (one.kind === "hello") {
    if (state.bot !== one.bot) state.selected = null;
    state.bot = one.bot;
    state.lit.clear();
    one.lit.forEach(remember);
    state.streams.clear();
    one.streams.forEach(keep);
    if (!state.streams.has(state.selected)) state.selected = [...state.streams.keys()].pop() || null;
    emit("hello", one);
    emit("streams");
    emit("selected", selected());
  } else if (one.kind === "opened") {
    keep(one);
    emit("streams");
    if (state.following || state.selected === null) select(one.id, { follow: true });
    emit("running");
  } else if (streamTook[one.kind]) {
    const stream = state.streams.get(one.stream);
    if (!stream) return;
    streamTook[one.kind](stream, one);
    stream.latest.push(one);
    if (stream.latest.length > LATEST_MAX) stream.latest.splice(0, LATEST_MAX / 4);
    if (stream.id === state.selected) emit("happened", one);
    if (one.kind === "ended") {
      emit("streams");
      emit("ended", stream);
      emit("running");
    }
  } else {
    if (one.kind === "chart") remember(one);
    emit(one.kind, one);
  }
}

// Talk to the server: read, ask, and hear what happens.

const GONE = "The bot cannot be reached: its program has ended, or the network is down.";

async function answered(path, how) {
  let response;
  try {
    response = await fetch(path, how);
  } catch {
    throw new Error(GONE);
  }
  if (response.ok) return response;
  let words = `the server answered ${response.status}`;
  try {
    words = (await response.json()).error || words;
  } catch {
    // no JSON, then the number must do
  }
  throw new Error(words);
}

export const getJson = async (path) => (await answered(path)).json();

export const postJson = async (path, body = {}) =>
  (await answered(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

export const postText = async (path, text) => (await answered(path, { method: "POST", body: text })).json();

// A picture comes as a document, not as text: there is no moment at which text becomes markup.
export const getDocument = (path) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", path);
    request.responseType = "document";
    request.onload = () => (request.responseXML ? resolve(request.responseXML) : reject(new Error(path)));
    request.onerror = () => reject(new Error(path));
    request.send();
  });

const RETRY_MS = 2000;

// `heard` gets lists of happenings, `linked` whether the connection stands: "open", "gone" while
// it is tried again, or "refused" if the server is another one, which does not know this page.
export function listen(heard, linked) {
  let source = null;
  const connect = () => {
    source = new EventSource("/api/live");
    source.onmessage = (event) => heard(JSON.parse(event.data));
    source.onopen = () => linked("open");
    source.onerror = async () => {
      // The browser's own attempts are seconds apart, and end for good at the first refusal.
      source.close();
      linked(await refused() ? "refused" : "gone");
      if (!document.documentElement.dataset.left) setTimeout(connect, RETRY_MS);
    };
  };
  addEventListener("pagehide", () => {
    document.documentElement.dataset.left = "yes";
    source.close();
  });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    delete document.documentElement.dataset.left;
    connect();
  });
  connect();
}

async function refused() {
  try {
    return (await fetch("/api/about")).status === 403;
  } catch {
    return false; // no server answers
  }
}
