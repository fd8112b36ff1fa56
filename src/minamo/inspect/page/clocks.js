// The clocks that run down, and the lane with what it holds.

import { $, h, plural, seconds } from "./dom.js";
import { did, on, selected, state } from "./state.js";

const HELD_MAX = 8000; // a lane takes no more; then the provider has to wait
const NAMES = { first_token: "first token", inactivity: "between chunks", deadline: "whole reply" };
const HELD = `Characters that the reply has handed over and Discord has not confirmed. At ${HELD_MAX} the model has to wait, and its clocks are paused.`;
const RECEIPTS = "A receipt says what became of one message: delivered, refused, not sent, or unknown.";
const bars = {};

// What is timed: the selected stream as it is now, or as it was at the step that is looked at.
// A trace from a file has clocks, and no lane.
function looked() {
  const { travel } = state;
  const stream = travel?.file ? null : selected();
  if (!travel) return stream;
  const { look, step } = travel;
  const chunks = look.steps.slice(0, step + 1).filter((one) => one.event === "chunk");
  const last = step === look.steps.length - 1;
  const now = look.steps[step];
  const over = now.state === look.summary.status;
  return {
    clocks: look.clocks,
    state: now.state,
    status: over ? now.state : null,
    at: now.t,
    ended_at: over ? stream?.ended_at ?? now.t : null,
    first_at: chunks[0]?.t ?? null,
    heard_at: chunks[chunks.length - 1]?.t ?? null,
    paused_at: null,
    // What the last step led to belongs to it.
    receipts: (stream?.receipts || []).filter((one) => last || one.t <= now.t),
    lane: stream && (last ? stream.lane : stream.latest.filter((one) => one.kind === "lane" && one.t <= now.t).pop()),
    file: travel.file,
  };
}

export function begin() {
  for (const [name, title] of Object.entries(NAMES)) {
    const bar = h("span", { class: "bar-fill" });
    const left = h("span", { class: "left" }, "–");
    $("clocks").append(h("dt", {}, title), h("dd", { id: `clock-${name}` }, h("span", { class: "track", "aria-hidden": "true" }, bar), left));
    bars[name] = { bar, left };
  }
  on("selected", draw);
  on("travelled", () => {
    draw();
    lane();
  });
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
  if (selected() !== draw.last) lane();
  draw.last = selected();
  const stream = looked();
  // In closing, the stream no longer waits for the provider, and only such waits are timed.
  const over = !stream || stream.ended_at !== null || stream.status !== null || isIn(stream.state, "closing");
  const at = stream && (over ? stream.ended_at ?? 0 : stream.at ?? stream.paused_at ?? ((state.lost ?? performance.now()) - stream.began) / 1000);
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
  if (!stream || stream.file) {
    place.replaceChildren(h("p", { class: "quiet" }, stream ? "A file has no lane: its replay sends at once." : "Nothing on its way."));
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
    h("p", { class: "held" }, h("span", { class: "track", "aria-hidden": "true" }, fill), h("abbr", { class: "left", title: HELD }, `${plural(held, "character")} held`)),
    h("p", { class: "quiet" }, waiting ? `${waiting} not fitted yet` : held ? "waiting for its turn" : "idle"),
    h(
      "ol",
      { class: "receipts", "aria-label": "Receipts" },
      ...stream.receipts.slice(-24).map((one) =>
        h("li", { class: `is-${did(one).replace(" ", "_")}`, title: `${did(one)}${one.reason ? ` (${one.reason})` : ""}, ${one.characters} characters, ${seconds(one.took)}` }, h("span", { class: "sr" }, did(one))),
      ),
    ),
    h("p", { class: "quiet" }, h("abbr", { title: RECEIPTS }, Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(", ") || "no receipts yet")),
  );
}

