// What somebody wants done, and how far that is.
import type { RunId } from '#base';
import type { ConversationRef } from '#contracts';
import type { RunPlan } from './plan.ts';
import type { Process } from './process.ts';

export type Task = {
  readonly plan: RunPlan;
  readonly index: number;
  readonly goal: string;
  /** Where its turns are taken, if it is of a conversation. */
  readonly conversation: ConversationRef | null;
  /** Which turn it is at. */
  turn: number;
  /** Who was asked for the next one, and has not said yet. */
  asking: Process | null;
  /** The run that was begun for it last. */
  run: RunId | null;
  wanted: boolean;
  asked: number;
  over: boolean;
};

export const taskOf = (plan: RunPlan, index: number, conversation: ConversationRef | null = null): Task => ({
  plan,
  index,
  goal: plan.goal,
  conversation: conversation ?? (plan.turns === 0 ? null : { agent: plan.agent.name, name: 'talk' }),
  turn: 1,
  asking: null,
  run: null,
  wanted: false,
  asked: 0,
  over: false,
});

/** No two requests have the same words. */
export const goalOf = ({ goal, turn, asked }: Task): string =>
  `${goal}${turn === 1 ? '' : `, turn ${turn}`}${asked === 0 ? '' : `, asked again (${asked})`}`;

export const optionsOf = ({ context, budget }: RunPlan) => ({ context, ...(budget === undefined ? {} : { budget }) });

/** The same with nobody who tells it anything. */
export const untold = (plan: RunPlan): RunPlan => ({
  ...plan,
  gives: [],
  sends: [],
  team: plan.team && { ...plan.team, adds: [], words: [] },
});
