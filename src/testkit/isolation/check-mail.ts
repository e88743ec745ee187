// Checks non-interference of agents that spawn agents and exchange messages, with pairs of their own.
import type { Agent } from '#contracts';
import { isMailTool } from '#core/session';
import { checkPairs, nothingVaried } from './check-pairs.ts';
import type { DifferenceFound, PairCheckOptions, PairCheckReport } from './check-pairs.ts';
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

export const checkMail = async (subject: Subject, options: PairCheckOptions): Promise<PairCheckReport> => {
  const pairs = new MailPairs(subject);
  const tally = new MailTally();
  const report = await checkPairs(pairs, options, {
    explain: (found) => explain(pairs, found),
    noun: 'such pairs',
    tally: ({ runs }) => tally.add(runs[0]),
  });
  return { ...report, notes: [tally.note(pairs, report.pairs), ...report.notes] };
};

const explain = async (pairs: MailPairs, found: MailPairResult): Promise<DifferenceFound> => {
  const proof = await reproduce(pairs, found, found.acts);
  const { difference, acts, variation, runs } = proof === null ? found : await reduceActs(pairs, proof);
  const name = variation.place ?? `every "${variation.agent}"`;
  const [one, other] = runs.map(({ cells, frames }) => {
    const varied = cells.filter((state) => isVariedSession(variation, state));
    return cellOperations(frames, new Set(varied.map(({ cell }) => cell)));
  });
  return {
    ...difference!,
    varied: proof === null ? nothingVaried : name,
    shortest: `${acts.length} acts (${acts.map(actText).join('; ')}); ${name}: ${one} | ${other}`,
    seed: proof === null ? null : found.seed,
    isProof: proof !== null,
  };
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
