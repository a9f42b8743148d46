// Greedy generation: the loop lies in the page, and caches stay on the device where the provider
// takes them there. Logits are asked for where tokens are forced, and never while anything is timed.

import { fetchTensors, postTensor, tensor } from "./arrays.mjs";

const PAST = "input.";
const PRESENT = "output.";
const LOGITS = "logits";
const NEXT_TOKENS = "next_tokens";

const present = (cache) => PRESENT + cache.slice(PAST.length);

export class Generation {
  constructor(graph, options, prompt, constants) {
    this.ort = graph.ort;
    this.graph = graph;
    this.options = options;
    this.prompt = prompt;
    this.constants = constants;
  }

  static async bind(graph, options) {
    const prompt = await fetchTensors(graph.ort, options.prompt);
    const constants = await fetchTensors(graph.ort, options.constants);
    const generation = new Generation(graph, options, prompt, constants);
    // Where sizes are fixed, each length of the cache has a session, made before anything is timed.
    if (graph.parts.decode.symbols) await generation.generate();
    return generation;
  }

  // Milliseconds from the prompt to each step's tokens, the tokens, and where caches lie.
  async generate() {
    const began = performance.now();
    await this.start(NEXT_TOKENS);
    const tokens = [await this.tokens()];
    const times = [performance.now() - began];
    while (tokens.length < this.options.newTokens) {
      await this.advance(this.latest[NEXT_TOKENS], NEXT_TOKENS);
      tokens.push(await this.tokens());
      times.push(performance.now() - began);
    }
    const [cache] = Object.values(this.caches);
    const caches = { location: cache.location, refusal: this.graph.refusal };
    await this.dispose();
    return { times, tokens: tokens.map((step) => [...step].map(Number)), caches };
  }

  // Logits of each step while these tokens are fed, [steps][batch].
  async forced({ tokens, url }) {
    await this.start(LOGITS);
    const told = [];
    for (let step = 0; ; step++) {
      told.push(await postTensor(`${url}/${step}`, this.latest[LOGITS]));
      if (step + 1 === tokens.length) break;
      const fed = BigInt64Array.from(tokens[step], BigInt);
      await this.advance(tensor(this.ort, "int64", fed, [fed.length, 1]), LOGITS);
    }
    await this.dispose();
    return told;
  }

  async start(wanted) {
    const session = await this.graph.sessionFor("prefill", this.prompt);
    const names = this.options.caches.map((name) => name.slice(PAST.length));
    this.latest = await session.run(this.prompt, [wanted, ...names]);
    this.caches = {};
    for (const name of this.options.caches) {
      this.caches[name] = this.latest[name.slice(PAST.length)];
    }
    this.positions = this.options.positions && BigInt64Array.from(this.options.positions.values, BigInt);
  }

  async advance(token, wanted) {
    const feeds = { ...this.constants, ...this.caches, [this.options.tokenInput]: token };
    if (this.positions) {
      this.positions = this.positions.map((position) => position + 1n);
      feeds.position_ids = tensor(this.ort, "int64", this.positions, this.options.positions.dims);
    }
    const session = await this.graph.sessionFor("decode", feeds);
    // Caches that no step changes are given by the first pass alone.
    this.given ??= this.options.caches.filter((name) => session.outputNames.includes(present(name)));
    const outputs = await session.run(feeds, [wanted, ...this.given.map(present)]);
    for (const name of this.given) {
      const next = outputs[present(name)];
      if (next !== this.caches[name]) this.caches[name].dispose();
      this.caches[name] = next;
    }
    this.latest = outputs;
  }

  // Both parts give them for one position alone.
  tokens() {
    return this.latest[NEXT_TOKENS].getData();
  }

  async dispose() {
    for (const cache of Object.values(this.caches)) cache.dispose();
    this.caches = {};
  }
}
