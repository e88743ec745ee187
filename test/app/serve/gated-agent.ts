// An agent whose model answers when a test says so.
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';

export class Gate {
  readonly goals: string[] = [];
  readonly #held = new Set<() => void>();
  #waiters: { readonly count: number; readonly resolve: () => void }[] = [];
  #open = false;
  /** The most that ever waited at the same time. */
  maxWaiting = 0;

  get waiting(): number {
    return this.#held.size;
  }

  hold(due: () => void): () => void {
    if (this.#open) {
      const soon = setImmediate(due);
      return () => clearImmediate(soon);
    }
    this.#held.add(due);
    this.maxWaiting = Math.max(this.maxWaiting, this.#held.size);
    this.#waiters = this.#waiters.filter(({ count, resolve }) => this.#held.size < count || resolve());
    return () => void this.#held.delete(due);
  }

  /** Resolves when that many are waiting for their model. */
  async arrived(count: number): Promise<void> {
    if (this.#held.size < count) await new Promise<void>((resolve) => this.#waiters.push({ count, resolve }));
  }

  /** Answers all waiting requests; without `stay`, also all later ones. */
  open({ stay = false } = {}): void {
    this.#open = !stay;
    const held = [...this.#held];
    this.#held.clear();
    for (const due of held) due();
  }
}

export const gatedAgent = (name = 'gated'): { readonly agent: Agent; readonly gate: Gate } => {
  const gate = new Gate();
  const model = rehearse(
    [
      {
        reply: ({ goal }) => {
          gate.goals.push(goal);
          return { text: `Done: ${goal}`, delayMs: 1 };
        },
      },
    ],
    { clock: { timer: (_ms, due) => gate.hold(due) } },
  );
  const limits = { maxRetries: 0 };
  return { agent: defineAgent({ name, description: 'Waits.', prompt: 'Wait.', limits, models: [model] }), gate };
};
