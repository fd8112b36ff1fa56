// The channel as Discord would show it.

import { $, h, perFrame, plural, toast } from "./dom.js";
import { plain } from "./inline.js";
import { markdown } from "./markdown.js";
import { on, postJson, select, state } from "./state.js";

const GROUP_MS = 7 * 60 * 1000; // so long messages of one author stand together
const NEAR_PX = 80; // nearer to the end than this, the view follows it
const SHOWN_MAX = 200;

const messages = new Map(); // by id, in order
const elements = new Map();
const changed = new Set();
const typing = new Map(); // author id to [name, until]
const known = new Set(); // channels to choose from
let names = {};
let current = null;

export const namesNow = () => names;

export function begin() {
  on("hello", hello);
  on("message", put);
  on("people", (one) => Object.assign(names, one.names));
  on("deleted", ({ id }) => {
    messages.delete(id);
    redraw();
  });
  on("typing", ({ channel, author, for_s }) => {
    if (channel === current) typing.set(author.id, [author.name, performance.now() + for_s * 1000]);
    drawTyping();
  });
  on("ended", () => redraw());
  on("selected", (stream) => {
    if (stream?.channel_name) names[stream.channel] = stream.channel_name;
    if (stream && stream.channel !== current) show(stream.channel);
  });
  $("channels").addEventListener("change", (event) => show(event.target.value));
  $("messages").addEventListener("click", pressed);
  for (const place of [$("messages"), $("past")]) {
    place.addEventListener("click", reveal);
    place.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") reveal(event);
    });
  }
  setInterval(drawTyping, 500);
  on("link", drawTyping);
  // Where the list gets smaller or larger, its end stays in sight if it was.
  const list = $("messages");
  let atEnd = true;
  list.addEventListener("scroll", () => {
    atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_PX;
  });
  new ResizeObserver(() => {
    if (atEnd) list.scrollTop = list.scrollHeight;
  }).observe(list);
}

// Who sent a stream's messages, where one of them is known.
export function authorOf(stream) {
  const sent = stream?.receipts.find((one) => messages.has(one.message));
  return sent ? messages.get(sent.message).author : null;
}

export const messageOf = (element) => messages.get(element.closest("[data-message]")?.dataset.message);

function hello(one) {
  names = { ...one.channels, ...one.people };
  messages.clear();
  elements.clear();
  $("messages").replaceChildren();
  known.clear();
  $("channels").replaceChildren();
  // A bot may be in thousands of channels; those count in which something happens.
  for (const { channel, channel_name } of [...one.messages, ...one.streams]) {
    if (channel_name) names[channel] = channel_name;
    know(channel);
  }
  if (!known.size) Object.keys(one.channels).slice(0, 1).forEach(know);
  for (const message of one.messages) messages.set(message.id, message);
  show(known.has(current) ? current : [...known][0] || null);
}

function know(channel) {
  if (known.has(channel)) return;
  known.add(channel);
  $("channels").append(h("option", { value: channel }, `# ${names[channel] || channel}`));
  $("channels").hidden = known.size < 2;
}

function show(channel) {
  if (channel) know(channel);
  current = channel;
  $("channels").value = channel || "";
  $("channel-title").textContent = names[channel] || channel || "channel";
  redraw();
}

function put(message) {
  if (message.channel_name) names[message.channel] = message.channel_name;
  know(message.channel);
  if (current === null) show(message.channel);
  messages.set(message.id, message);
  if (messages.size > SHOWN_MAX * 4) messages.delete(messages.keys().next().value);
  typing.delete(message.author.id.split("/")[0]);
  changed.add(message.id);
  draw();
  drawTyping();
}

const redraw = () => {
  elements.clear();
  $("messages").replaceChildren();
  for (const id of messages.keys()) changed.add(id);
  draw();
};

const draw = perFrame(() => {
  const list = $("messages");
  const follows = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_PX;
  const here = [...messages.values()].filter((one) => one.channel === current).slice(-SHOWN_MAX);
  const before = new Map(here.map((one, n) => [one.id, here[n - 1]]));
  for (const one of here) {
    if (!changed.has(one.id)) continue;
    const made = element(one, before.get(one.id));
    const old = elements.get(one.id);
    if (old) old.replaceWith(made);
    else list.append(made);
    elements.set(one.id, made);
  }
  changed.clear();
  for (const [id, old] of elements) {
    if (before.has(id)) continue;
    old.remove();
    elements.delete(id);
  }
  outcomes(list);
  list.classList.toggle("empty", here.length === 0);
  if (follows) list.scrollTop = list.scrollHeight;
});

function element(message, before) {
  const joins = before && before.author.id === message.author.id && !message.reply_to && Date.parse(message.at) - Date.parse(before.at) < GROUP_MS;
  const body = h("div", { class: "body" });
  if (!joins) body.append(byline(message));
  body.append(text(message));
  for (const one of message.embeds) body.append(embed(one));
  for (const one of message.files) body.append(h("p", { class: "attachment" }, `${one.name} · ${one.size} bytes`));
  if (message.buttons.length) body.append(buttons(message));
  return h(
    "li",
    { class: `message${joins ? " joined" : ""}`, "data-message": message.id },
    message.reply_to ? reply(message.reply_to) : null,
    joins ? h("span", { class: "gutter", "aria-hidden": "true" }, clock(message.at)) : avatar(message.author),
    body,
  );
}

