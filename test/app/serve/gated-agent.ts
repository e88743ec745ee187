// An agent whose model answers when a test says so.
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';

export class Gate {
  readonly goals: string[] = [];
  readonly #held = new Set<() => void>();
  #hopes: { readonly count: number; readonly resolve: () => void }[] = [];
  #open = false;
  /** At once, ever. */
  most = 0;

  get waiting(): number {
    return this.#held.size;
  }

  hold(due: () => void): () => void {
    if (this.#open) {
      const soon = setImmediate(due);
      return () => clearImmediate(soon);
    }
    this.#held.add(due);
    this.most = Math.max(this.most, this.#held.size);
    this.#hopes = this.#hopes.filter(({ count, resolve }) => this.#held.size < count || resolve());
    return () => void this.#held.delete(due);
  }

  /** When so many wait for their model. */
  async arrived(count: number): Promise<void> {
    if (this.#held.size < count) await new Promise<void>((resolve) => this.#hopes.push({ count, resolve }));
  }

  /** Whoever waits is answered; with `stay`, only those. */
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
