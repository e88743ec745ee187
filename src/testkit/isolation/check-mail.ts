// Checks non-interference of agents that spawn agents and exchange messages, with pairs of their own.
import type { Agent, VerifyDifference } from '#contracts';
import { isMailTool } from '#core/session';
import { cellOperations } from './describe-case.ts';
import type { Subject } from './subject.ts';
import { actText } from './mail-act.ts';
import type { Act } from './mail-act.ts';
import { MailPairs } from './mail-pairs.ts';
import type { MailPairResult } from './mail-pairs.ts';
import { isVariedSession } from './mail-cell-state.ts';
import { MailTally } from './mail-tally.ts';

/** Whether an agent, or any below it, spawns agents or has mail tools. */
export const spawnsOrMails = (agent: Agent): boolean => {
  const all = new Set([agent]);
  for (const one of all) {
    if (one.spawns !== null || one.builtins.some(isMailTool)) return true;
    for (const child of one.agents) all.add(child);
  }
  return false;
};

export type PairCheckOptions = {
  readonly seed: number;
  readonly pairs: number;
  readonly signal?: AbortSignal | undefined;
  readonly progress: (pairs: number) => void;
  readonly again: (seed: number, pairs: number) => string;
};

export type PairCheckReport = {
  readonly pairs: number;
  readonly sights: number;
  readonly bytes: number;
  readonly differences: readonly VerifyDifference[];
  readonly notes: readonly string[];
};

export const checkMail = async (subject: Subject, options: PairCheckOptions): Promise<PairCheckReport> => {
  const { seed, pairs: wanted, signal, progress, again } = options;
  const pairs = new MailPairs(subject);
  const tally = new MailTally();
  const seen = { pairs: 0, sights: 0, bytes: 0 };
  let found: MailPairResult | null = null;
  let proof: MailPairResult | null = null;
  // Some pairs cannot be compared; the next seed replaces them. A difference that cannot be reproduced proves nothing, so the
  // search continues.
  for (let at = seed; seen.pairs < wanted && at < seed + 4 * wanted && proof === null; at++) {
    if (signal?.aborted === true) break;
    const compared = await pairs.compare(at);
    if (compared === null) continue;
    seen.pairs++;
    seen.sights += compared.observations;
    seen.bytes += compared.bytes;
    tally.add(compared.runs[0]);
    progress(seen.pairs);
    if (compared.difference === null) continue;
    found ??= compared;
    proof = await reproduce(pairs, compared, compared.acts);
  }
  const differences =
    proof !== null
      ? [describeDifference(await reduceActs(pairs, proof), true, again(proof.seed, 1))]
      : found === null
        ? []
        : [describeDifference(found, false, again(seed, seen.pairs))];
  return { ...seen, differences, notes: tally.notes(pairs, { ...seen, wanted, found: found !== null }) };
};

/** Repeats the pair on its own, with these acts. Returns null unless it still differs, and only when something is varied. */
const reproduce = async (
  pairs: MailPairs,
  pair: MailPairResult,
  acts: readonly Act[],
): Promise<MailPairResult | null> => {
  const alone = await pairs.compareActs(pair, acts);
  if (alone === null || alone.difference === null) return null;
  return (await pairs.isReproducible(alone)) ? alone : null;
};

const describeDifference = (compared: MailPairResult, isProven: boolean, again: string): VerifyDifference => {
  const { difference, acts, variation, runs } = compared;
  const name = variation.place ?? `every "${variation.agent}"`;
  const [one, other] = runs.map(({ cells, frames }) => {
    const varied = cells.filter((state) => isVariedSession(variation, state));
    return cellOperations(frames, new Set(varied.map(({ birth }) => birth.cell)));
  });
  return {
    ...difference!,
    varied: isProven ? name : 'nothing (the same run gives a different result when repeated)',
    shortest: `${acts.length} acts (${acts.map(actText).join('; ')}); ${name}: ${one} | ${other}`,
    again,
  };
};

/** Removes all acts that the difference does not need: many at a time where possible, then one by one. */
const reduceActs = async (pairs: MailPairs, proof: MailPairResult): Promise<MailPairResult> => {
  let best = proof;
  for (let size = proof.acts.length; size > 0; size = Math.floor(size / 2))
    for (let end = best.acts.length; end > 0; end -= size) {
      const fewer = [...best.acts.slice(0, Math.max(0, end - size)), ...best.acts.slice(end)];
      best = (await reproduce(pairs, best, fewer)) ?? best;
    }
  return best;
};
