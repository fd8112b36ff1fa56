// Press a character: why is it shown, or not?

import { $, caretAt, countBefore, h, hit, nameOf } from "./dom.js";
import { booksOf, fateAt } from "./books.js";
import { messageOf } from "./channel.js";
import { originOf } from "./inline.js";
import { grows, numberOf, state } from "./state.js";

const VERDICT = { message: "Shown", thought: "Not shown", details: "Not shown", suppressed: "Not shown", kept: "Not shown", unlisted: "Not shown", held: "Not yet", future: "Not yet", added: "Added" };
let back = null;

export function begin() {
  $("messages").addEventListener("click", pressed);
  $("past").addEventListener("click", pressed);
  document.addEventListener("pointerdown", (event) => {
    if (!$("why").hidden && !$("why").contains(event.target)) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !$("why").hidden) {
      event.stopPropagation();
      close(true);
    }
  }, true);
}

function close(restore = false) {
  $("why").hidden = true;
  if (restore && back) back.focus();
  back = null;
}

function open(point, ...children) {
  const place = $("why");
  if (place.hidden) back = document.activeElement;
  place.replaceChildren(h("button", { type: "button", class: "shut", "aria-label": "Close", onclick: () => close(true) }, "×"), ...children);
  place.hidden = false;
  const { width, height } = place.getBoundingClientRect();
  const left = Math.min(Math.max(point.x - 24, 8), innerWidth - width - 8);
  const below = point.y + 14;
  place.style.left = `${left}px`;
  place.style.top = `${below + height > innerHeight - 8 ? Math.max(point.y - height - 14, 8) : below}px`;
}

function sentence(fate, future, growing) {
  const { places, hidden } = state.about.reasons;
  if (future) return places.future;
  if (fate.kind === "held" && growing) return places.growing;
  if (fate.kind === "held" && /^in_(think|details)$/.test(fate.state)) return places.open;
  return places[fate.kind] || hidden[fate.reason] || `Left out under the rule ${fate.reason}.`;
}

function where(books, fate) {
  if (fate.kind === "message") {
    const receipt = state.streams.get(books.stream)?.receipts.find((one) => one.call === "create" && one.index === fate.index);
    const sent = receipt && receipt.outcome !== "delivered" ? ` (${receipt.outcome.replace("_", " ")}${receipt.reason ? `: ${receipt.reason}` : ""})` : "";
    return `message ${fate.index + 1}, character ${fate.offset + 1}${sent}`;
  }
  if (fate.kind === "thought" || fate.kind === "details") return `${fate.kind} ${fate.index + 1}, character ${fate.offset + 1}`;
  return fate.kind === "held" ? "the buffer" : "nowhere";
}

// Say why of the character at `position` of what came.
export function explainAt(books, position, point) {
  const fate = fateAt(books, position);
  if (!fate) return;
  const step = state.travel && state.travel.look === books ? books.steps[state.travel.step] : null;
  const future = step !== null && position >= step.read;
  const growing = !state.travel && state.streams.has(books.stream) && grows(state.streams.get(books.stream));
  const about = state.about.charts.find((one) => one.name === "stream")?.states[fate.state]?.about;
  open(
    point,
    h("p", { class: "who" }, h("b", { class: "char" }, nameOf(books.chars[position]))),
    h("p", { class: `verdict fate-${future ? "future" : fate.kind}` }, future ? VERDICT.future : VERDICT[fate.kind]),
    h("p", { class: "because" }, sentence(fate, future, growing)),
    h(
      "dl",
      {},
      ...(fate.reason ? [h("dt", {}, "rule"), h("dd", {}, h("code", {}, fate.reason))] : []),
      h("dt", {}, "place"), h("dd", {}, growing && fate.kind === "held" ? "a message that grows" : where(books, fate)),
      h("dt", {}, "chunk"), h("dd", {}, `${fate.chunk + 1}, character ${position + 1} of the stream`),
      h("dt", {}, "read in"), h("dd", { title: about || null }, h("code", {}, fate.state || "–")),
    ),
  );
}

function explainAdded(character, reason, point) {
  open(
    point,
    h("p", { class: "who" }, h("b", { class: "char" }, nameOf(character))),
    h("p", { class: "verdict fate-added" }, VERDICT.added),
    h("p", { class: "because" }, `The model did not write this. ${state.about.reasons.added[reason] || ""}`),
    h("dl", {}, h("dt", {}, "rule"), h("dd", {}, h("code", {}, reason))),
  );
}

// Which stream a message belongs to, and as which of its messages.
function homeOf(message) {
  for (const stream of state.streams.values()) {
    if (stream.receipts.some((one) => one.message === message.id)) return { stream, index: numberOf(stream, message.id) };
  }
  return null;
}

async function pressed(event) {
  if (event.defaultPrevented || event.target.closest("a, button, .md-spoiler:not(.open)")) return;
  if (!getSelection().isCollapsed) return; // text is being selected
  const caret = caretAt(event);
  const origin = caret && originOf(caret.node);
  if (origin === undefined || origin === null) return;
  const point = { x: event.clientX, y: event.clientY };
  const offset = origin + hit(event, caret);
  const past = event.target.closest("[data-past]");
  if (past) {
    tell(state.travel.look, Number(past.dataset.past), state.travel.look.messages[Number(past.dataset.past)].text, offset, point);
    return;
  }
  const message = messageOf(event.target);
  if (!message) return;
  const home = homeOf(message);
  if (!home) {
    const words = message.author.app ? "No recorded stream sent this message." : `${message.author.name} wrote this.`;
    open(point, h("p", { class: "verdict fate-message" }, "Shown"), h("p", { class: "because" }, words));
    return;
  }
  const books = await booksOf(home.stream);
  if (grows(home.stream) && !books.messages.length) {
    open(point, h("p", { class: "verdict fate-held" }, "Not final"), h("p", { class: "because" }, "This reply grows in place. Which characters stay is known when it ends; ask then."));
    return;
  }
  tell(books, home.index, message.text, offset, point);
}

function tell(books, index, text, offset, point) {
  const message = books.messages[index];
  if (!message || message.text !== text) {
    open(point, h("p", { class: "because" }, "This message was changed after it was sent, so its characters cannot be followed."));
    return;
  }
  const at = countBefore(text, offset);
  const run = message.runs.find(([from, size]) => at >= from && at < from + size);
  if (!run) return;
  if (run[2] < 0) explainAdded([...text][at], run[3], point);
  else explainAt(books, run[2] + at - run[0], point);
}
