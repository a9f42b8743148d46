// The device behind a provider, in the browser's own words.

export async function adapterOf(provider) {
  if (provider === "webgpu") return { adapter: await gpuAdapter() };
  if (provider === "webnn") return { context: await mlContext() };
  return {};
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
