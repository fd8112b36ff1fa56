// Two streams side by side, with what differs marked.

import { $, h, plural } from "./dom.js";
import { getJson, on, state } from "./state.js";
import { label } from "./traces.js";

const SHOWN_MAX = 4000; // characters of one message

export function begin() {
  on("streams", fill);
  on("loaded", fill);
  for (const id of ["compare-a", "compare-b"]) {
    $(id).addEventListener("change", () => {
      $(id).dataset.chosen = $(id).value; // else it moves on to the latest
      draw();
    });
  }
  $("tab-compare").addEventListener("click", draw);
  fill();
}

function fill() {
  const values = [...[...state.streams.values()].map((one) => [one.id, label(one)]), ...[...state.loaded.keys()].map((name) => [`file:${name}`, name])];
  for (const [id, back] of [["compare-a", 2], ["compare-b", 1]]) {
    const before = $(id).dataset.chosen;
    $(id).replaceChildren(...values.map(([value, words]) => h("option", { value }, words)));
    const kept = values.some(([value]) => value === before);
    $(id).value = kept && before ? before : values[Math.max(values.length - back, 0)]?.[0] || "";
  }
}

async function lookOf(value) {
  if (value.startsWith("file:")) return state.loaded.get(value.slice(5));
  return value ? getJson(`/api/streams/${encodeURIComponent(value)}/look`) : null;
}

async function draw() {
  const place = $("compared");
  let a, b;
  try {
    [a, b] = await Promise.all([lookOf($("compare-a").value), lookOf($("compare-b").value)]);
  } catch (error) {
    place.replaceChildren(h("p", { class: "quiet" }, error.message));
    return;
  }
  if (!a || !b) {
    place.replaceChildren(h("p", { class: "quiet" }, "Two streams are needed: write something, or load traces."));
    return;
  }
  const [x, y] = [a.summary, b.summary];
  place.replaceChildren(
    verdict(x, y),
    pair("status", [outcome(x)], [outcome(y)]),
    pair("states", [x.states.join(" › ")], [y.states.join(" › ")]),
    pair("messages", x.messages, y.messages),
    pair("thoughts", x.thoughts, y.thoughts),
    pair("details", x.details, y.details),
    pair("left out", tally(x.suppressed), tally(y.suppressed)),
    pair("added", tally(x.additions), tally(y.additions)),
  );
}

const outcome = (one) => one.status + (one.stop_reason ? ` (${one.stop_reason})` : "");
const tally = (counts) => Object.entries(counts).map(([name, count]) => `${name}: ${count}`);
const meaning = (text) => {
  const { hidden, added } = state.about.reasons;
  const name = text?.split(": ")[0];
  return hidden[name] || added[name] || null;
};

function verdict(x, y) {
  const parts = ["status", "stop_reason", "states", "messages", "thoughts", "details", "suppressed", "additions"];
  const differing = parts.filter((name) => JSON.stringify(x[name]) !== JSON.stringify(y[name]));
  const same = differing.length === 0;
  return h("p", { class: `same ${same ? "yes" : "no"}`, role: "status" }, same ? "The same in everything." : `${plural(differing.length, "difference")}: ${differing.join(", ").replaceAll("_", " ")}`);
}

function pair(title, a, b) {
  const rows = [];
  for (let n = 0; n < Math.max(a.length, b.length, 1); n++) {
    const [left, right] = marked(a[n], b[n]);
    for (const [side, text] of [[left, a[n]], [right, b[n]]]) if (meaning(text)) side.title = meaning(text);
    rows.push(h("div", { class: "sides" }, left, right));
  }
  return h("section", { class: "compare" }, h("h3", {}, title), ...rows);
}

// Two texts with what is not common to them marked: all between the first and last difference.
function marked(a, b) {
  if (a === undefined || b === undefined) return [a, b].map((one) => h("div", { class: one === undefined ? "none" : "differs", dir: "auto" }, one === undefined ? "–" : h("mark", {}, one.slice(0, SHOWN_MAX))));
  if (a === b) return [a, b].map((one) => h("div", { dir: "auto" }, one.slice(0, SHOWN_MAX)));
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return [a, b].map((one) =>
    h("div", { class: "differs", dir: "auto" }, one.slice(0, head).slice(-SHOWN_MAX), h("mark", {}, one.slice(head, one.length - tail).slice(0, SHOWN_MAX)), tail ? one.slice(-tail).slice(0, SHOWN_MAX) : ""),
  );
}
