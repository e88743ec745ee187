// The expected course of a team's run, computed by walking through its log.
import type { DependencyHead, Envelope, Mail, TeamGoal } from '#contracts';
import type { TeamPlan } from '../plan.ts';
import type { CellFacts } from './facts.ts';
import type { ModelTask, TeamModel } from './team-model.ts';

/** A cell that works on a task, and what its prompt must show. */
export type TaskAttempt = {
  readonly cell: CellFacts;
  readonly task: ModelTask;
  readonly attempt: number;
  readonly results: readonly (DependencyHead & { readonly text: string })[];
  readonly messages: readonly Mail[];
};

export type ExpectedTeamRun = {
  readonly cell: CellFacts;
  readonly team: TeamPlan;
  readonly request: TeamGoal;
  readonly model: TeamModel;
  readonly attempts: readonly TaskAttempt[];
  /** The coordinator's planning cell. */
  readonly planned: CellFacts | null;
  readonly answered: { readonly cell: CellFacts; readonly envelope: Envelope | null } | null;
  /** Whether it was stopped. */
  readonly stopped: boolean;
  /** Whether its deadline had passed when its tasks had ended. */
  readonly late: boolean;
};
