// A prepared graph: its parts, with sessions for the sizes that are wanted.

import { createSession, fetchPart, Graph } from "./sessions.mjs";

export class PreparedGraph extends Graph {
  constructor(ort, { parts, options }) {
    super(ort, {});
    this.options = options;
    this.parts = Object.fromEntries(parts.map((part) => [part.name, part]));
    this.stages = { weights: 0, instantiate: 0 };
    // The provider's words where it keeps no outputs on the device.
    this.refusal = null;
    this.fixed = new Map();
  }

  async open() {
    for (const [name, part] of Object.entries(this.parts)) {
      if (!part.symbols) this.sessions[name] = await this.load(part, part.overrides);
    }
    return this;
  }

  // The part's session for these inputs: one for each of their shapes where sizes are fixed.
  async sessionFor(name, feeds) {
    const part = this.parts[name];
    if (!part.symbols) return this.sessions[name];
    const overrides = {};
    for (const [input, symbols] of Object.entries(part.symbols)) {
      symbols.forEach((symbol, axis) => symbol && (overrides[symbol] = feeds[input].dims[axis]));
    }
    const key = JSON.stringify([name, overrides]);
    if (!this.fixed.has(key)) this.fixed.set(key, await this.load(part, overrides));
    return this.fixed.get(key);
  }

  async load(part, overrides) {
    const began = performance.now();
    const { bytes, externalData } = await fetchPart(part);
    const fetched = performance.now();
    const options = { ...this.options, freeDimensionOverrides: overrides, externalData };
    const session = await this.create(bytes, options, part.locations);
    this.stages.weights += fetched - began;
    this.stages.instantiate += performance.now() - fetched;
    return session;
  }

  async create(bytes, options, locations) {
    if (!locations || this.refusal) return createSession(this.ort, bytes, options);
    try {
      return await createSession(this.ort, bytes, { ...options, preferredOutputLocation: locations });
    } catch (error) {
      if (error.isPartlyTaken) throw error;
      const session = await createSession(this.ort, bytes, options);
      this.refusal = error.message;
      return session;
    }
  }

  async release() {
    await super.release();
    for (const session of this.fixed.values()) await session.release();
  }
}
