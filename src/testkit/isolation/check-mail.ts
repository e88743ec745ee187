// Non-interference of agents that begin others and talk to them: pairs of runs, besides those of the tree of calls.
import type { Agent, VerifyDifference } from '#contracts';
import { isMailTool } from '#core/session';
import { cellOperations } from './describe-case.ts';
import type { Subject } from './subject.ts';
import { actText } from './mail-act.ts';
import type { Act } from './mail-act.ts';
import { TalkPairs } from './mail-pairs.ts';
import type { TalkCompared } from './mail-pairs.ts';
import { isVariedSeat } from './mail-cell-state.ts';
import { TalkTally } from './mail-tally.ts';

/** Whether an agent, or any below it, begins others or talks to them. */
export const talks = (agent: Agent): boolean => {
  const all = new Set([agent]);
  for (const one of all) {
    if (one.spawns !== null || one.builtins.some(isMailTool)) return true;
    for (const child of one.agents) all.add(child);
  }
  return false;
};

export type TalkOptions = {
  readonly seed: number;
  readonly pairs: number;
  readonly signal?: AbortSignal | undefined;
  readonly progress: (pairs: number) => void;
  readonly again: (seed: number, pairs: number) => string;
};

export type TalkReport = {
  readonly pairs: number;
  readonly sights: number;
  readonly bytes: number;
  readonly differences: readonly VerifyDifference[];
  readonly notes: readonly string[];
};

export const checkTalk = async (subject: Subject, options: TalkOptions): Promise<TalkReport> => {
  const { seed, pairs: wanted, signal, progress, again } = options;
  const pairs = new TalkPairs(subject);
  const tally = new TalkTally();
  const seen = { pairs: 0, sights: 0, bytes: 0 };
  let found: TalkCompared | null = null;
  let proof: TalkCompared | null = null;
  // Some pairs cannot be compared; then the next seed is tried. What shows only once proves nothing: better may come.
  for (let at = seed; seen.pairs < wanted && at < seed + 4 * wanted && proof === null; at++) {
    if (signal?.aborted === true) break;
    const compared = await pairs.compare(at);
    if (compared === null) continue;
    seen.pairs++;
    seen.sights += compared.sights;
    seen.bytes += compared.bytes;
    tally.add(compared.runs[0]);
    progress(seen.pairs);
    if (compared.difference === null) continue;
    found ??= compared;
    proof = await proven(pairs, compared, compared.acts);
  }
  const differences =
    proof !== null
      ? [toldDifference(await shortest(pairs, proof), true, again(proof.seed, 1))]
      : found === null
        ? []
        : [toldDifference(found, false, again(seed, seen.pairs))];
  return { ...seen, differences, notes: tally.notes(pairs, { ...seen, wanted, found: found !== null }) };
};

/** The pair by itself, with these acts; null unless it still differs, and does not when nothing is varied. */
const proven = async (pairs: TalkPairs, of: TalkCompared, acts: readonly Act[]): Promise<TalkCompared | null> => {
  const alone = await pairs.again(of, acts);
  if (alone === null || alone.difference === null) return null;
  return (await pairs.isSteady(alone)) ? alone : null;
};

const toldDifference = (compared: TalkCompared, isProven: boolean, again: string): VerifyDifference => {
  const { difference, acts, variation, runs } = compared;
  const name = variation.place ?? `every "${variation.agent}"`;
  const [one, other] = runs.map(({ seats, frames }) => {
    const varied = seats.filter((seat) => isVariedSeat(variation, seat));
    return cellOperations(frames, new Set(varied.map(({ birth }) => birth.cell)));
  });
  return {
    ...difference!,
    varied: isProven ? name : 'nothing (played again, the same run shows something else)',
    shortest: `${acts.length} acts (${acts.map(actText).join('; ')}); ${name}: ${one} | ${other}`,
    again,
  };
};

/** Without every act that it does not need: many at once where that goes, in the end each by itself. */
const shortest = async (pairs: TalkPairs, proof: TalkCompared): Promise<TalkCompared> => {
  let best = proof;
  for (let size = proof.acts.length; size > 0; size = Math.floor(size / 2))
    for (let end = best.acts.length; end > 0; end -= size) {
      const fewer = [...best.acts.slice(0, Math.max(0, end - size)), ...best.acts.slice(end)];
      best = (await proven(pairs, best, fewer)) ?? best;
    }
  return best;
};
