// The measurement of one graph on one backend, by this page's own clock.

import { adapterOf } from "./shared/devices.mjs";
import { Query } from "./shared/queries.mjs";
import { createSession, fetchPart, Graph, importRuntime } from "./shared/sessions.mjs";
import { drawInputs, openSizes } from "./inputs.mjs";
import { settled } from "./statistics.mjs";

const SLICE_MS = 500;
const WARM_UP = { windows: 3, mostMs: 10_000 };
const ADAPTER_MS = 15_000;
const runtimes = new Map();
let copies = 0;

// Lets the page draw and hear of clicks between slices.
const pause = () => new Promise((resolve) => setTimeout(resolve));

export function deviceOf(backend) {
  const silence = new Promise((_, refuse) =>
    setTimeout(() => refuse(new Error("the browser does not answer")), ADAPTER_MS),
  );
  return Promise.race([adapterOf(backend), silence]);
}

// The runtime keeps its number of threads: another number is another copy of it. So is one that
// follows a session that never came to be, since it makes no other.
function runtimeFor(bundle, threads) {
  const key = `${bundle}?threads=${threads}&copy=${copies}`;
  if (!runtimes.has(key)) {
    const folder = new URL("runtime/", document.baseURI).href;
    runtimes.set(key, importRuntime({ bundle: `${folder}${key}`, folder, threads, verbose: false }));
  }
  return runtimes.get(key);
}

async function openSession(ort, part, inputs, options) {
  const { bytes, externalData } = await fetchPart(part);
  const feeds = drawInputs(ort, inputs);
  const plain = { executionProviders: ["wasm"], graphOptimizationLevel: "disabled", externalData };
  const open = await ort.InferenceSession.create(bytes, plain);
  const freeDimensionOverrides = openSizes(open.inputMetadata, feeds);
  await open.release();
  const began = performance.now();
  const sized = { ...options, freeDimensionOverrides, externalData };
  const session = await createSession(ort, bytes, sized).catch((error) => {
    if (error.isPartlyTaken) copies += 1;
    throw error;
  });
  return { session, feeds, createMs: performance.now() - began };
}

async function slices(query, { isStopped, isEnough, tell }) {
  const windows = [];
  while (!isStopped() && !isEnough(windows)) {
    windows.push(await query.series({ least: 1, minimum: SLICE_MS, most: SLICE_MS, slice: SLICE_MS }));
    tell(windows.flat().length);
    await pause();
  }
  return windows;
}

const total = (windows) => windows.flat().reduce((sum, duration) => sum + duration, 0);

// Settings: backend, bundle, options of sessions, threads, seconds of timed queries.
export async function measure(graph, settings, { isStopped, tell }) {
  tell("loading the runtime");
  const ort = await runtimeFor(settings.bundle, settings.threads);
  tell("loading the model");
  const [part] = graph.parts;
  const { session, feeds, createMs } = await openSession(ort, part, graph.inputs, settings.options);
  const loaded = new Graph(ort, { [part.name]: session });
  try {
    const query = new Query(loaded, [{ name: part.name, inputs: Object.keys(feeds) }], feeds);
    const [first] = await query.series({ least: 1, minimum: 0, most: Infinity, slice: Infinity });
    const warm = await slices(query, {
      isStopped,
      isEnough: (windows) =>
        total(windows) >= WARM_UP.mostMs || (windows.length >= WARM_UP.windows && settled(windows)),
      tell: (count) => tell(`warming up, ${count} queries`),
    });
    const timed = await slices(query, {
      isStopped,
      isEnough: (windows) => total(windows) >= settings.seconds * 1000,
      tell: (count) => tell(`measuring, ${count} queries`),
    });
    return {
      runtime_version: ort.env.versions.web,
      create_ms: createMs,
      first_ms: first,
      warmup_iterations: warm.flat().length,
      durations_ms: timed.flat(),
    };
  } finally {
    await loaded.release();
  }
}
