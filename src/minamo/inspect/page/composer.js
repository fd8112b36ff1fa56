// The box to write in, the prompts, and Stop.  Hidden where the page may only look.

import { $, h, toast } from "./dom.js";
import { on, postJson, running, selected, state } from "./state.js";

export function begin() {
  const may = state.about.may_act;
  $("composer").hidden = !may;
  $("readonly").hidden = may;
  if (!may) return;
  $("prompts").replaceChildren(
    ...state.about.prompts.map((one) => h("button", { type: "button", class: "chip", title: one.text, onclick: () => say(one.text) }, one.title)),
  );
  $("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    say($("box").value);
  });
  $("box").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      say($("box").value);
    }
  });
  $("box").addEventListener("input", grow);
  $("stop").addEventListener("click", stop);
  on("running", draw);
  on("hello", draw);
  document.addEventListener("minamo:lit", (event) => event.detail.chart === "stream" && draw());
  draw();
}

function grow() {
  const box = $("box");
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, 160)}px`;
}

function draw() {
  const busy = running();
  const lost = state.lost !== null;
  for (const button of [...$("prompts").children, $("send")]) button.disabled = lost;
  $("stop").disabled = !busy;
  $("send").textContent = busy ? "Follow up" : "Send";
  $("composer").classList.toggle("busy", busy);
  // One line always, so that nothing moves under a finger when a reply begins or ends.
  const words = busy ? "Writing now ends this reply and takes its place." : "Enter sends, Shift+Enter begins a new line.";
  if ($("hint").textContent !== words) $("hint").textContent = words;
  $("hint-state").textContent = selected()?.state || ""; // for phones, where the chart is further down
}

async function say(text) {
  if (!text.trim()) return;
  try {
    state.following = true; // a user who writes wants to see the answer
    await postJson("/api/say", { text });
    if ($("box").value === text) $("box").value = "";
    grow();
  } catch (error) {
    toast(error.message);
  }
}

async function stop() {
  try {
    await postJson("/api/stop");
  } catch (error) {
    toast(error.message);
  }
}
