// Arrays between the page and the runner: raw bytes over HTTP, little-endian, with type and shape
// told beside them.

const ARRAYS = {
  float32: Float32Array,
  float16: Uint16Array,
  int64: BigInt64Array,
  int32: Int32Array,
  uint8: Uint8Array,
  int8: Int8Array,
  bool: Uint8Array,
};

export async function fetchBytes(url) {
  const answer = await fetch(url, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function fetchTensor(ort, { url, type, dims }) {
  const bytes = await fetchBytes(url);
  return tensor(ort, type, new ARRAYS[type](bytes.buffer), dims);
}

export async function fetchTensors(ort, arrays) {
  const feeds = {};
  for (const [name, array] of Object.entries(arrays)) feeds[name] = await fetchTensor(ort, array);
  return feeds;
}

export function tensor(ort, type, values, dims) {
  return new ort.Tensor(type, values, dims);
}

export async function postTensor(url, value) {
  const values = await value.getData();
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const answer = await fetch(url, { method: "POST", body: bytes });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return { type: value.type, dims: [...value.dims] };
}
