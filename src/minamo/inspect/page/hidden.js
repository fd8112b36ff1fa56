// What the channel does not show: thoughts, details, and how much was left out under which rule.

import { $, h, plural } from "./dom.js";
import { state } from "./state.js";

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
