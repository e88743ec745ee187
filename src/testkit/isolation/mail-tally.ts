// Counts what happened in the runs with messages, because a comparison of runs in which nothing happens shows nothing.
import type { MailPairs } from './mail-pairs.ts';
import type { MailRun } from './mail-run.ts';

export class MailTally {
  readonly #sessions = new Map<string, number>();
  #messages = 0;
  #broadcasts = 0;

  add({ cells, frames }: MailRun): void {
    for (const { birth } of cells) this.#sessions.set(birth.agent, (this.#sessions.get(birth.agent) ?? 0) + 1);
    for (const { contents = [] } of frames)
      for (const { kind, to } of contents) {
        if (to === 'outside') continue;
        if (kind === 'message') this.#messages++;
        if (kind === 'broadcast') this.#broadcasts++;
      }
  }

  note({ tree }: MailPairs, pairs: number): string {
    const known = tree.all.map(({ own }) => own.name);
    const sessions = known.map((name) => `${this.#sessions.get(name) ?? 0} of ${name}`);
    const described = [...this.#sessions].filter(([name]) => !known.includes(name));
    const count = described.reduce((sum, [, of]) => sum + of, 0);
    if (count > 0) sessions.push(`${count} defined inline`);
    return `${pairs} of the pairs spawn agents and exchange messages: sessions ${sessions.join(', ')}; they got ${this.#messages} messages and ${this.#broadcasts} broadcasts.`;
  }
}
