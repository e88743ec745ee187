// A run that somebody wants, and its progress.
import type { RunId } from '#base';
import type { ConversationRef } from '#contracts';
import type { RunPlan } from './plan.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

export type RunTask = {
  readonly plan: RunPlan;
  readonly index: number;
  readonly goal: string;
  /** The conversation of its turns, if any. */
  readonly conversation: ConversationRef | null;
  /** The current turn. */
  turn: number;
  /** The process that was asked for the next turn and has not replied yet. */
  pendingIn: Process | null;
  /** The run that was started for it last. */
  run: RunId | null;
  wanted: boolean;
  requests: number;
  done: boolean;
};

export const createRunTask = (plan: RunPlan, index: number, conversation: ConversationRef | null = null): RunTask => ({
  plan,
  index,
  goal: plan.goal,
  conversation: conversation ?? (plan.turns === 0 ? null : { agent: plan.agent.name, name: 'talk' }),
  turn: 1,
  pendingIn: null,
  run: null,
  wanted: false,
  requests: 0,
  done: false,
});

/** No two requests have the same text. */
export const goalText = ({ goal, turn, requests }: RunTask): string =>
  `${goal}${turn === 1 ? '' : `, turn ${turn}`}${requests === 0 ? '' : `, asked again (${requests})`}`;

export const runOptions = ({ context, system, attachments, budget }: RunPlan) => ({
  context,
  ...(attachments.length === 0 ? {} : { attachments }),
  ...(system.length === 0 ? {} : { system }),
  ...(budget === undefined ? {} : { budget }),
});

/** The plan without anything that is sent while it runs. */
export const withoutInput = (plan: RunPlan): RunPlan => ({
  ...plan,
  gives: [],
  sends: [],
  signals: [],
  team: plan.team && { ...plan.team, additions: [], messages: [] },
});

/** Runs that were deleted before they had ended, and are there again, are resumed like others. */
export const reopenTasks = ({ disk }: Pick<World, 'disk'>, tasks: readonly RunTask[], runs: readonly RunId[]): void => {
  for (const task of tasks) {
    if (task.run === null || !runs.includes(task.run)) continue;
    const isOver = disk.bodies(task.run).at(-1)?.includes('"type":"close"') === true;
    if (!isOver) Object.assign(task, { done: false, wanted: true });
  }
};
