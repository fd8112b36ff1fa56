// Every character that came, shown or not; the hidden ones are dimmed and say why when pressed.

import { $, caretAt, h, hit, perFrame, plural, tabs, visible } from "./dom.js";
import { asFate, booksNow, shade } from "./books.js";
import { explainAt } from "./why.js";
import { on, state } from "./state.js";

const PAGE = 6000; // characters drawn at a time
const AGAIN_MS = 800; // how often a running stream is asked about

const LEGEND = [
  ["message", "shown"],
  ["thought", "thought"],
  ["details", "details"],
  ["suppressed", "left out"],
  ["held", "waiting"],
];

let books = null;
let part = 0;
let cursor = -1;
let tab = "tab-log";
let timer = 0;
const nodes = new WeakMap(); // text node to the position of its first character
const places = []; // [position, node, lengths] of what is drawn

export function begin() {
  $("legend").append(...LEGEND.map(([kind, words]) => h("span", { class: `key fate-${kind}` }, words)));
  tabs($("inspector-tabs"), (id) => {
    tab = id;
    refresh();
  });
  on("selected", () => {
    part = 0;
    cursor = -1;
    refresh();
  });
  on("happened", later);
  on("travelled", refresh);
  $("raw-prev").addEventListener("click", () => turn(part - 1));
  $("raw-next").addEventListener("click", () => turn(part + 1));
  $("raw").addEventListener("click", pressed);
  $("raw").addEventListener("keydown", keyed);
}

function later() {
  if (tab === "tab-log" || timer) return;
  timer = setTimeout(() => {
    timer = 0;
    refresh();
  }, AGAIN_MS);
}

async function refresh() {
  if (tab !== "tab-raw" && tab !== "tab-thoughts") return;
  try {
    books = await booksNow();
  } catch {
    books = null; // the stream is forgotten
  }
  draw();
}

function turn(to) {
  part = to;
  draw();
  $("raw").scrollTop = 0;
}

const draw = perFrame(() => {
  if (tab === "tab-thoughts") {
    drawHidden(books, state.travel);
    return;
  }
  const place = $("raw");
  places.length = 0;
  if (!books || !books.chars.length) {
    place.replaceChildren(h("p", { class: "quiet" }, "No characters have come yet."));
    $("raw-pages").hidden = true;
    return;
  }
  const size = books.chars.length;
  const parts = Math.ceil(size / PAGE);
  part = Math.min(Math.max(part, 0), parts - 1);
  const from = part * PAGE;
  const until = Math.min(from + PAGE, size);
  $("raw-pages").hidden = parts < 2;
  $("raw-prev").disabled = part === 0;
  $("raw-next").disabled = part === parts - 1;
  $("raw-where").textContent = `${from} to ${until} of ${plural(size, "character")}`;
  const step = state.travel ? state.travel.look.steps[state.travel.step] : null;
  const made = [];
  for (const run of books.fates) {
    if (run[1] <= from || run[0] >= until) continue;
    made.push(...spans(asFate(run), Math.max(run[0], from), Math.min(run[1], until), step));
  }
  place.replaceChildren(...made);
});

// A run is cut where the past ends: what had not come yet looks different.
function spans(fate, from, until, step) {
  if (step && from < step.read && step.read < until) {
    return [...spans(fate, from, step.read, step), ...spans({ ...fate, start: step.read }, step.read, until, step)];
  }
  const kind = shade({ ...fate, start: from }, step, books);
  const texts = books.chars.slice(from, until).map(visible);
  const node = document.createTextNode(texts.join(""));
  nodes.set(node, { from, lengths: texts.map((one) => one.length) });
  places.push([from, until, node]);
  const title = kind === "suppressed" ? fate.reason : kind;
  return [h("span", { class: `fate-${kind}`, "data-reason": fate.reason || null, title }, node)];
}

function pressed(event) {
  const caret = caretAt(event);
  const known = caret && nodes.get(caret.node);
  const position = known ? known.from + indexIn(known.lengths, hit(event, caret)) : startOf(event.target);
  if (position === null || !books) return;
  choose(position);
  explainAt(books, position, { x: event.clientX, y: event.clientY });
}

const startOf = (element) => {
  const node = element.closest("[class^=fate-]")?.firstChild;
  return node && nodes.has(node) ? nodes.get(node).from : null;
};

function indexIn(lengths, offset) {
  let n = 0;
  for (let left = offset; n < lengths.length - 1 && left >= lengths[n]; n++) left -= lengths[n];
  return n;
}

function choose(position) {
  cursor = position;
  const found = places.find(([from, until]) => position >= from && position < until);
  if (!found) return null;
  const { from, lengths } = nodes.get(found[2]);
  const offset = lengths.slice(0, position - from).reduce((sum, one) => sum + one, 0);
  getSelection().setBaseAndExtent(found[2], offset, found[2], offset + lengths[position - from]);
  const range = getSelection().getRangeAt(0).getBoundingClientRect();
  return { x: range.left, y: range.bottom };
}

function keyed(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 40, ArrowUp: -40 }[event.key];
  if (!books || (!step && event.key !== "Enter")) return;
  event.preventDefault();
  event.stopPropagation();
  const at = Math.min(Math.max(cursor + (step || 0), 0), books.chars.length - 1);
  if (Math.floor(at / PAGE) !== part) turn(Math.floor(at / PAGE));
  const point = choose(at);
  if (event.key === "Enter" && point) explainAt(books, at, point);
}

// What the channel does not show: thoughts, details, and how much was left out under which rule.

export function drawHidden(books, travel) {
  const place = $("thoughts");
  if (!books) {
    place.replaceChildren(h("p", { class: "quiet" }, "Nothing yet."));
    return;
  }
  const step = travel ? travel.look.steps[travel.step] : null;
  const blocks = step ? books.blocks.slice(0, step.blocks) : books.blocks;
  const shown = blocks.map((one, n) =>
    h("details", { class: `block is-${one.kind}`, open: n < 3 }, h("summary", {}, `${one.kind} · ${plural([...one.text].length, "character")}`), h("p", { dir: "auto" }, one.text.trim().slice(0, 20000))),
  );
  place.replaceChildren(
    ...(shown.length ? shown : [h("p", { class: "quiet" }, "No thoughts or details so far.")]),
    h("h3", {}, "Left out, by rule"),
    counts(books, step),
  );
}

function counts(books, step) {
  const found = new Map();
  for (const [start, end, , , kind, , , reason] of books.fates) {
    if (kind !== "suppressed" && kind !== "kept" && kind !== "unlisted") continue;
    const size = Math.min(end, step ? step.read : end) - start;
    if (size > 0) found.set(reason, (found.get(reason) || 0) + size);
  }
  if (!found.size) return h("p", { class: "quiet" }, "Nothing.");
  const rows = [...found].sort((a, b) => b[1] - a[1]);
  return h(
    "dl",
    { class: "rules" },
    ...rows.flatMap(([reason, count]) => [
      h("dt", {}, h("code", {}, reason), h("span", { class: "left" }, String(count))),
      h("dd", {}, state.about.reasons.hidden[reason] || ""),
    ]),
  );
}
