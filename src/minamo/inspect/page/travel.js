// Step back and forth through a stream.  Every step was worked out at once, so each is a look-up.

import { $, h, plural, seconds, toast } from "./dom.js";
import { authorOf, avatar, namesNow } from "./channel.js";
import { light, lightNow, lightOthers } from "./chart.js";
import { asFate, opened, ordinal } from "./books.js";
import { emit, getJson, on, selected, state } from "./state.js";
import { markdown } from "./markdown.js";

const SCALE = 1000; // of the slider before it is known how many steps there are
const HELD_SHOWN = 4000;
const WAY_MAX = 60;
let looks = new Map(); // stream id to { lines, look }

export function begin() {
  $("first").addEventListener("click", () => go(() => 0));
  $("prev").addEventListener("click", () => go((step) => step - 1));
  $("next").addEventListener("click", () => go((step) => step + 1));
  $("last").addEventListener("click", () => go((_, last) => last));
  $("slider").addEventListener("input", () => {
    const share = Number($("slider").value) / Number($("slider").max || 1);
    go((_, last) => Math.round(share * last));
  });
  $("back-live").addEventListener("click", leave);
  document.addEventListener("keydown", keyed);
  on("hello", () => {
    // The streams of a bot that was started again have the same ids and are others.
    if (state.travel && !state.travel.file && state.travel.bot !== state.bot) leave();
    looks.clear();
  });
  on("link", () => state.travel || draw());
  on("selected", (stream) => {
    if (stream && state.travel && state.travel.id !== stream.id) leave();
    draw();
  });
  draw();
}

function keyed(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target.closest("input, textarea, select, [role=tablist], #raw, .messages, .picture:not(.fit)") && event.key !== "Escape") return;
  const moves = { ArrowLeft: (step) => step - 1, ArrowRight: (step) => step + 1, Home: () => 0, End: (_, last) => last };
  if (event.key === "Escape" && state.travel && !state.travel.file) leave();
  else if (moves[event.key]) go(moves[event.key]);
  else return;
  event.preventDefault();
}

// The look of the selected stream, asked for again when it has gone on.
async function lookNow() {
  const stream = selected();
  if (!stream) return null;
  const seen = stream.latest[stream.latest.length - 1]?.n ?? 0;
  const before = looks.get(stream.id);
  if (before && before.seen === seen) return before.look;
  const look = opened(await getJson(`/api/streams/${stream.id}/look`));
  looks = new Map([[stream.id, { seen, look }]]); // one is enough: they can be large
  return look;
}

let going = Promise.resolve();
function go(where) {
  going = going.then(async () => {
    try {
      if (!state.travel) {
        const look = await lookNow();
        if (!look) return;
        state.travel = { id: state.selected, bot: state.bot, look, step: look.steps.length - 1, file: null };
      }
      const last = state.travel.look.steps.length - 1;
      state.travel.step = Math.min(Math.max(where(state.travel.step, last), 0), last);
      draw();
    } catch (error) {
      toast(error.message);
    }
  });
  return going;
}

// Look at a trace from a file, from its end.
export function enter(name, look) {
  state.travel = { id: null, look: opened(look), step: look.steps.length - 1, file: name };
  draw();
}

export function leave() {
  state.travel = null;
  draw();
  lightNow();
  emit("travelled");
  emit("left");
}

function draw() {
  const { travel } = state;
  $("back").hidden = !travel;
  $("past").hidden = !travel;
  $("messages").hidden = Boolean(travel);
  document.documentElement.classList.toggle("travelling", Boolean(travel));
  if (!travel) {
    $("slider").max = SCALE;
    $("slider").value = SCALE;
    $("step").textContent = state.lost === null ? "live" : "not live";
    for (const id of ["first", "prev", "next", "last", "slider"]) $(id).disabled = !selected();
    return;
  }
  for (const id of ["first", "prev", "next", "last", "slider"]) $(id).disabled = false;
  const { look, step } = travel;
  const now = look.steps[step];
  const last = look.steps.length - 1;
  $("slider").max = last;
  $("slider").value = step;
  $("slider").setAttribute("aria-valuetext", `step ${step} of ${last}: ${now.event}, ${now.state}`);
  $("step").textContent = `${step} / ${last}`;
  $("back-words").textContent = `${travel.file ? `${travel.file}: ` : ""}step ${step} of ${last}, ${seconds(now.t)}, ${now.event.replaceAll("_", " ")}`;
  $("back-words").textContent += merged(travel, step === last);
  $("back-live").hidden = Boolean(travel.file) && !state.streams.size;
  light("stream", now.state, now.moves.map((move) => move[3]), wayTo(look, step));
  const stream = state.streams.get(travel.id);
  lightOthers(stream ? momentOf(stream, travel) : -Infinity, stream ? stream.channel : null);
  past(look, now, step, travel.file ? null : stream);
  emit("travelled");
}

