// Reads one JSON list of texts per line; answers with one line: for each text the list of
// [shown text, styles it is under] that Discord would render.
"use strict";
const readline = require("node:readline");
const { parse } = require("discord-markdown-parser");

const STYLES = {
  strong: "bold",
  em: "italics",
  underline: "underline",
  strikethrough: "strike",
  spoiler: "spoiler",
  inlineCode: "code",
  codeBlock: "block",
  blockQuote: "quote",
};

function leaf(node) {
  if (typeof node.content === "string") return node.content;
  if (node.type === "br" || node.type === "newline") return "\n";
  return [node.fullName, node.name, node.id, node.timestamp, node.type].find((part) => part) || "";
}

// A link with a label of its own; Discord makes none without a host.
function isMasked(node) {
  return node.type === "link" && /^https?:\/\/./i.test(node.target);
}

function flatten(nodes, styles, out) {
  for (const node of nodes) {
    const style = isMasked(node) ? "link" : STYLES[node.type];
    const under = style && !styles.includes(style) ? [...styles, style].sort() : styles;
    if (Array.isArray(node.content)) flatten(node.content, under, out);
    else out.push([leaf(node), under]);
    if (node.target) out.push([node.target, under]);
  }
  return out;
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const answers = JSON.parse(line).map((text) => flatten(parse(text, "extended"), [], []));
  process.stdout.write(JSON.stringify(answers) + "\n");
});
