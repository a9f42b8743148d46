// Queries: the parts of a graph over fixed inputs, each call timed by the page's own clock.

import { fetchTensors, postTensor } from "./arrays.mjs";

export class Query {
  constructor(graph, parts, feeds) {
    this.graph = graph;
    this.parts = parts.map(({ name, inputs }) => ({ name, session: graph.sessions[name], inputs }));
    this.feeds = feeds;
  }

  static async bind(graph, { parts, inputs }) {
    return new Query(graph, parts, await fetchTensors(graph.ort, inputs));
  }

  // Outputs lie in the page's memory when a session's promise is kept: downloads are inside.
  async run() {
    const known = { ...this.feeds };
    const outputs = {};
    for (const { name, session, inputs } of this.parts) {
      const taken = {};
      for (const input of inputs) taken[input] = known[input];
      const chosen = session ?? (await this.graph.sessionFor(name, taken));
      const given = await chosen.run(taken);
      for (const input of inputs) delete outputs[input];
      Object.assign(known, given);
      Object.assign(outputs, given);
    }
    return outputs;
  }

  // Milliseconds of calls, one behind the other: at least so many and for so long, but no longer
  // than `most`, and of no more than `slice`, so that the runner hears of a page that is alive.
  async series({ least, minimum, most, slice }) {
    const durations = [];
    let total = 0;
    while (total < Math.min(most, slice) && (durations.length < least || total < minimum)) {
      const began = performance.now();
      await this.run();
      const duration = performance.now() - began;
      durations.push(duration);
      total += duration;
    }
    return durations;
  }

  async post(url) {
    const outputs = await this.run();
    const told = {};
    for (const [name, value] of Object.entries(outputs)) {
      told[name] = await postTensor(`${url}/${encodeURIComponent(name)}`, value);
      value.dispose();
    }
    return told;
  }
}
