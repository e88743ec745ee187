// Counts what happened in the runs with messages, because a comparison of runs in which nothing happens shows nothing.
import type { MailPairs } from './mail-pairs.ts';
import type { MailRun } from './mail-run.ts';

type PairCount = { readonly pairs: number; readonly wanted: number; readonly found: boolean };

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

  notes({ tree, obstacle }: MailPairs, seen: PairCount): readonly string[] {
    const known = tree.all.map(({ own }) => own.name);
    const sessions = known.map((name) => `${this.#sessions.get(name) ?? 0} of ${name}`);
    const described = [...this.#sessions].filter(([name]) => !known.includes(name));
    const count = described.reduce((sum, [, of]) => sum + of, 0);
    if (count > 0) sessions.push(`${count} defined inline`);
    return [
      `${seen.pairs} of the pairs spawn agents and exchange messages: sessions ${sessions.join(', ')}; they got ${this.#messages} messages and ${this.#broadcasts} broadcasts.`,
      ...(seen.pairs >= seen.wanted || seen.found
        ? []
        : [
            `Only ${seen.pairs} of ${seen.wanted} such pairs were compared${obstacle === '' ? '' : `; one could not be: ${obstacle}`}.`,
          ]),
    ];
  }
}
