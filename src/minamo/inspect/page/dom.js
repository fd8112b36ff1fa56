// Make elements.  Text only ever goes in as text, so nothing that a user or a model wrote can become code.

export const $ = (id) => document.getElementById(id);

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Run a drawing once per frame, however often it is asked for.
export function perFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

export const seconds = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(1)) + " s";

// Our positions count characters, the browser's count halves of some of them.
export const characters = (text) => Array.from(text);
export const countBefore = (text, offset) => {
  let count = 0;
  for (let at = 0; at < offset; count++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return count;
};

// What cannot be seen gets a picture, so that it can be pointed at.
const PICTURES = new Map([
  ["\n", "↵\n"], ["\t", "→\t"], ["\r", "␍"], ["\u0000", "␀"], ["\u200b", "␣"], ["\u200d", "⁀"], ["\ufeff", "␣"],
  ["\u2028", "↵\n"], ["\u00ad", "‐"],
]);
export const visible = (character) => {
  const known = PICTURES.get(character);
  if (known) return known;
  // Marks that turn the direction of writing would reorder everything after them.
  return /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/u.test(character) ? "⇄" : character;
};

export const nameOf = (character) => {
  const code = `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  return /\s|\p{C}/u.test(character) ? code : `“${character}” ${code}`;
};

let toastTimer = 0;
export function toast(words) {
  const place = $("toast");
  place.textContent = words;
  place.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => place.classList.remove("shown"), 4000);
}

// Tabs that arrow keys move through; `chosen` gets the id of the tab.
export function tabs(list, chosen) {
  const every = () => [...list.querySelectorAll('[role="tab"]')];
  const choose = (tab) => {
    for (const one of every()) {
      const is = one === tab;
      one.setAttribute("aria-selected", String(is));
      one.tabIndex = is ? 0 : -1;
      const panel = $(one.getAttribute("aria-controls") || "");
      if (panel && panel.classList.contains("panel")) panel.hidden = !is;
    }
    chosen(tab.id);
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const all = every();
    const next = all[(all.indexOf(event.target) + step + all.length) % all.length];
    next.focus();
    choose(next);
  });
  return choose;
}

// Which character a press means.

export function caretAt(event) {
  if (document.caretPositionFromPoint) {
    const found = document.caretPositionFromPoint(event.clientX, event.clientY);
    return found && { node: found.offsetNode, offset: found.offset };
  }
  const range = document.caretRangeFromPoint?.(event.clientX, event.clientY);
  return range && { node: range.startContainer, offset: range.startOffset };
}

// A caret stands between two characters; the one that was pressed may be the one before it.
export function hit(event, caret) {
  if (caret.node.nodeType !== Node.TEXT_NODE) return caret.offset;
  if (caret.offset === 0) return 0;
  const range = document.createRange();
  range.setStart(caret.node, caret.offset - 1);
  range.setEnd(caret.node, caret.offset);
  return [...range.getClientRects()].some((box) => event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom)
    ? caret.offset - 1
    : caret.offset;
}
