// A contestant's process in node: the same protocol as benchmarks/worker.py.
import readline from "node:readline";

export async function serve(tasks) {
  console.log = console.info = console.debug = console.error; // answers alone go to stdout
  const answer = (value) => process.stdout.write(JSON.stringify(value) + "\n");
  answer({ ready: true });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { task, ...given } = JSON.parse(line);
    globalThis.gc?.();
    const wall = performance.now();
    const cpu = process.cpuUsage();
    try {
      const result = await tasks[task](given);
      const used = process.cpuUsage(cpu);
      answer({
        cpu_s: (used.user + used.system) / 1e6,
        wall_s: (performance.now() - wall) / 1e3,
        result,
      });
    } catch (error) {
      answer({ error: `${error.name}: ${error.message}`.slice(0, 400) });
    }
  }
  process.exit(0);
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, Math.max(0, ms)));

// Yields four characters at a time, `rate` times per second from the time `begin`.
export async function* tokens(text, rate, begin) {
  for (let at = 0, number = 0; at < text.length; at += 4, number++) {
    const wait = (begin + number / rate) * 1000 - Date.now();
    if (wait > 0) await sleep(wait);
    yield text.slice(at, at + 4);
  }
}

// The different results of *run* over different ways to cut a text.
export async function different(text, cuts, run) {
  const found = new Set();
  for (const places of cuts) {
    const ends = [0, ...places, text.length];
    const chunks = ends.slice(1).map((end, at) => text.slice(ends[at], end));
    found.add(await run(chunks));
  }
  return [...found].sort();
}
