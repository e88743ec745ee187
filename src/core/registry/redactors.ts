// One redactor for each set of secrets: those that nobody can guess are searched for everywhere, the weak ones of an agent only
// in its own cells.
//
//   redactor-by-own-agent. What a cell's redactor replaces is a function of its agent's own definition and overlay, and of
//       values that nobody can guess. So no cell can test a guess of what another agent holds.
//   redactor-by-own-run. The values that a run was given are searched for in that run, and nowhere else.
import type { Agent, Redact } from '#contracts';
import { compileSecrets, redactPatterns } from './redact.ts';
import type { SecretPatterns } from './redact.ts';

/** Strong values, compiled once for all agents: there may be many keys. */
type StrongPatterns = {
  readonly values: ReadonlySet<string>;
  readonly patterns: readonly (SecretPatterns | null)[];
  readonly base: StrongPatterns | undefined;
};

export class Redactors {
  readonly #base: Redactors | null;
  readonly #strong = new Set<string>();
  #byAgent = new WeakMap<Agent, Map<string, Redact | null>>();
  #bySecrets = new Map<string, Redact | null>();
  #compiled: StrongPatterns | undefined;

  /** `base`: what it searches for everywhere is searched for here too, but not the other way round. */
  constructor(base: Redactors | null = null) {
    this.#base = base;
  }

  /** Adds values to what is redacted everywhere. */
  add(strong: readonly string[]): void {
    for (const value of strong) this.#strong.add(value);
    this.#compiled = undefined;
  }

  /** Null when there is nothing to redact. */
  get forEveryone(): Redact | null {
    return this.#forSecrets([]);
  }

  /** `own`: the values of the agent's overlay. It is called once for each agent and set of models. */
  forAgent(agent: Agent, models: readonly string[], own: () => readonly string[]): Redact | null {
    this.#compile();
    let known = this.#byAgent.get(agent);
    if (known === undefined) this.#byAgent.set(agent, (known = new Map()));
    const key = models.join(' ');
    let redact = known.get(key);
    // probe: redact-for-agent
    if (redact === undefined) known.set(key, (redact = this.#forSecrets(own())));
    return redact;
  }

  #forSecrets(own: readonly string[]): Redact | null {
    const { values, patterns } = this.#compile();
    const weak = [...new Set(own)].filter((value) => !values.has(value)).sort();
    const key = JSON.stringify(weak);
    let redact = this.#bySecrets.get(key);
    if (redact === undefined) {
      redact = redactPatterns([...patterns, compileSecrets(weak)]);
      this.#bySecrets.set(key, redact);
    }
    return redact;
  }

  /** If values were added, here or to the base, the redactors made before are forgotten. */
  #compile(): StrongPatterns {
    const base = this.#base === null ? undefined : this.#base.#compile();
    if (this.#compiled !== undefined && this.#compiled.base === base) return this.#compiled;
    this.#byAgent = new WeakMap();
    this.#bySecrets = new Map();
    const own = [...this.#strong].filter((value) => base?.values.has(value) !== true);
    const patterns = [...(base?.patterns ?? []), compileSecrets(own)];
    const values = base === undefined ? this.#strong : new Set([...base.values, ...own]);
    this.#compiled = { values, patterns, base };
    return this.#compiled;
  }
}
