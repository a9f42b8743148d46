// Bytes that the page holds in memories of WebAssembly and in buffers of WebGPU. The runtime makes
// them, so this module comes before it.

const memories = [];
const sizes = new WeakMap();
const gpu = { bytes: 0, peak: 0 };

// A memory never shrinks, and grows without a word: its size is asked when it is wanted.
const Memory = WebAssembly.Memory;
WebAssembly.Memory = new Proxy(Memory, {
  construct(target, options, newTarget) {
    const memory = Reflect.construct(target, options, newTarget);
    memories.push(new WeakRef(memory));
    return memory;
  },
});

function wrap(type, name, make) {
  if (type) type.prototype[name] = make(type.prototype[name]);
}

wrap(globalThis.GPUDevice, "createBuffer", (create) => function (descriptor) {
  const buffer = create.call(this, descriptor);
  sizes.set(buffer, buffer.size);
  gpu.bytes += buffer.size;
  gpu.peak = Math.max(gpu.peak, gpu.bytes);
  return buffer;
});

wrap(globalThis.GPUBuffer, "destroy", (destroy) => function () {
  gpu.bytes -= sizes.get(this) ?? 0;
  sizes.delete(this);
  return destroy.call(this);
});

export function memoryUse() {
  const held = memories.map((memory) => memory.deref()?.buffer.byteLength ?? 0);
  return {
    wasm: held.reduce((sum, bytes) => sum + bytes, 0),
    gpu: gpu.bytes,
    gpu_peak: gpu.peak,
  };
}
