// Sessions of ONNX Runtime Web over the parts of a prepared graph.

import { fetchBytes } from "./arrays.mjs";

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
