// Compares pairs of runs of one random team, as users do with `checkIsolation`.
import { defineAgent } from 'cloister';
import { checkIsolation } from '#testkit';
import { randomTeam } from './many-pairs-teams.ts';

export type ManyPairsReport = {
  readonly pairs: number;
  readonly sights: number;
  readonly bytes: number;
  readonly difference: object | null;
};

/** The seed decides the team and what its agents do. */
export const compareRandomTeam = async (seed: number, pairs: number): Promise<ManyPairsReport> => {
  const agent = randomTeam(defineAgent, seed);
  const report = await checkIsolation({ agent }, { pairs, seed, recordsEvery: 16 });
  const { sights, bytes, differences, notes } = report;
  return {
    pairs: report.pairs,
    sights,
    bytes,
    difference: report.ok ? null : { team: seed, ...differences[0], notes },
  };
};
