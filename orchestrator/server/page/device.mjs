// The page: choices, one measurement behind the other, results.

import { deviceOf, measure } from "./measure.mjs";
import { card, element, resultFile, summary } from "./results.mjs";

const $ = (id) => document.getElementById(id);
const NAMES = { wasm: "WASM, on the CPU", webgpu: "WebGPU, on the graphics processor", webnn: "WebNN, its CPU device" };
const cores = navigator.hardwareConcurrency || 1;
const results = [];
let choices = null;
let adapters = {};
let isStopped = false;

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function size(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0)} MB`;
}

function shapeOf({ sizes }) {
  const words = [`batch ${sizes.batch_size}`];
  if (sizes.sequence_length) words.push(plural(sizes.sequence_length, "token"));
  if (sizes.image_size) words.push(`${sizes.image_size} pixels`);
  if (sizes.audio_seconds) words.push(`${plural(sizes.audio_seconds, "second")} of sound`);
  return words.join(" · ");
}

function option(kind, name, value, title, detail) {
  const input = element("input", { type: kind, name, value });
  const label = element("label", { class: "option" }, input, element("span", {}, title));
  if (detail) label.append(element("span", { class: "muted" }, detail));
  return { input, label };
}

// The reason why a backend cannot be chosen here, and what is known of its device.
async function examine(backend) {
  try {
    const facts = await deviceOf(backend);
    if (backend === "webgpu" && !facts.adapter) return { refusal: "this browser gives no adapter for it" };
    if (backend === "webnn" && facts.context.error) return { refusal: facts.context.error };
    return { adapter: facts.adapter ?? null };
  } catch (error) {
    return { refusal: error.message };
  }
}

function adapterName({ vendor, architecture, device, description, isFallbackAdapter }) {
  const words = [vendor, architecture, device, description].filter(Boolean).join(" ") || "unnamed adapter";
  return isFallbackAdapter ? `${words} (software)` : words;
}

async function showBackends() {
  const offered = Object.keys(choices.bundles);
  const found = await Promise.all(offered.map(examine));
  adapters = Object.fromEntries(offered.map((backend, index) => [backend, found[index].adapter]));
  offered.forEach((backend, index) => {
    const { refusal, adapter } = found[index];
    const detail = refusal ? `Not here: ${refusal}` : adapter && adapterName(adapter);
    const { input, label } = option("radio", "backend", backend, NAMES[backend], detail);
    input.disabled = Boolean(refusal);
    input.checked = backend === "wasm";
    input.addEventListener("change", showModels);
    $("backends").append(label);
  });
}

const backend = () => document.querySelector("[name=backend]:checked").value;

function showModels() {
  const kept = new Set([...document.querySelectorAll("[name=model]:checked")].map(({ value }) => value));
  const offered = choices.graphs.map((graph, index) => [graph, `${index}`]).filter(([graph]) => graph.backends.includes(backend()));
  $("models").replaceChildren(
    ...offered.map(([graph, value]) => {
      const detail = [graph.precision, shapeOf(graph), size(graph.bytes)].join(" · ");
      const { input, label } = option("checkbox", "model", value, graph.model, detail);
      input.checked = kept.has(value) || offered.length === 1;
      return label;
    }),
  );
  if (!offered.length) $("models").append(element("p", { class: "muted" }, "No graph here is for this backend."));
  $("threads-choice").hidden = backend() !== "wasm";
}

function showThreads() {
  const most = crossOriginIsolated ? cores : 1;
  const usual = Math.min(4, Math.ceil(most / 2));
  for (let count = 1; count <= most; count = count < most ? Math.min(count * 2, most) : most + 1) {
    const chosen = count <= usual ? { selected: "" } : {};
    $("threads").append(element("option", { value: count, ...chosen }, `${count}`));
  }
}

function device() {
  return {
    user_agent: navigator.userAgent,
    platform: navigator.userAgentData?.platform || navigator.platform,
    cores,
    memory_gib: navigator.deviceMemory ?? null,
    isolated: crossOriginIsolated,
  };
}

function showFacts() {
  const facts = {
    Processors: cores,
    System: device().platform,
    Threads: crossOriginIsolated ? "possible" : "not possible: the page is not isolated",
  };
  for (const [name, value] of Object.entries(facts)) {
    $("facts").append(element("div", {}, element("dt", {}, name), element("dd", {}, `${value}`)));
  }
  $("version").textContent = choices.version;
}

function say(text, isBad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", isBad);
}

function show(result) {
  results.push(result);
  $("nothing").hidden = true;
  $("keep").hidden = false;
  $("list").prepend(card(result));
}

// Notes say what makes the numbers of a result worth less.
function notesOf(adapter, wasHidden) {
  const notes = [];
  if (adapter?.isFallbackAdapter) notes.push("This adapter computes on the CPU: its times say nothing of a GPU.");
  if (wasHidden) notes.push("The page was in the background for a while, where browsers slow pages down.");
  return notes;
}

async function measured(graph, settings, words) {
  const adapter = adapters[settings.backend] ?? null;
  const base = {
    model: graph.model,
    backend: settings.backend,
    precision: graph.precision,
    ...graph.sizes,
    shape: shapeOf(graph),
    graph_sha256: graph.graph_sha256,
    parameters: graph.parameters,
    threads: settings.backend === "wasm" ? settings.threads : null,
    device_name: adapter && adapterName(adapter),
    adapter,
    measured_at: new Date().toISOString(),
  };
  let wasHidden = document.hidden;
  const notice = () => (wasHidden ||= document.hidden);
  document.addEventListener("visibilitychange", notice);
  try {
    const numbers = await measure(graph, settings, {
      isStopped: () => isStopped,
      tell: (what) => say(`${words}: ${what}`),
    });
    if (!numbers.durations_ms.length) return null;
    const { median, interval } = summary(numbers.durations_ms);
    const notes = notesOf(adapter, wasHidden);
    return { ...base, ...numbers, status: "ok", median_ms: median, interval_ms: interval, notes };
  } catch (error) {
    return { ...base, status: "failed", reason: `${error?.message ?? error}`.slice(0, 500) };
  } finally {
    document.removeEventListener("visibilitychange", notice);
  }
}

async function measureAll(event) {
  event.preventDefault();
  const chosen = [...document.querySelectorAll("[name=model]:checked")].map(({ value }) => choices.graphs[value]);
  if (!chosen.length) {
    say("Choose a model first.", true);
    return;
  }
  const settings = {
    backend: backend(),
    bundle: choices.bundles[backend()],
    options: choices.sessions[backend()],
    threads: backend() === "wasm" ? Number($("threads").value) : 1,
    seconds: Number($("seconds").value),
  };
  isStopped = false;
  busy(true);
  say("Starting…");
  const lock = await navigator.wakeLock?.request("screen").catch(() => null);
  let count = 0;
  for (const [index, graph] of chosen.entries()) {
    if (isStopped) break;
    const result = await measured(graph, settings, `${index + 1} of ${chosen.length}, ${graph.model}`);
    if (result) show(result);
    count += result?.status === "ok" ? 1 : 0;
  }
  await lock?.release();
  busy(false);
  say(`${isStopped ? "Stopped" : "Done"}: ${plural(count, "model")} of ${chosen.length} measured.`);
}

function busy(is) {
  $("measure").disabled = is;
  $("stop").disabled = !is;
  for (const set of document.querySelectorAll("fieldset, .tools select")) set.disabled = is;
  (is ? $("stop") : $("measure")).focus({ preventScroll: true });
}

function download() {
  const { name, url } = resultFile(results, device(), choices.version);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

async function start() {
  choices = await (await fetch("choices.json")).json();
  showFacts();
  showThreads();
  await showBackends();
  showModels();
  $("choices").addEventListener("submit", measureAll);
  $("stop").addEventListener("click", () => ((isStopped = true), say("Stopping…")));
  $("download").addEventListener("click", download);
  say("Choose what is measured.");
}

start().catch((error) => say(`The page cannot begin: ${error.message}`, true));
