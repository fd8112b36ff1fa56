// Choose a stream, save one as a trace, load traces from files.

import { $, h, toast } from "./dom.js";
import { enter, leave } from "./travel.js";
import { emit, on, postText, select, selected, state } from "./state.js";

const FILE_MAX = 8 * 1024 * 1024;
const LOADED_MAX = 8;

export function begin() {
  on("streams", draw);
  on("selected", draw);
  on("left", draw);
  $("streams").addEventListener("change", (event) => choose(event.target.value));
  $("save").addEventListener("click", save);
  $("load").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", async () => {
    for (const file of [...$("file").files]) await load(file);
    $("file").value = "";
  });
  draw();
}

export const label = (stream) => `#${stream.id} ${(stream.status || "running").replaceAll("_", " ")}`;

function draw() {
  const options = [...state.streams.values()].reverse().map((one) => h("option", { value: one.id }, label(one)));
  for (const name of state.loaded.keys()) options.push(h("option", { value: `file:${name}` }, name));
  $("streams").replaceChildren(...(options.length ? options : [h("option", { value: "" }, "none yet")]));
  $("streams").value = state.travel?.file ? `file:${state.travel.file}` : state.selected || "";
  $("save").disabled = !selected() || Boolean(state.travel?.file);
}

function choose(value) {
  if (value.startsWith("file:")) {
    const name = value.slice("file:".length);
    enter(name, state.loaded.get(name));
    draw();
    return;
  }
  if (state.travel) leave();
  const newest = [...state.streams.keys()].pop();
  select(value, { follow: value === newest });
}

function save() {
  const link = h("a", { href: `/api/streams/${encodeURIComponent(state.selected)}/trace`, download: `minamo-${state.selected}.jsonl` });
  document.body.append(link);
  link.click();
  link.remove();
}

async function load(file) {
  if (file.size > FILE_MAX) {
    toast(`${file.name} is too large for a trace`);
    return;
  }
  try {
    const look = await postText("/api/look", await file.text());
    state.loaded.set(file.name, look);
    if (state.loaded.size > LOADED_MAX) state.loaded.delete(state.loaded.keys().next().value);
    enter(file.name, look);
    draw();
    emit("loaded");
  } catch (error) {
    toast(`${file.name}: ${error.message}`);
  }
}
