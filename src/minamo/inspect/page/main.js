// Put the page together: hear what happens, and let each part draw its own.

import { $, toast } from "./dom.js";
import { emit, getJson, listen, on, running, selected, state, take } from "./state.js";
import * as channel from "./channel.js";
import * as chart from "./chart.js";
import * as clocks from "./clocks.js";
import * as compare from "./compare.js";
import * as composer from "./composer.js";
import * as log from "./log.js";
import * as raw from "./raw.js";
import * as traces from "./traces.js";
import * as travel from "./travel.js";
import * as why from "./why.js";

const LINKS = { open: "live", gone: "not connected", refused: "not connected" };
const NOTICES = {
  gone: "The bot cannot be reached: its program has ended, or the network is down. You see what came last; this page goes on by itself when the bot is back.",
  refused: "The bot was started again with another key. Open the address that it printed.",
};

function linked(how) {
  $("link").dataset.link = how;
  $("link-words").textContent = LINKS[how];
  $("lost").hidden = how === "open";
  if ($("lost").textContent !== (NOTICES[how] || "")) $("lost").textContent = NOTICES[how] || "";
  document.documentElement.classList.toggle("lost", how !== "open");
  if (how === "open") state.lost = null;
  else state.lost ??= performance.now();
  emit("running");
  emit("link", how);
}

// Happenings are taken once per frame: a flood of them cannot freeze the page.
const waiting = [];
let asked = false;
const TAKEN_MAX = 2000; // per frame

function drain() {
  asked = false;
  for (const one of waiting.splice(0, TAKEN_MAX)) take(one);
  emit("frame");
  if (waiting.length) soon();
}

function soon() {
  if (asked) return;
  asked = true;
  // Frames stop while the page is hidden; what happened must still be taken.
  if (document.hidden) setTimeout(drain, 50);
  else requestAnimationFrame(drain);
}

async function begin() {
  state.about = await getJson("/api/about");
  for (const part of [channel, chart, clocks, log, raw, why, travel, traces, compare, composer]) part.begin();
  on("hello", (one) => {
    if (one.behind) toast("This page was too slow and has begun anew.");
  });
  on("running", () => {
    document.title = running() ? "● minamo" : "minamo";
  });
  listen((events) => {
    waiting.push(...events);
    soon();
  }, linked);
  document.documentElement.dataset.ready = "yes";
}

begin().catch((error) => toast(error.message));
// For tests and the curious: what is looked at now.
window.minamo = { state, selected };
