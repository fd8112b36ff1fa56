// What happened, line by line; only the latest are kept.

import { $, h } from "./dom.js";
import { rowOf } from "./chart.js";
import { did, numberOf, on, selected, state } from "./state.js";

const LINES_MAX = 300;
const NEAR_PX = 60;
const PART = 50; // steps of a file: those around the one that is looked at are listed

const STOPS = { user: "stop", follow_up: "follow-up", kill: "kill" };

let waiting = [];
let listed = null; // of a file: from which step
let look = null; // and the file's

export function begin() {
  on("selected", again);
  on("happened", (one) => look || waiting.push(one));
  on("frame", draw);
  on("travelled", () => {
    const { travel } = state;
    const part = travel?.file ? Math.floor(travel.step / PART) * PART : null;
    const other = travel?.file ? travel.look : null;
    if (part !== listed || other !== look) {
      [listed, look] = [part, other];
      again();
    }
    dim();
  });
}

function again() {
  $("log").replaceChildren();
  if (look) waiting = ofFile(look, listed);
  else waiting = selected()?.latest.slice(-LINES_MAX) || [];
  draw();
}

// A file has steps; each becomes what a live stream would have told.
function ofFile({ steps, said }, middle) {
  const from = Math.max(middle - PART, 1);
  return steps.slice(from, middle + 2 * PART).flatMap((step, n) => {
    const { t, event, moves } = step;
    const size = step.read - steps[from + n - 1].read;
    const brought = { kind: "event", n: from + n, event, type: size ? "text" : "chunk", t, text: said[from + n - 1] || "", size };
    return moves.length ? [brought, { kind: "moves", n: from + n, moves, t }] : [brought];
  });
}

// Looking back, what came later is dimmed, and the latest before it is in sight.
function dim() {
  const { travel } = state;
  const now = travel && travel.id === state.selected ? travel.look.steps[travel.step].t : Infinity;
  let last = null;
  for (const one of $("log").children) {
    const later = travel?.file ? Number(one.dataset.n) > travel.step : Number(one.dataset.t) > now;
    one.classList.toggle("later", later);
    if (!later) last = one;
  }
  // Not `scrollIntoView`, which on a small screen would move the whole page.
  if (last) $("log").scrollTop = last.offsetTop - $("log").offsetTop - $("log").clientHeight / (travel ? 2 : 1) + last.offsetHeight;
}

function draw() {
  if (!waiting.length) return;
  const list = $("log");
  const follows = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_PX;
  const most = look ? Infinity : LINES_MAX;
  for (const one of waiting.slice(-most)) {
    for (const made of line(one)) {
      made.dataset.n = one.n;
      list.append(made);
    }
  }
  waiting = [];
  if (state.travel) dim();
  while (list.childElementCount > most) list.firstElementChild.remove();
  if (follows) list.scrollTop = list.scrollHeight;
}

const row = (kind, t, word, text, ...more) =>
  h("li", { class: `line ${kind}`, "data-t": t }, h("time", {}, t.toFixed(2)), h("b", {}, word), h("span", { dir: "auto" }, text), ...more.filter(Boolean).map((one) => h("i", {}, one)));

function line(one) {
  if (one.kind === "moves") {
    return one.moves.map(([event, source, target, index]) => {
      const known = rowOf("stream", index);
      const made = row("move", one.t, event || "at once", source === target ? source : `→ ${target}`);
      made.title = `${source} → ${target}${known?.about ? `: ${known.about}` : ""}`;
      return made;
    });
  }
  if (one.kind === "receipt") {
    const why = one.reason ? ` (${one.reason})` : "";
    const which = numberOf(selected(), one.message) + 1;
    return [row(`receipt is-${one.outcome}`, one.t, did(one), `message ${which || one.index + 1}${why}`, null, String(one.characters))];
  }
  if (one.kind === "lane") return [];
  if (one.kind === "ended") return [row(`ended is-${one.status}`, one.t, one.status || "ended", one.stop_reason || "")];
  if (one.event === "chunk") {
    const thoughts = one.thoughts ? ` + ${one.thoughts} of thought` : "";
    return [row("chunk", one.t, one.type === "text" ? "chunk" : one.type, one.text ? JSON.stringify(one.text).slice(1, -1) : "", null, one.type === "text" ? `${one.size}${thoughts}` : "")];
  }
  return [row(STOPS[one.event] ? "stop" : "note", one.t, STOPS[one.event] || one.event.replaceAll("_", " "), one.text || "")];
}
