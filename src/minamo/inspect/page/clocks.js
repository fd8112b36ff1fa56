// The clocks that run down, and the lane with what it holds.

import { $, h, plural, seconds } from "./dom.js";
import { did, on, selected, state } from "./state.js";

const HELD_MAX = 8000; // a lane takes no more; then the provider has to wait
const NAMES = { first_token: "first token", inactivity: "between chunks", deadline: "whole reply" };
const bars = {};

// A trace from a file has neither clocks that run nor a lane.
const looked = () => (state.travel?.file ? null : selected());

export function begin() {
  for (const [name, title] of Object.entries(NAMES)) {
    const bar = h("span", { class: "bar-fill" });
    const left = h("span", { class: "left" }, "–");
    $("clocks").append(h("dt", {}, title), h("dd", { id: `clock-${name}` }, h("span", { class: "track", "aria-hidden": "true" }, bar), left));
    bars[name] = { bar, left };
  }
  on("selected", draw);
  on("travelled", draw);
  on("happened", (one) => {
    if (one.kind === "lane" || one.kind === "receipt" || one.kind === "ended") lane();
  });
  setInterval(draw, 100);
  lane();
}

/** Whether the leaf of the stream's chart is the state, or a descendant of it. */
function isIn(leaf, ancestor) {
  const states = state.about.charts.find((one) => one.name === "stream")?.states || {};
  for (let id = leaf; id; id = states[id]?.parent) if (id === ancestor) return true;
  return false;
}

function draw() {
  const stream = looked();
  if (stream !== draw.last) lane();
  draw.last = stream;
  // In closing, the stream no longer waits for the provider, and only such waits are timed.
  const over = !stream || stream.ended_at !== null || stream.status !== null || isIn(stream.state, "closing");
  const at = stream && (over ? stream.ended_at ?? 0 : stream.paused_at ?? (performance.now() - stream.began) / 1000);
  const heard = stream?.heard_at ?? null;
  clock("first_token", stream, heard === null && !over, at, stream?.first_at ?? null);
  clock("inactivity", stream, heard !== null && !over, heard === null ? 0 : at - heard);
  clock("deadline", stream, !over, at);
}

function clock(name, stream, runs, used, ended = null) {
  const { bar, left } = bars[name];
  const all = stream?.clocks[name] ?? 0;
  const rest = Math.max(all - Math.max(used ?? 0, 0), 0);
  const share = runs && all ? rest / all : 0;
  bar.style.transform = `scaleX(${share.toFixed(4)})`;
  bar.classList.toggle("low", runs && share < 0.25);
  let words = "–";
  if (runs) words = seconds(rest);
  else if (name === "first_token" && ended !== null) words = `came after ${seconds(ended)}`;
  else if (stream && name === "deadline" && stream.ended_at !== null) words = `took ${seconds(stream.ended_at)}`;
  if (left.textContent !== words) left.textContent = words;
}

function lane() {
  const stream = looked();
  const place = $("lane");
  if (!stream) {
    place.replaceChildren(h("p", { class: "quiet" }, "Nothing on its way."));
    return;
  }
  const { held = 0, waiting = 0 } = stream.lane || {};
  const fill = h("span", { class: "bar-fill" });
  fill.style.transform = `scaleX(${Math.min(held / HELD_MAX, 1).toFixed(4)})`;
  const counts = {};
  for (const one of stream.receipts) {
    const name = did(one);
    counts[name] = (counts[name] || 0) + 1;
  }
  place.replaceChildren(
    h("p", { class: "held" }, h("span", { class: "track", "aria-hidden": "true" }, fill), h("span", { class: "left" }, `${plural(held, "character")} held`)),
    h("p", { class: "quiet" }, waiting ? `${waiting} not fitted yet` : held ? "waiting for its turn" : "idle"),
    h(
      "ol",
      { class: "receipts", "aria-label": "Receipts" },
      ...stream.receipts.slice(-24).map((one) =>
        h("li", { class: `is-${did(one).replace(" ", "_")}`, title: `${did(one)}${one.reason ? ` (${one.reason})` : ""}, ${one.characters} characters, ${seconds(one.took)}` }, h("span", { class: "sr" }, did(one))),
      ),
    ),
    h("p", { class: "quiet" }, Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(", ") || "no receipts yet"),
  );
}