// Twelve colours, chosen by the name: the same person always looks the same.
const colourOf = (name) => [...name].reduce((sum, one) => (sum * 31 + one.codePointAt(0)) % 9973, 7) % 12;

export function avatar(author) {
  const initials = author.name.split(/[\s_-]+/u).map((word) => [...word][0] || "").join("").slice(0, 2).toUpperCase();
  return h("span", { class: `avatar tint-${colourOf(author.name)}`, "aria-hidden": "true" }, initials || "?");
}

function byline(message) {
  return h(
    "p",
    { class: "byline" },
    h("strong", { class: `name ink-${colourOf(message.author.name)}` }, message.author.name),
    message.author.app ? h("span", { class: "app", title: "An app, not a person" }, "APP") : null,
    h("time", { datetime: message.at }, clock(message.at)),
  );
}

const clock = (at) => {
  const when = new Date(at);
  return Number.isNaN(when.getTime()) ? "" : when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
};

function text(message) {
  const made = h("div", { class: "text", dir: "auto" }, markdown(message.text, names));
  if (message.edited) made.append(h("span", { class: "edited" }, "(edited)"));
  return made;
}

function reply(id) {
  const to = messages.get(id);
  const words = to ? plain(to.text, names).slice(0, 120) : "a message that is gone";
  return h("p", { class: "reply" }, to ? avatar(to.author) : null, to ? h("strong", {}, to.author.name) : null, h("span", { dir: "auto" }, words));
}

function embed(one) {
  const made = h(
    "div",
    { class: "embed" },
    one.author ? h("p", { class: "embed-author" }, one.author) : null,
    one.title ? h("p", { class: "embed-title" }, markdown(one.title, names)) : null,
    one.description ? h("div", { class: "text", dir: "auto" }, markdown(one.description, names)) : null,
    ...(one.fields || []).map((field) => h("div", { class: "embed-field" }, h("strong", {}, field.name), h("div", { class: "text" }, markdown(field.value, names)))),
    one.footer ? h("p", { class: "embed-footer" }, one.footer) : null,
  );
  if (Number.isInteger(one.colour)) made.style.borderInlineStartColor = `#${one.colour.toString(16).padStart(6, "0")}`;
  return made;
}

function buttons(message) {
  const may = state.about.may_act;
  return h(
    "div",
    { class: "buttons" },
    ...message.buttons.map((one) =>
      h("button", { type: "button", class: `button style-${one.style}`, "data-button": one.id, disabled: one.disabled || !may || !one.id }, one.label || "button"),
    ),
  );
}

async function pressed(event) {
  const button = event.target.closest("[data-button]");
  if (!button) return;
  button.disabled = true;
  try {
    await postJson("/api/press", { message: messageOf(button).id, button: button.dataset.button });
  } catch (error) {
    toast(error.message);
    button.disabled = false;
  }
}

function reveal(event) {
  const spoiler = event.target.closest(".md-spoiler:not(.open)");
  if (!spoiler) return;
  event.preventDefault();
  event.stopPropagation();
  spoiler.classList.add("open");
  spoiler.removeAttribute("role");
  spoiler.removeAttribute("aria-label");
}

// A line where a reply ended, which says how; pressing it looks at that stream.
function outcomes(list) {
  list.querySelectorAll(".outcome").forEach((one) => one.remove());
  for (const stream of state.streams.values()) {
    if (stream.status === null || stream.channel !== current) continue;
    const last = stream.receipts.filter((one) => one.message && elements.has(one.message)).pop();
    const hidden = Object.values(stream.suppressed || {}).reduce((sum, count) => sum + count, 0);
    const line = h(
      "li",
      { class: `outcome is-${stream.status}` },
      // The list of streams does the same by keyboard, without a stop at every reply.
      h("button", { type: "button", tabindex: "-1", onclick: () => select(stream.id), title: "Look at this stream" },
        h("span", { class: "pill" }, stream.status.replaceAll("_", " ")),
        ` ${plural(stream.messages, "message")}${hidden ? ` · ${plural(hidden, "character")} left out` : ""}`),
    );
    const before = last ? elements.get(last.message) : lastBefore(stream.wall * 1000);
    if (before) before.after(line);
    else list.prepend(line);
  }
}

// A reply of which nothing was shown stands behind the message that was the latest when it began.
function lastBefore(time) {
  let found = null;
  for (const [id, element] of elements) if (Date.parse(messages.get(id)?.at) <= time) found = element;
  return found;
}

function drawTyping() {
  const now = performance.now();
  for (const [id, [, until]] of typing) if (until < now) typing.delete(id);
  const who = state.lost === null ? [...typing.values()].map(([name]) => name) : [];
  const words = who.length > 2 ? "Several people are typing" : `${who.join(" and ")} ${who.length > 1 ? "are" : "is"} typing`;
  const place = $("typing");
  const line = who.length ? words : "";
  if (place.dataset.words === line) return;
  place.dataset.words = line;
  place.replaceChildren(...(who.length ? [h("span", { class: "wave", "aria-hidden": "true" }, h("i"), h("i"), h("i")), line] : []));
}
