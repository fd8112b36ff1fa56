// The charts, with the state that is active lit as it runs.

import { $, h, tabs } from "./dom.js";
import { getDocument, on, selected, state } from "./state.js";

// A state is lit at least so long, so that eyes can follow; a long queue is shown faster.
const DWELL_MS = 90;
const HURRY = 16; // more than this waiting: one per frame
const SKIP = 120; // more than this: only the latest

const SHAPES = [[1.1, "wide"], [0.85, "square"], [0, "tall"]]; // of panes: width to height
const LETTERS_MAX = 0.8; // of the size that a picture with names only is drawn in

const charts = new Map(); // name to { info, pictures, svg, lit, rows }
const queue = [];
let shown = "stream";
let busy = false;
let way = [];

export function begin() {
  const list = $("chart-tabs");
  const order = ["stream", "turn", "channel", "delivery", "edit", "interaction"];
  const found = [...state.about.charts].sort((a, b) => (order.indexOf(a.name) + 9) % 9 - ((order.indexOf(b.name) + 9) % 9));
  for (const info of found) {
    charts.set(info.name, { info, pictures: new Map(), svg: null, lit: null, rows: [] });
    const is = info.name === shown;
    list.append(h("button", { type: "button", role: "tab", id: `chart-${info.name}`, "aria-controls": "picture", "aria-selected": String(is), tabindex: is ? "0" : "-1" }, info.name));
  }
  tabs(list, (id) => show(id.slice("chart-".length)));
  $("fit").addEventListener("click", () => size("fit"));
  $("read").addEventListener("click", () => size("read"));
  new ResizeObserver(() => show(shown)).observe($("picture"));
  on("selected", () => {
    if (state.travel) return;
    lightNow();
    dwell(); // a state that is left at once was there all the same
  });
  on("happened", (one) => {
    if (one.kind === "moves" && !state.travel) queue.push(...one.moves);
    play();
  });
  on("chart", (one) => state.travel || light(one.chart, one.target, [one.row]));
  on("hello", () => state.travel || lightOthers());
}

// The charts beside the stream's: as they were at a moment of this page's clock, or are now.
// Without a channel (in a trace from a file) they are dark.
export function lightOthers(moment = Infinity, channel = undefined) {
  for (const name of charts.keys()) {
    if (name === "stream") continue;
    const known = (state.lit.get(name) || []).filter((one) => one.when <= moment && (moment === Infinity || one.channel === null || one.channel === channel));
    const last = channel === null ? null : known.pop();
    light(name, last?.target || null, last ? [last.row] : []);
  }
}

// A picture for the pane as it is: with every rule to read, or with names only, wide or tall.
function wanted() {
  const place = $("picture");
  if (!place.classList.contains("fit")) return "full";
  return SHAPES.find(([least]) => place.clientWidth >= place.clientHeight * least)[1];
}

async function picture(chart, size) {
  if (!chart.pictures.has(size)) {
    chart.pictures.set(size, getDocument(`/api/charts/${chart.info.name}.svg?size=${size}`).then((made) => {
      const svg = document.importNode(made.documentElement, true);
      if (size !== "full") svg.style.maxWidth = `${svg.viewBox.baseVal.width * LETTERS_MAX}px`;
      svg.removeAttribute("width");
      svg.removeAttribute("height");
      return svg;
    }));
  }
  try {
    return await chart.pictures.get(size);
  } catch (error) {
    chart.pictures.delete(size); // the next attempt may succeed
    throw error;
  }
}

async function show(name) {
  shown = name;
  const chart = charts.get(name);
  if (!chart) return;
  const size = wanted();
  try {
    const svg = await picture(chart, size);
    if (shown !== name || wanted() !== size) return; // another was chosen meanwhile
    if ($("picture").firstChild === svg) return;
    chart.svg = svg;
    $("picture").replaceChildren(svg);
    paint(chart);
  } catch {
    $("picture").replaceChildren(h("p", { class: "quiet" }, "The chart could not be fetched. Press its name to try again."));
  }
  $("picture").setAttribute("aria-label", `Chart of a ${name}`);
}

