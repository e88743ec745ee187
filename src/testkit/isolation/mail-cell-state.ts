// One session of a run of agents that talk: where it is, what it saw, what it says next.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Birth } from '#contracts';
import { Observer } from './observer.ts';
import type { PlayedOutput } from './played-model.ts';

/** A model that is being asked, and waits to be told what to say. */
export type Question = { readonly options: LanguageModelV4CallOptions; answer(said: PlayedOutput): void };

export class MailCellState {
  readonly birth: Birth;
  /** `lead › worker #2`: the second worker that the lead has begun. */
  readonly place: string;
  readonly parent: MailCellState | null;
  readonly eye = new Observer();
  question: Question | null = null;
  /** How often it has been told what to say. */
  said = 0;

  constructor(birth: Birth, place: string, parent: MailCellState | null) {
    this.birth = birth;
    this.place = place;
    this.parent = parent;
  }

  get tools(): readonly LanguageModelV4FunctionTool[] {
    return (this.question?.options.tools ?? []) as readonly LanguageModelV4FunctionTool[];
  }
}

/** Which sessions keep something to themselves: one, or all of an agent, and then what the agent is told too. */
export type TalkVariation = {
  readonly salt: string;
  readonly agent: string;
  /** Null: all of the agent. */
  readonly place: string | null;
};

export const isVariedSeat = (variation: TalkVariation | null, { place, birth }: MailCellState): boolean =>
  variation !== null && (variation.place === null ? variation.agent === birth.agent : variation.place === place);
