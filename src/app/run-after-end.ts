// What is kept of a run that has ended. Somebody who reads slowly may keep its session for long: what its agents knew, such as their
// windows, is not kept with it.
import type { Run } from '#core/orchestration';

type RunAfterEnd = Pick<Run, 'broken'> & {
  /** What a caller can still ask of a team. */
  readonly team: Pick<NonNullable<Run['team']>, 'queue' | 'memory' | 'mail'> | null;
};

export const keepAfterEnd = ({ broken, team }: Run): RunAfterEnd => ({
  broken,
  team: team && { queue: team.queue, memory: team.memory, mail: team.mail },
});
