// What should have come of a team's work, told by whoever walked through its log.
import type { DependencyHead, Envelope, Mail, TeamGoal } from '#contracts';
import type { TeamPlan } from '../plan.ts';
import type { CellFacts } from './facts.ts';
import type { ModelTask, TeamModel } from './team-model.ts';

/** A cell that works on a task, and what it has to be shown. */
export type Work = {
  readonly cell: CellFacts;
  readonly task: ModelTask;
  readonly attempt: number;
  readonly results: readonly (DependencyHead & { readonly text: string })[];
  readonly messages: readonly Mail[];
};

export type TeamStory = {
  readonly cell: CellFacts;
  readonly team: TeamPlan;
  readonly asked: TeamGoal;
  readonly model: TeamModel;
  readonly works: readonly Work[];
  /** The cells of its coordinator. */
  readonly planned: CellFacts | null;
  readonly answered: { readonly cell: CellFacts; readonly envelope: Envelope | null } | null;
  /** Whether somebody stopped it. */
  readonly stopped: boolean;
  /** Whether its time was up when it came to the end. */
  readonly late: boolean;
};
