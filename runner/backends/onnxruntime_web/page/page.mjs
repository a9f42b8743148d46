// The page's side of the runner: every call comes from there, and answers with plain data.

import { memoryUse } from "./memory.mjs";
import { compileRuntime, importRuntime } from "./sessions.mjs";
import { PreparedGraph } from "./graphs.mjs";
import { Query } from "./queries.mjs";
import { Generation } from "./generation.mjs";
import { adapterOf, lostDevice } from "./devices.mjs";

let ort = null;
const graphs = new Map();
const bound = new Map();
let latest = 0;

const keep = (map, value) => (map.set(++latest, value), latest);

async function drop(map, id) {
  const value = map.get(id);
  map.delete(id);
  await value?.release?.();
}

// The least difference of two readings of the clock, in milliseconds.
function resolution() {
  let least = Infinity;
  for (let i = 0; i < 1000; i++) {
    const began = performance.now();
    let now = began;
    while (now === began) now = performance.now();
    least = Math.min(least, now - began);
  }
  return least;
}

const lost = lostDevice();
lost.catch(() => {}); // each call tells it

window.runner = {
  async start(options) {
    const began = performance.now();
    ort = await importRuntime(options);
    await compileRuntime(ort, options.first);
    return performance.now() - began;
  },
  facts: async (provider) => ({
    resolution_ms: resolution(),
    isolated: crossOriginIsolated,
    version: ort?.env.versions.web ?? null,
    threads: ort?.env.wasm.numThreads ?? null,
    ...(await adapterOf(provider)),
  }),
  memory: memoryUse,
  async open(options) {
    const graph = await new PreparedGraph(ort, options).open();
    return { id: keep(graphs, graph), stages: graph.stages };
  },
  release: (id) => drop(graphs, id),
  bind: async (id, options) => keep(bound, await Query.bind(graphs.get(id), options)),
  bindNothing: () => keep(bound, new Query({ sessions: {} }, [], {})),
  bindGeneration: async (id, options) => keep(bound, await Generation.bind(graphs.get(id), options)),
  unbind: (id) => drop(bound, id),
  series: (id, options) => bound.get(id).series(options),
  post: (id, url) => bound.get(id).post(url),
  generate: (id) => bound.get(id).generate(),
  forced: (id, options) => bound.get(id).forced(options),
};

window.answer = async (name, values) => Promise.race([window.runner[name](...values), lost]);