// A replay has a lane that is always idle.  One that was behind sends the same text in fewer messages.
function merged({ id, look }, atEnd) {
  const sent = state.streams.get(id)?.messages;
  const differs = atEnd && sent !== undefined && state.streams.get(id).status && sent !== look.messages.length;
  if (!differs) return "";
  const grew = state.streams.get(id).receipts.some((one) => one.call === "edit");
  return ` · the channel has ${plural(sent, "message")}: ${grew ? "the reply grew in place" : "its lane was behind and merged some"}`;
}

// When a step was, on the clock of this page.  What the last step led to belongs to it.
export function momentOf(stream, { look, step }) {
  const over = step === look.steps.length - 1;
  return over ? Infinity : stream.began + look.steps[step].t * 1000;
}

// The states up to a step, repeats collapsed.  Worked out once for a look: [step, state].
function wayTo(look, step) {
  if (!look.way) {
    look.way = [[0, look.steps[0].state]];
    const put = (n, name) => look.way[look.way.length - 1][1] === name || look.way.push([n, name]);
    look.steps.forEach((one, n) => {
      for (const [, source, target] of one.moves) put(n, source), put(n, target);
      put(n, one.state);
    });
  }
  return look.way.filter(([n]) => n <= step).slice(-WAY_MAX).map(([, name]) => name);
}

function past(look, now, step, stream) {
  const author = authorOf(stream) || { name: "reply" };
  const items = look.messages.slice(0, now.messages).slice(-100).map((one, n) =>
    h("li", { class: `message${n ? " joined" : ""}`, "data-past": String(Math.max(now.messages - 100, 0) + n) },
      n ? h("span", { class: "gutter" }) : avatar(author),
      h("div", { class: "body" }, h("div", { class: "text", dir: "auto" }, markdown(one.text, namesNow())))),
  );
  const { waiting, open } = unsettled(look, now);
  if (open) items.push(ghost("is-thought", "in a block that is open: kept, never shown", open));
  if (waiting) items.push(ghost(now.state === "in_code" ? "is-held is-code" : "is-held", `${plural(now.buffered + now.undecided, "character")} held: ${now.undecided ? "a marker may be among them" : "no boundary yet"}`, waiting));
  const said = look.said?.[step - 1];
  if (said) items.push(ghost("is-chunk", `this step brought: ${now.event}`, said));
  if (!items.length) items.push(h("li", { class: "quiet" }, step ? "Nothing is shown at this step." : "The request is on its way."));
  $("past").replaceChildren(...items);
  $("past").scrollTop = $("past").scrollHeight;
}

const ghost = (kind, title, text) =>
  h("li", { class: `ghost ${kind}` }, h("b", {}, title), h("span", { dir: "auto" }, text.length > HELD_SHOWN ? `…${text.slice(-HELD_SHOWN)}` : text));

// What had been read and was in no place yet: in the buffer, or inside an open block.
function unsettled(look, now) {
  let waiting = "";
  let open = "";
  let left = now.buffered + now.undecided;
  for (let n = look.fates.length - 1; n >= 0; n--) {
    const fate = asFate(look.fates[n]);
    if (fate.start >= now.read) continue;
    const until = Math.min(fate.end, now.read);
    const block = fate.kind === "thought" || fate.kind === "details";
    if (block && ordinal(look, fate) >= now.blocks) open = look.chars.slice(fate.start, until).join("") + open;
    else if (left > 0 && !block && !(fate.kind === "message" && fate.index < now.messages)) {
      const from = Math.max(fate.start, until - left);
      waiting = look.chars.slice(from, until).join("") + waiting;
      left -= until - from;
    } else if (left <= 0) break;
  }
  return { waiting, open };
}
