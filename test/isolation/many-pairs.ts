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
export const compareRandomTeam = async (
  seed: number,
  pairs: number,
  { marks = false, recordsEvery = 16 } = {},
): Promise<ManyPairsReport> => {
  const agent = randomTeam(defineAgent, seed, marks);
  const report = await checkIsolation({ agent }, { pairs, seed, recordsEvery });
  const { sights, bytes, differences, notes } = report;
  return {
    pairs: report.pairs,
    sights,
    bytes,
    difference: report.ok ? null : { team: seed, ...differences[0], notes },
  };
};
