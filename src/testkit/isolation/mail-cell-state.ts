// One session of a run with messages: its place, what it saw, and the model request that waits for a reply.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { CellId } from '#base';
import type { Birth } from '#contracts';
import { Observer } from './observer.ts';
import { aideWorkflow } from './mail-act.ts';
import type { TestModelOutput } from './test-model.ts';

/** A model request that waits for its reply. */
type PendingRequest = {
  readonly options: LanguageModelV4CallOptions;
  /** The index of the model. */
  readonly model: number;
  answer(said: TestModelOutput): void;
};

export class MailCellState {
  readonly birth: Birth;
  readonly cell: CellId;
  /** `lead › worker #2`: the second worker that the lead has started. */
  readonly place: string;
  readonly parent: MailCellState | null;
  readonly observer = new Observer();
  pendingRequest: PendingRequest | null = null;
  /** The number of replies so far, and of failures since the latest one. */
  replies = 0;
  failures = 0;

  constructor(birth: Birth, place: string, parent: MailCellState | null) {
    this.birth = birth;
    this.cell = birth.cell;
    this.place = place;
    this.parent = parent;
  }

  /** Part of the private work of its parent. */
  get isAide(): boolean {
    return this.birth.spawned?.workflow?.startsWith(aideWorkflow) === true || this.parent?.isAide === true;
  }

  get tools(): readonly LanguageModelV4FunctionTool[] {
    return (this.pendingRequest?.options.tools ?? []) as readonly LanguageModelV4FunctionTool[];
  }
}

/** The varied sessions: one, or all of an agent and then its definition as well. */
export type MailVariation = {
  readonly salt: string;
  readonly agent: string;
  /** Null: all sessions of the agent. */
  readonly place: string | null;
};

/** With its aides. */
export const isVariedSession = (variation: MailVariation | null, state: MailCellState): boolean => {
  if (variation === null) return false;
  if (variation.place === null ? variation.agent === state.birth.agent : variation.place === state.place) return true;
  return state.isAide && state.parent !== null && isVariedSession(variation, state.parent);
};
