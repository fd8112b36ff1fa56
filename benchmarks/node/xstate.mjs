// XState with the four states and rows that the measurement drives.
import { createActor, createMachine } from "xstate";
import { serve } from "./worker.mjs";

const nothing = () => {};
const chart = createMachine(
  {
    id: "stream",
    initial: "opening",
    states: {
      opening: { on: { text: { target: "streaming", actions: "take_text" } } },
      streaming: {
        on: {
          text: { actions: "take_text" },
          think_opened: { target: "in_think", actions: ["hand_complete", "open_thought"] },
        },
        always: { guard: "segment_ready", target: "handing", actions: "hand_over" },
      },
      in_think: {
        on: {
          think_closed: { guard: "outermost", target: "streaming", actions: "close_thought" },
        },
      },
      handing: {},
    },
  },
  {
    actions: {
      take_text: nothing, hand_complete: nothing, open_thought: nothing, close_thought: nothing,
      hand_over: nothing,
    },
    guards: { outermost: () => true, segment_ready: () => false },
  },
);

function step({ events, count, observers = 0 }) {
  const actor = createActor(chart);
  for (let number = 0; number < observers; number++) actor.subscribe(nothing);
  actor.start();
  actor.send({ type: "text" });
  const begin = performance.now();
  for (let number = 0; number < count; number++)
    for (const event of events) actor.send({ type: event });
  return (performance.now() - begin) / 1e3 / (count * events.length);
}

function instances({ count }) {
  const begin = performance.now();
  for (let number = 0; number < count; number++) createActor(chart).start();
  return (performance.now() - begin) / 1e3 / count;
}

serve({ step, instances });
