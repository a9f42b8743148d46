// Sessions of ONNX Runtime Web over the parts of a prepared graph.

import { fetchBytes } from "./arrays.mjs";

const PARTLY = /number of nodes in the graph: (\d+) number of nodes supported by WebNN: (\d+)/;
const REFUSAL_MS = 5000;
const heard = new Set();

function partlyTaken(nodes, taken) {
  const words = `WebNN takes ${taken} of ${nodes} nodes, and no other provider may take the rest`;
  return Object.assign(new Error(words), { isPartlyTaken: true });
}

for (const level of ["debug", "info", "log", "warn", "error"]) {
  const print = console[level].bind(console);
  console[level] = (...words) => {
    print(...words);
    for (const hear of heard) hear(words.join(" "));
  };
}

// A session. The runtime waits for ever for one whose nodes WebNN takes in several parts, even
// where the others may go nowhere: what it logs before tells that it refuses the graph.
export async function createSession(ort, bytes, options) {
  let timer, hear;
  const refused = new Promise((_, refuse) => {
    hear = (line) => {
      const [, nodes, taken] = PARTLY.exec(line) ?? [];
      if (Number(taken) < Number(nodes)) {
        timer ??= setTimeout(() => refuse(partlyTaken(nodes, taken)), REFUSAL_MS);
      }
    };
    heard.add(hear);
  });
  const created = ort.InferenceSession.create(bytes, options);
  created.catch(() => {}); // it may come after the refusal
  try {
    return await Promise.race([created, refused]);
  } finally {
    heard.delete(hear);
    clearTimeout(timer);
  }
}

export class Graph {
  constructor(ort, sessions) {
    this.ort = ort;
    this.sessions = sessions;
  }

  async release() {
    for (const session of Object.values(this.sessions)) await session.release();
  }
}

export async function importRuntime({ bundle, folder, threads, verbose }) {
  const ort = await import(bundle);
  ort.env.wasm.wasmPaths = folder;
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = verbose ? "verbose" : "warning";
  return ort;
}

// The runtime fetches and compiles its WASM with the first session.
export async function compileRuntime(ort, first) {
  const options = { executionProviders: ["wasm"], logSeverityLevel: 4 };
  const session = await ort.InferenceSession.create(new Uint8Array(first), options);
  await session.release();
}

export async function fetchPart({ url, weights }) {
  const bytes = await fetchBytes(url);
  const externalData = [];
  for (const { path, url } of weights) externalData.push({ path, data: await fetchBytes(url) });
  return { bytes, externalData };
}
