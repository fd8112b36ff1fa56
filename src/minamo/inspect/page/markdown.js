// Discord's markdown as elements.  Every text node remembers where in the message it came from,
// so that a click can be followed back to the character that the model wrote.

import { h } from "./dom.js";
import { highlight } from "./highlight.js";

const DEPTH_MAX = 12; // deeper than this only long runs of markers go
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
const FENCE = /```(?:([\w+#.-]{1,32})\n)?\n?([^]*?)```/y;

export function markdown(text, names = {}) {
  const out = document.createDocumentFragment();
  blocks({ text, names }, 0, text.length, out, 0);
  return out;
}

function put(to, page, start, end) {
  if (start >= end) return;
  const node = document.createTextNode(page.text.slice(start, end));
  origins.set(node, start);
  to.append(node);
}

const at = (regex, text, index) => {
  regex.lastIndex = index;
  return regex.exec(text);
};

// Lines that mean something as a whole: fences, headings, quotes, lists.
function blocks(page, start, end, to, depth) {
  let from = start; // of the lines that are plain
  let here = start;
  const flush = (until) => {
    inline(page, from, until, to, depth);
  };
  while (here < end) {
    const fence = page.text.startsWith("```", here) ? at(FENCE, page.text, here) : null;
    if (fence && here + fence[0].length <= end && fence[2].trim()) {
      flush(page.text[here - 1] === "\n" ? here - 1 : here);
      here = code(page, fence, here, to);
      if (page.text[here] === "\n") here++;
      from = here;
      continue;
    }
    const atLine = here === start || page.text[here - 1] === "\n";
    const stop = lineEnd(page.text, here, end);
    const special = atLine && depth < DEPTH_MAX ? line(page, here, stop, end) : null;
    if (special) {
      flush(Math.max(from, here - 1));
      special.draw(to, depth);
      here = Math.min(special.end + 1, end);
      from = here;
      continue;
    }
    const next = page.text.indexOf("```", here + 1);
    here = next >= 0 && next < stop ? next : stop + 1;
  }
  flush(end);
}

const lineEnd = (text, from, end) => {
  const found = text.indexOf("\n", from);
  return found < 0 || found > end ? end : found;
};

function line(page, start, stop, end) {
  const text = page.text.slice(start, stop);
  const heading = /^(#{1,3}) +(?=\S)/.exec(text);
  if (heading) {
    const body = start + heading[0].length;
    const level = heading[1].length + 2; // below the headings of the page itself
    return { end: stop, draw: (to, depth) => to.append(inside(`h${level}`, page, body, stop, depth, "md-h" + heading[1].length)) };
  }
  if (/^-# +\S/.test(text)) {
    return { end: stop, draw: (to, depth) => to.append(inside("small", page, start + 3, stop, depth, "md-sub")) };
  }
  if (text.startsWith(">>> ")) {
    return {
      end,
      draw: (to, depth) => {
        const quote = h("blockquote");
        blocks(page, start + 4, end, quote, depth + 1);
        to.append(quote);
      },
    };
  }
  if (/^> /.test(text) || text === ">") return quoted(page, start, stop, end);
  if (/^ {0,6}(?:[-*]|\d{1,4}\.) +\S/.test(text)) return listed(page, start, stop, end);
  return null;
}

function quoted(page, start, stop, end) {
  const lines = [];
  let from = start;
  let until = stop;
  for (;;) {
    lines.push([from, until]);
    if (until >= end || !page.text.startsWith("> ", until + 1)) break;
    from = until + 1;
    until = lineEnd(page.text, from, end);
  }
  return {
    end: until,
    draw: (to, depth) => {
      const quote = h("blockquote");
      lines.forEach(([a, b], n) => {
        if (n) quote.append(h("br"));
        inline(page, Math.min(a + 2, b), b, quote, depth + 1);
      });
      to.append(quote);
    },
  };
}

function listed(page, start, stop, end) {
  const items = [];
  const item = /^( {0,6})([-*]|\d{1,4}\.) +(?=\S)/;
  const ordered = /\d/.test(item.exec(page.text.slice(start, stop))[2]);
  let from = start;
  let until = stop;
  for (;;) {
    const found = item.exec(page.text.slice(from, until));
    items.push([from + found[0].length, until, found[1].length >= 2, found[2]]);
    if (until >= end) break;
    const next = lineEnd(page.text, until + 1, end);
    const after = item.exec(page.text.slice(until + 1, next));
    if (!after || /\d/.test(after[2]) !== ordered) break;
    from = until + 1;
    until = next;
  }
  return {
    end: until,
    draw: (to, depth) => {
      const first = parseInt(items[0][3], 10);
      const list = h(ordered ? "ol" : "ul", ordered && first > 1 ? { start: String(first) } : {});
      for (const [a, b, nested] of items) {
        const made = h("li", { class: nested ? "nested" : null });
        inline(page, a, b, made, depth + 1);
        list.append(made);
      }
      to.append(list);
    },
  };
}

function inside(tag, page, start, end, depth, name) {
  const made = h(tag, { class: name });
  inline(page, start, end, made, depth + 1);
  return made;
}

function code(page, fence, start, to) {
  const language = fence[1] || "";
  const body = start + fence[0].length - 3 - fence[2].length;
  const made = h("code", { "data-language": language || null });
  let from = body;
  for (const [kind, part] of highlight(fence[2].replace(/\n$/, ""), language)) {
    const home = kind ? h("span", { class: `tok-${kind}` }) : made;
    put(home, page, from, from + part.length);
    if (kind) made.append(home);
    from += part.length;
  }
  to.append(h("pre", { tabindex: "0" }, made));
  return start + fence[0].length;
}

// What stands inside a line; the formatting nests.
function inline(page, start, end, to, depth) {
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
