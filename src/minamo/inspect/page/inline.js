// What stands inside a line of Discord's markdown; the formatting nests.  Every text node remembers
// where in the message it came from, so that a press can be followed back to what the model wrote.

import { h } from "./dom.js";

export const DEPTH_MAX = 12; // deeper than this only long runs of markers go
const origins = new WeakMap();
export const originOf = (node) => origins.get(node);

const MARKS = [
  ["***", ["strong", "em"]],
  ["**", ["strong"]],
  ["__", ["u"]],
  ["~~", ["s"]],
  ["||", ["spoiler"]],
  ["*", ["em"]],
  ["_", ["em"]],
];
const TOKEN = /<(?:(@!?|@&|#)(\d+)|(a?:\w+:)(\d+)|t:(-?\d+)(?::([tTdDfFRsS]))?|\/([^:>]+):(\d+)|id:(\w+)|(https?:\/\/[^\s<>]+))>/y;
const URL = /https?:\/\/[^\s<]+[^\s<.,:;"')\]!?*_~|]/y;
const LINK = /\[([^\[\]\n]+)\]\(<?(https?:\/\/[^\s()<>]+)>?(?: "[^"\n]*")?\)/y;

export function put(to, page, start, end) {
  if (start >= end) return;
  const node = document.createTextNode(page.text.slice(start, end));
  origins.set(node, start);
  to.append(node);
}

export const at = (regex, text, index) => {
  regex.lastIndex = index;
  return regex.exec(text);
};

export function inline(page, start, end, to, depth) {
  const { text } = page;
  const missing = new Set(); // marks that have no end in here: looked for once
  let plain = start;
  let here = start;
  const flush = () => put(to, page, plain, here);
  while (here < end) {
    const sign = text[here];
    let made = null;
    let next = here;
    if (sign === "\\" && here + 1 < end && /[\\`*_~|<>[\]()#+\-.!:@]/.test(text[here + 1])) {
      flush();
      plain = here + 1;
      here += 2;
      continue;
    }
    if (sign === "`") [made, next] = span(page, here, end);
    else if (sign === "<") [made, next] = token(page, here, end);
    else if (sign === "[") [made, next] = masked(page, here, end, depth);
    else if (sign === "h" && text.startsWith("http", here)) [made, next] = address(page, here, end);
    else if ("*_~|".includes(sign) && depth < DEPTH_MAX) [made, next] = marked(page, here, end, depth, missing);
    if (made) {
      flush();
      to.append(made);
      here = plain = next;
    } else {
      here = Math.max(next, here + 1);
    }
  }
  here = end;
  flush();
}

function span(page, start, end) {
  let size = 1;
  while (start + size < end && page.text[start + size] === "`" && size < 2) size++;
  const mark = "`".repeat(size);
  const close = page.text.indexOf(mark, start + size);
  if (close < 0 || close + size > end || close === start + size) return [null, start + size];
  const made = h("code", { class: "md-code" });
  put(made, page, start + size, close);
  return [made, close + size];
}

function token(page, start, end) {
  const found = at(TOKEN, page.text, start);
  if (!found || start + found[0].length > end) return [null, start];
  const [, who, id, emoji, , time, style, command, , guild, url] = found;
  let made;
  if (who === "#") made = h("span", { class: "md-mention" }, `#${page.names[id] || "channel"}`);
  else if (who) made = h("span", { class: "md-mention" }, `@${page.names[id] || (who === "@&" ? "role" : "someone")}`);
  else if (emoji) made = h("span", { class: "md-emoji", title: emoji }, emoji.replace(/^a/, ""));
  else if (time) made = h("time", { class: "md-time", title: moment(Number(time), "F") }, moment(Number(time), style || "f"));
  else if (command) made = h("span", { class: "md-mention" }, `/${command}`);
  else if (guild) made = h("span", { class: "md-mention" }, guild);
  else made = link(url, url);
  origins.set(made.firstChild, start);
  return [made, start + found[0].length];
}

// A text in one line without its formatting, for a reply's little preview.
export const plain = (text, names) =>
  text
    .replace(/<(@!?|@&|#)(\d+)>/g, (_, who, id) => (who === "#" ? "#" : "@") + (names[id] || "someone"))
    .replace(/<a?(:\w+:)\d+>/g, "$1")
    .replace(/```[\w+#.-]*\n?|\*\*|__|~~|\|\||`/g, "")
    .replace(/\s+/g, " ");

function moment(stamp, style) {
  const when = new Date(stamp * 1000);
  if (Number.isNaN(when.getTime())) return "invalid date";
  if (style === "R") {
    const left = stamp - Date.now() / 1000;
    const [size, unit] = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]].find(([s]) => Math.abs(left) >= s) || [1, "second"];
    return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(Math.round(left / size), unit);
  }
  const forms = { t: { timeStyle: "short" }, T: { timeStyle: "medium" }, d: { dateStyle: "short" }, D: { dateStyle: "long" }, F: { dateStyle: "full", timeStyle: "short" } };
  return when.toLocaleString(undefined, forms[style] || { dateStyle: "long", timeStyle: "short" });
}

const link = (url, ...children) =>
  h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow", title: url }, ...children);

function masked(page, start, end, depth) {
  const found = at(LINK, page.text, start);
  if (!found || start + found[0].length > end) return [null, start];
  const made = link(found[2]);
  inline(page, start + 1, start + 1 + found[1].length, made, depth + 1);
  return [made, start + found[0].length];
}

function address(page, start, end) {
  const found = at(URL, page.text, start);
  if (!found || start + found[0].length > end) return [null, start];
  const made = link(found[0]);
  put(made, page, start, start + found[0].length);
  return [made, start + found[0].length];
}

function marked(page, start, end, depth, missing) {
  const { text } = page;
  for (const [mark, tags] of MARKS) {
    if (!text.startsWith(mark, start) || missing.has(mark)) continue;
    const body = start + mark.length;
    // A word_with_underscores is no emphasis, and neither is "2 * 3".
    if (mark.length === 1 && (/\s/.test(text[body] || " ") || (mark === "_" && /\w/.test(text[start - 1] || "")))) continue;
    const close = closing(text, mark, body, end);
    if (close < 0) {
      missing.add(mark);
      continue;
    }
    if (close === body) continue;
    return [dress(page, tags, body, close, depth), close + mark.length];
  }
  return [null, start + 1];
}

function closing(text, mark, from, end) {
  for (let here = from; here <= end - mark.length; here++) {
    here = text.indexOf(mark, here);
    if (here < 0 || here > end - mark.length) return -1;
    if (text[here - 1] === "\\") continue;
    if (mark.length === 1) {
      if (text[here + 1] === mark || text[here - 1] === mark) {
        while (text[here + 1] === mark) here++;
        continue;
      }
      if (mark === "_" && /\w/.test(text[here + 1] || "")) continue;
      if (/\s/.test(text[here - 1])) continue;
    } else {
      // Of "***" the last two close.
      while (text.startsWith(mark, here + 1) && here + 1 + mark.length <= end) here++;
    }
    return here;
  }
  return -1;
}

function dress(page, tags, start, end, depth) {
  if (tags[0] === "spoiler") {
    const made = h("span", { class: "md-spoiler", role: "button", tabindex: "0", "aria-label": "Spoiler, press to reveal" });
    inline(page, start, end, made, depth + 1);
    return made;
  }
  const outer = h(tags[0]);
  const inner = tags[1] ? h(tags[1]) : outer;
  if (tags[1]) outer.append(inner);
  inline(page, start, end, inner, depth + 1);
  return outer;
}
