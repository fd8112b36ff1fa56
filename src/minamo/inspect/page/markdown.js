// Discord's markdown as elements: the lines that mean something as a whole.

import { h } from "./dom.js";
import { at, DEPTH_MAX, inline, put } from "./inline.js";

const FENCE = /```(?:([\w+#.-]{1,32})\n)?\n?([^]*?)```/y;

export function markdown(text, names = {}) {
  const out = document.createDocumentFragment();
  blocks({ text, names }, 0, text.length, out, 0);
  return out;
}

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
  to.append(h("pre", {}, made));
  return start + fence[0].length;
}

// Colour code a little, whatever the language: comments, strings, numbers, words of the language.

const WORDS = new Set(
  ("abstract and as assert async await bool boolean break case catch char class const continue def default defer del do double elif else end enum " +
    "except export extends extern false final finally float fn for from func function global go goto if impl implements import in " +
    "instanceof int interface is lambda let local long loop match mod module mut namespace new nil none nonlocal not null nullptr " +
    "of or override package pass private protected pub public raise readonly ref return self short static str string struct super " +
    "switch template then this throw throws trait true try type typedef typeof undefined union unless unsafe unsigned until use " +
    "using val var virtual void when where while with yield True False None Self select insert update delete create table values " +
    "into join left right inner group order by having limit set echo fi done esac SELECT FROM WHERE INSERT UPDATE DELETE CREATE " +
    "TABLE VALUES INTO JOIN GROUP ORDER BY LIMIT SET AND OR NOT NULL AS ON").split(" "),
);
const HASH = new Set("py python rb ruby sh bash zsh shell yaml yml toml r perl pl make makefile dockerfile ini conf elixir ex nim".split(" "));
const DASH = new Set("sql lua hs haskell ada elm".split(" "));
const PLAIN = new Set(["", "text", "txt", "plain", "plaintext", "md", "markdown", "ansi"]);

function pattern(language) {
  const comments = ["\\/\\*[^]*?(?:\\*\\/|$)"];
  if (HASH.has(language)) comments.push("#[^\\n]*");
  else if (DASH.has(language)) comments.push("--[^\\n]*");
  else comments.push("\\/\\/[^\\n]*");
  if (language === "html" || language === "xml") comments.push("<!--[^]*?(?:-->|$)");
  return new RegExp(
    `(?<comment>${comments.join("|")})` +
      `|(?<string>"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'?|\`(?:\\\\.|[^\`\\\\])*\`?)` +
      "|(?<number>\\b(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\\b)" +
      "|(?<word>[A-Za-z_][A-Za-z0-9_]*)(?<call>(?=\\())?",
    "g",
  );
}

// Parts of `code` as [kind, text], in order, nothing left out.
export function highlight(code, language) {
  const name = language.toLowerCase();
  if (PLAIN.has(name)) return [["", code]];
  const parts = [];
  let done = 0;
  for (const found of code.matchAll(pattern(name))) {
    const { comment, string, number, word, call } = found.groups;
    let kind = "";
    if (comment !== undefined) kind = "comment";
    else if (string !== undefined) kind = "string";
    else if (number !== undefined) kind = "number";
    else if (WORDS.has(word)) kind = "keyword";
    else if (call !== undefined) kind = "call";
    if (!kind) continue;
    if (found.index > done) parts.push(["", code.slice(done, found.index)]);
    parts.push([kind, found[0]]);
    done = found.index + found[0].length;
  }
  if (done < code.length) parts.push(["", code.slice(done)]);
  return parts;
}
