// What the page knows, and who wants to hear when it changes.

const LATEST_MAX = 400; // happenings kept per stream
const STREAMS_MAX = 64; // a page may stay open for days

export const state = {
  about: null, // charts, reasons, prompts
  streams: new Map(), // by id, in order
  loaded: new Map(), // traces from files, by name
  selected: null, // the stream that is looked at
  following: true, // move on to each new stream
  travel: null, // { look, step } while looking back
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

export function take(one) {
  if (one.kind === "hello") {
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
    emit(one.kind, one);
  }
}
