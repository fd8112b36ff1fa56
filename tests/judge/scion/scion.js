// Runs SCXML documents in SCION.  Each line in: {scxml, guards, runs: [{resting, steps}, ...]}.
// Each line out: for each run, for the start and each step, the leaf and the actions in order.
// A step is {event, guards}, with the value of each guard.  `resting` has the guards of rows without
// an event: a list each, with the value after no action of the run, after one, and so on.

const vm = require("vm");
const readline = require("readline");
const scxml = require("@scion-scxml/scxml");

function judge({ scxml: text, guards, runs }) {
  return new Promise((resolve, reject) => {
    scxml.documentStringToModel("chart.scxml", text, (error, model) => {
      if (error) return reject(error);
      let now = { guards: {} };
      let resting = {};
      let acted = 0;
      let log = [];
      const value = (name) => (name in resting ? resting[name][acted] : now.guards[name]) || false;
      const host = {};
      for (const name of guards) Object.defineProperty(host, name, { get: () => value(name) });
      const done = (failed, made) => {
        if (failed) return reject(failed);
        resolve(runs.map((run) => {
          const told = { log: (_label, action) => log.push(action) && acted++ };
          [now, resting, acted, log] = [{ guards: {} }, run.resting, 0, []];
          const chart = new scxml.core.Statechart(made, { console: told });
          const seen = [[chart.start(), log]];
          for (const step of run.steps) {
            [now, log] = [step, []];
            seen.push([chart.gen({ name: step.event }), log]);
          }
          return seen;
        }));
      };
      model.prepare(done, vm.createContext(host));
    });
  });
}

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  let answer;
  try {
    answer = await judge(JSON.parse(line));
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
