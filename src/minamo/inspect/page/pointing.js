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
