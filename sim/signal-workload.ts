// Plans what is asked of runs from other processes: answers, messages, and to cancel or to finish.
import type { RunPlan, SignalMoment, SignalPlan } from './plan.ts';
import type { Random } from './random.ts';

export const withSignals = (run: RunPlan, random: Random): RunPlan => ({
  ...run,
  people: run.people && { ...run.people, elsewhere: random.pick([0.5, 0.8, 1]) },
  signals: planSignals(run, random),
});

export const planCrashAt = (random: Random): SignalMoment | null =>
  random.chance(0.6) ? random.pick(['put signal', 'signal stored', 'remove signal', 'signal removed']) : null;

/** When a process is closed properly; null: never. */
export const planClose = (random: Random): number | null => (random.chance(0.3) ? random.log(30, 3_000) : null);

/** Messages within a conversation, and to the members of a team, would change what other judges know. */
const planSignals = ({ turns, team, agent, resident }: RunPlan, random: Random): readonly SignalPlan[] => {
  const hasMailbox = turns === 0 && team === null && agent.mail !== null;
  return Array.from({ length: random.chance(hasMailbox ? 0.9 : 0.3) ? random.int(1, hasMailbox ? 5 : 1) : 0 }, () => ({
    afterMs: random.log(20, 3_000),
    what: hasMailbox
      ? random.weighted({ send: 12, finish: resident === null ? 0 : 2, cancel: 1 })
      : ('cancel' as const),
    twice: random.chance(0.3),
  }));
};