function size(how) {
  $("picture").classList.toggle("fit", how === "fit");
  $("fit").setAttribute("aria-pressed", String(how === "fit"));
  $("read").setAttribute("aria-pressed", String(how !== "fit"));
  show(shown);
}

// Where the picture is larger than its place, the lit state stays in sight.
function follow() {
  const place = $("picture");
  if (place.classList.contains("fit")) return;
  const lit = place.querySelector(".state.lit");
  if (!lit) return;
  const a = lit.getBoundingClientRect();
  const b = place.getBoundingClientRect();
  place.scrollBy({ left: a.left + a.width / 2 - b.left - b.width / 2, top: a.top + a.height / 2 - b.top - b.height / 2, behavior: "smooth" });
}

function play() {
  if (state.travel) queue.length = 0; // what was still to be shown is not of the step looked at
  if (busy || !queue.length) return;
  if (queue.length > SKIP) queue.splice(0, queue.length - HURRY).forEach(remember);
  const move = queue.shift();
  remember(move);
  light("stream", move[2], [move[3]]);
  dwell();
}

function dwell() {
  if (busy) return;
  busy = true;
  const next = () => {
    busy = false;
    play();
  };
  if (queue.length > HURRY && !document.hidden) requestAnimationFrame(next);
  else setTimeout(next, queue.length > HURRY ? 0 : DWELL_MS);
}

function remember(move) {
  if (way[way.length - 1] !== move[1]) way.push(move[1]);
  if (way[way.length - 1] !== move[2]) way.push(move[2]);
  if (way.length > 60) way.splice(0, 20);
}

// Light a leaf of a chart and the rows that led there.
export function light(name, leaf, rows, past = null) {
  const chart = charts.get(name);
  if (!chart) return;
  chart.lit = leaf;
  chart.rows = rows;
  if (past) way = past;
  if (name === shown && chart.svg) paint(chart);
  else if (name === "stream") words(chart);
  document.dispatchEvent(new CustomEvent("minamo:lit", { detail: { chart: name, state: leaf } }));
}

export const lightNow = () => {
  lightOthers();
  const stream = selected();
  queue.length = 0;
  way = [];
  if (stream) for (const one of stream.latest) if (one.kind === "moves") one.moves.forEach(remember);
  light("stream", stream ? stream.state : null, []);
};

function paint(chart) {
  for (const old of chart.svg.querySelectorAll(".lit, .lit-path")) {
    if (old.classList.contains("lit") && old.classList.contains("state")) fade(old);
    old.classList.remove("lit", "lit-path");
  }
  let id = chart.lit;
  let depth = 0;
  while (id) {
    chart.svg.querySelector(`#state-${CSS.escape(id)}`)?.classList.add(depth++ ? "lit-path" : "lit");
    id = chart.info.states[id]?.parent;
  }
  for (const row of chart.rows) {
    for (const found of chart.svg.querySelectorAll(`[data-rows~="${Number(row)}"]`)) found.classList.add("lit");
  }
  words(chart);
  follow();
}

function fade(element) {
  element.classList.add("was-lit");
  setTimeout(() => element.classList.remove("was-lit"), 700);
}

function words(chart) {
  if (chart.info.name !== shown) return;
  const leaf = chart.lit;
  const none = state.streams.size || state.travel ? "not lit here" : "no stream yet";
  $("now-state").textContent = leaf || (chart.info.name === "stream" ? none : state.travel ? `no ${chart.info.name} at this step` : `no ${chart.info.name} seen yet`);
  $("now-state").dataset.state = leaf || "";
  const row = chart.info.rows[chart.rows[chart.rows.length - 1]];
  $("now-by").textContent = row && leaf ? row.by : "";
  $("now-about").textContent = leaf ? chart.info.states[leaf]?.about || "" : "";
  const steps = chart.info.name === "stream" ? way.slice(-14) : [];
  $("way").replaceChildren(...steps.map((one, n) => h("span", { class: n === steps.length - 1 ? "at" : null }, one)));
}

export const rowOf = (name, index) => charts.get(name)?.info.rows[index];
