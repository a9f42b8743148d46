// The device behind a provider, in the browser's own words.

export async function adapterOf(provider) {
  if (provider === "webgpu") return { adapter: await gpuAdapter() };
  if (provider === "webnn") return { context: await mlContext() };
  return {};
}

// A promise that is broken when a GPU device is lost, which no call might notice: its queue is
// silent then. It must be asked for before any device is.
export function lostDevice() {
  if (!globalThis.GPUAdapter) return new Promise(() => {});
  return new Promise((_, reject) => {
    const request = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (...options) {
      const device = await request.apply(this, options);
      device.lost.then(({ reason, message }) => {
        if (reason !== "destroyed") reject(new Error(`the GPU device was lost: ${message}`));
      });
      return device;
    };
  });
}

async function gpuAdapter() {
  if (!navigator.gpu) return null;
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) return null;
  const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info;
  const half = adapter.features.has("shader-f16");
  return { vendor, architecture, device, description, isFallbackAdapter, half };
}

async function mlContext() {
  if (!navigator.ml) return { error: "navigator.ml is missing" };
  try {
    await navigator.ml.createContext({ deviceType: "cpu" });
    return { deviceType: "cpu" };
  } catch (error) {
    return { error: error.message };
  }
}
