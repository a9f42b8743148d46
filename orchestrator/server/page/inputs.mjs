// The inputs of a query, drawn as their descriptions say from a seed that is always the same.

import { tensor } from "./shared/arrays.mjs";

const SEED = 1;

// Mulberry32: numbers in [0, 1) that follow from a seed alone.
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const whole = (draw, { low, high }) => low + Math.floor(draw() * (high - low));

function normal(draw) {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

const VALUES = {
  token_ids: (draw, input, index) => {
    const length = input.dims.at(-1);
    const isLast = input.last !== null && index % length === length - 1;
    return BigInt(isLast ? input.last : whole(draw, input));
  },
  ones: () => 1n,
  normal,
  false: () => 0,
};

const ARRAYS = { int64: BigInt64Array, float32: Float32Array, bool: Uint8Array };

export function drawInputs(ort, inputs) {
  const draw = generator(SEED);
  const feeds = {};
  for (const input of inputs) {
    const count = input.dims.reduce((product, size) => product * size, 1);
    const values = Array.from({ length: count }, (_, index) => VALUES[input.kind](draw, input, index));
    feeds[input.name] = tensor(ort, input.type, ARRAYS[input.type].from(values), input.dims);
  }
  return feeds;
}

// The sizes of dimensions that the graph leaves open, by the names that it has for them.
export function openSizes(metadata, feeds) {
  const sizes = {};
  for (const { name, shape } of metadata) {
    const dims = feeds[name]?.dims ?? [];
    (shape ?? []).forEach((size, index) => {
      if (typeof size === "string" && size) sizes[size] = dims[index];
    });
  }
  return sizes;
}
