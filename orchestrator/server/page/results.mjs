// Results on the page, and the file that `orchestrator import` takes.

import { histogram, median, medianInterval } from "./statistics.mjs";

const HEIGHT = 100;
const SVG = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Three digits, as the clock's steps and the noise allow no more.
export const milliseconds = (value) => `${Number(value.toPrecision(3)).toLocaleString("en")} ms`;

export function summary(durations) {
  return { median: median(durations), interval: medianInterval(durations) };
}

function chart(durations, { median: middle, interval }) {
  const { least, greatest, counts, beyond } = histogram(durations);
  const width = greatest - least || 1;
  const at = (value) => Math.max(0, Math.min(100, (100 * (value - least)) / width));
  const highest = Math.max(...counts);
  const bars = counts.map((count, index) => {
    const height = (90 * count) / highest;
    const step = 100 / counts.length;
    return shape("rect", { x: index * step, y: HEIGHT - height, width: step * 0.9, height });
  });
  const band = interval && {
    x: at(interval[0]),
    y: 0,
    width: Math.max(0.5, at(interval[1]) - at(interval[0])),
    height: HEIGHT,
    class: "band",
  };
  const label = `${durations.length} durations from ${milliseconds(least)} to ${milliseconds(greatest)}`;
  const picture = shape(
    "svg",
    { viewBox: `0 0 100 ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    shape("g", { class: "bars" }, ...bars),
    ...(band ? [shape("rect", band)] : []),
    shape("line", { x1: at(middle), x2: at(middle), y1: 0, y2: HEIGHT, class: "middle" }),
  );
  const scale = element("div", { class: "scale", "aria-hidden": "true" });
  scale.append(element("span", {}, milliseconds(least)), element("span", {}, milliseconds(greatest)));
  const longer = beyond ? `, ${beyond} longer ${beyond > 1 ? "ones" : "one"} outside the chart` : "";
  const caption = `${durations.length} queries${longer}; the line is the median${interval ? ", the band its interval" : ""}`;
  return element("figure", {}, picture, scale, element("figcaption", {}, caption));
}

export function card(result) {
  const words = [result.backend, result.precision, result.shape];
  if (result.backend === "wasm") words.push(`${result.threads} ${result.threads > 1 ? "threads" : "thread"}`);
  const heading = element("h3", {}, result.model);
  const made = element("article", { class: "result" }, heading, element("p", { class: "muted" }, words.join(" · ")));
  if (result.status !== "ok") {
    made.append(element("p", { class: "bad" }, result.reason));
    return made;
  }
  const numbers = summary(result.durations_ms);
  const between = numbers.interval
    ? `median; 95 % interval ${numbers.interval.map(milliseconds).join(" to ")}`
    : "median; too few queries for an interval";
  made.append(
    element("p", { class: "number" }, milliseconds(numbers.median)),
    element("p", {}, between),
    ...result.notes.map((note) => element("p", { class: "bad" }, note)),
    chart(result.durations_ms, numbers),
  );
  return made;
}

export function resultFile(results, device, version) {
  const content = { format: "accelmatrix-page", version: 1, accelmatrix: version, device, results };
  const blob = new Blob([JSON.stringify(content, null, 1)], { type: "application/json" });
  const moment = new Date().toISOString().replaceAll(":", "").slice(0, 15);
  return { name: `accelmatrix-page-${moment}.json`, url: URL.createObjectURL(blob) };
}
