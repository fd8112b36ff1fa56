// Where every character of a stream is: asked for once, and again when the stream has moved on.

import { getJson, state } from "./state.js";
import { characters } from "./dom.js";

const known = new Map(); // stream id to { seen, books }
const KNOWN_MAX = 4;

// A look with the text as a list of characters, so that our positions can be used.
export function opened(look) {
  if (!look.chars) look.chars = characters(look.text);
  return look;
}

// What really happened to a stream's characters, also while it runs.
export async function booksOf(stream) {
  const seen = stream.latest[stream.latest.length - 1]?.n ?? 0;
  const before = known.get(stream.id);
  if (before && before.seen === seen) return before.books;
  const books = opened(await getJson(`/api/streams/${stream.id}/why`));
  books.stream = stream.id;
  known.set(stream.id, { seen, books });
  if (known.size > KNOWN_MAX) known.delete(known.keys().next().value);
  return books;
}

// What is looked at now: the past, if one travels in it, else the selected stream.
export async function booksNow() {
  if (state.travel) return state.travel.look;
  const stream = state.streams.get(state.selected);
  return stream ? booksOf(stream) : null;
}

// The run that holds a position; runs are in order and have no gaps.
export function fateAt(books, position) {
  let low = 0;
  let high = books.fates.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (books.fates[middle][0] <= position) low = middle;
    else high = middle - 1;
  }
  const found = books.fates[low];
  if (!found) return null;
  const [start, end, chunk, from, kind, index, offset, reason] = found;
  return { start, end, chunk, state: from, kind, index, offset: offset + position - start, reason };
}

// What a character is now, in a word that has a colour.
export function shade(fate, step, look) {
  if (step && fate.start >= step.read) return "future";
  if (step && fate.kind === "message" && fate.index >= step.messages) return "held";
  if (step && (fate.kind === "thought" || fate.kind === "details") && ordinal(look, fate) >= step.blocks) return "held";
  return fate.kind;
}

export function ordinal(look, fate) {
  let left = fate.index;
  for (let n = 0; n < look.blocks.length; n++) {
    if (look.blocks[n].kind === fate.kind && left-- === 0) return n;
  }
  return -1;
}

export const asFate = ([start, end, chunk, from, kind, index, offset, reason]) => ({ start, end, chunk, state: from, kind, index, offset, reason });
