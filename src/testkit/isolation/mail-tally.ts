// What happened in the runs of agents that talk, in figures: a comparison of runs in which nothing happens shows nothing.
import type { TalkPairs } from './mail-pairs.ts';
import type { TalkRun } from './mail-run.ts';

type Compared = { readonly pairs: number; readonly wanted: number; readonly found: boolean };

export class TalkTally {
  readonly #sessions = new Map<string, number>();
  #messages = 0;
  #broadcasts = 0;

  add({ seats, frames }: TalkRun): void {
    for (const { birth } of seats) this.#sessions.set(birth.agent, (this.#sessions.get(birth.agent) ?? 0) + 1);
    for (const { contents = [] } of frames)
      for (const { kind, to } of contents) {
        if (to === 'outside') continue;
        if (kind === 'message') this.#messages++;
        if (kind === 'broadcast') this.#broadcasts++;
      }
  }

  notes({ team, obstacle }: TalkPairs, seen: Compared): readonly string[] {
    const known = team.parts.map(({ own }) => own.name);
    const sessions = known.map((name) => `${this.#sessions.get(name) ?? 0} of ${name}`);
    const described = [...this.#sessions].filter(([name]) => !known.includes(name));
    const count = described.reduce((sum, [, of]) => sum + of, 0);
    if (count > 0) sessions.push(`${count} that were described in a call`);
    return [
      `In ${seen.pairs} of the pairs agents begin others and talk: sessions ${sessions.join(', ')}; ${this.#messages} messages and ${this.#broadcasts} broadcasts came to them.`,
      ...(seen.pairs >= seen.wanted || seen.found
        ? []
        : [
            `Only ${seen.pairs} of ${seen.wanted} such pairs were compared${obstacle === '' ? '' : `; of another, ${obstacle}`}.`,
          ]),
    ];
  }
}
