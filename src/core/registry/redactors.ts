// One redactor for each set of secrets: those that nobody can guess are searched for everywhere, the weak ones of an agent only
// in its own cells.
//
//   redactor-by-own-agent. What a cell's redactor replaces is a function of its agent's own definition and overlay, and of
//       values that nobody can guess. So no cell can test a guess of what another agent holds.
import type { Agent, Redact } from '#contracts';
import { compileSecrets, redactPatterns } from './redact.ts';
import type { SecretPatterns } from './redact.ts';

export class Redactors {
  readonly #strong = new Set<string>();
  #byAgent = new WeakMap<Agent, Map<string, Redact | null>>();
  #bySecrets = new Map<string, Redact | null>();
  /** Compiled once for all agents: there may be many keys. */
  #strongPatterns: SecretPatterns | null | undefined;

  /** Adds values to what is redacted everywhere. */
  add(strong: readonly string[]): void {
    for (const value of strong) this.#strong.add(value);
    this.#byAgent = new WeakMap();
    this.#bySecrets = new Map();
    this.#strongPatterns = undefined;
  }

  /** Null when there is nothing to redact. */
  get forEveryone(): Redact | null {
    return this.#forSecrets([]);
  }

  /** `own`: the values of the agent's overlay. It is called once for each agent and set of models. */
  forAgent(agent: Agent, models: readonly string[], own: () => readonly string[]): Redact | null {
    let known = this.#byAgent.get(agent);
    if (known === undefined) this.#byAgent.set(agent, (known = new Map()));
    const key = models.join(' ');
    let redact = known.get(key);
    // probe: redact-for-agent
    if (redact === undefined) known.set(key, (redact = this.#forSecrets(own())));
    return redact;
  }

  #forSecrets(own: readonly string[]): Redact | null {
    const weak = [...new Set(own)].filter((value) => !this.#strong.has(value)).sort();
    const key = JSON.stringify(weak);
    let redact = this.#bySecrets.get(key);
    if (redact === undefined) {
      if (this.#strongPatterns === undefined) this.#strongPatterns = compileSecrets([...this.#strong]);
      redact = redactPatterns([this.#strongPatterns, compileSecrets(weak)]);
      this.#bySecrets.set(key, redact);
    }
    return redact;
  }
}
