// The sessions of a run with messages, and the acts that others can observe, which are the same in both runs of a pair.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { TestModelOutput } from './test-model.ts';
import { ObservedCell } from './test-run.ts';

/** A session is identified by its place: its parent, its agent, and a number. */
export type Act =
  /** A session's model replies with calls or an answer. */
  | { readonly do: 'say'; readonly place: string; readonly calls: readonly DrawnCall[]; readonly text: string }
  /** The process crashes, and another one resumes from the log. */
  | { readonly do: 'crash' }
  | { readonly do: 'pass'; readonly ms: number }
  /** The user asks an agent to finish, or sends a message. */
  | { readonly do: 'end'; readonly place: string }
  | { readonly do: 'tell'; readonly text: string; readonly topic?: string };

/** The workflow of agents that a session starts as part of its private work begins with this. */
export const aideWorkflow = 'besides-';

export type DrawnCall = { readonly name: string; readonly args: JsonObject };

/** A short description for reports. */
export const actText = (act: Act): string => {
  switch (act.do) {
    case 'say':
      return `${act.place}: ${act.calls.length === 0 ? 'an answer' : act.calls.map(callText).join(', ')}`;
    case 'crash':
      return 'a crash';
    case 'pass':
      return `${act.ms / 1_000} s pass`;
    case 'end':
      return `${act.place} is asked to finish`;
    case 'tell':
      return act.topic === undefined ? 'a message from outside' : 'a broadcast from outside';
  }
};

const about = ['agent_id', 'to', 'sub_agent_id', 'topic'] as const;

const callText = ({ name, args }: DrawnCall): string => {
  const whom = about.map((key) => args[key]).find((value) => typeof value === 'string');
  return whom === undefined ? name : `${name} ${whom}`;
};

/** A model request that waits for its reply. */
type PendingRequest = {
  readonly options: LanguageModelV4CallOptions;
  /** The index of the model. */
  readonly model: number;
  answer(said: TestModelOutput): void;
};

export class MailCell extends ObservedCell {
  declare readonly parent: MailCell | null;
  pendingRequest: PendingRequest | null = null;
  /** The number of replies so far, and of failures since the latest one. */
  replies = 0;
  failures = 0;

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
export const isVariedSession = (variation: MailVariation | null, state: MailCell): boolean => {
  if (variation === null) return false;
  if (variation.place === null ? variation.agent === state.birth.agent : variation.place === state.place) return true;
  return state.isAide && state.parent !== null && isVariedSession(variation, state.parent);
};
