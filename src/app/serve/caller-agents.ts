// The agents that each caller may use.
import type { Agent, Cloister, TokenEntry } from '#contracts';

export class CallerAgents {
  readonly #cloister: Pick<Cloister, 'agents'>;
  /** Names of the served agents, in the configured order. */
  readonly #names: readonly string[];
  /** As long as the registered agents are the same. */
  readonly #known = new WeakMap<TokenEntry, { readonly all: readonly Agent[]; readonly own: readonly Agent[] }>();

  constructor(cloister: Pick<Cloister, 'agents'>, names: readonly string[]) {
    this.#cloister = cloister;
    this.#names = names;
  }

  of(entry: TokenEntry): readonly Agent[] {
    const all = this.#cloister.agents;
    const known = this.#known.get(entry);
    if (known?.all === all) return known.own;
    // probe: agents-of-caller
    const { agents = this.#names } = entry;
    const own = this.#names.flatMap((name) =>
      agents.includes(name) ? (all.find((agent) => agent.name === name) ?? []) : [],
    );
    this.#known.set(entry, { all, own });
    return own;
  }
}
