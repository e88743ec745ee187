// What happens in a run, as chat front ends show it: texts, calls of tools, and the agents below the one that was asked.
import type { CellId } from '#base';
import type { CallerQuestion, DurableEvent } from '#contracts';

export type TextKind = 'text' | 'reasoning';

/** `by`: the cell of the agent below that writes; null: the agent that was asked. */
export type TextActivity =
  /** A piece of a text. The first one starts it. */
  | {
      readonly type: 'text';
      readonly kind: TextKind;
      readonly by: CellId | null;
      readonly id: string;
      readonly text: string;
    }
  | { readonly type: 'text-end'; readonly kind: TextKind; readonly by: CellId | null; readonly id: string }
  /** These texts are void, although they were sent. All of them have ended. */
  | { readonly type: 'withdrawn'; readonly by: CellId | null; readonly ids: readonly string[] }
  /** A model is asked for the next turn. */
  | { readonly type: 'turn'; readonly by: CellId | null };

/** `by`: the cell of the agent below that does it; null: the agent that was asked. */
export type RunActivity =
  | TextActivity
  /** A tool is to be called. `text`: the id of what the agent wrote before it, in the same turn. `question`: a person is asked first. */
  | {
      readonly type: 'call';
      readonly by: CellId | null;
      readonly id: string;
      readonly tool: string;
      /** JSON; long arguments may be cut. */
      readonly args: string;
      readonly text: string | null;
      readonly question: QuestionEvent | null;
    }
  | {
      readonly type: 'result';
      readonly by: CellId | null;
      readonly call: string;
      readonly state: 'ok' | 'failed' | 'denied';
      readonly text: string;
    }
  /** An agent below starts. `call`: the call that started it; null: nobody called it. */
  | {
      readonly type: 'agent';
      readonly cell: CellId;
      readonly name: string;
      readonly by: CellId | null;
      readonly call: string | null;
    }
  | { readonly type: 'agent-end'; readonly cell: CellId; readonly error: ActivityError | null }
  | { readonly type: 'crossing'; readonly event: EventOf<'crossing' | 'crossing-refused'> };

export type ActivityError = { readonly code: string; readonly message: string };

export type EventOf<T extends DurableEvent['type']> = DurableEvent & { readonly type: T };
export type QuestionEvent = EventOf<'question'>;

/** Tokens of one model, as far as they were used for what the reader is told. */
export type ModelUsage = {
  readonly provider: string;
  readonly model: string;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
};

/** A question that the reader is asked. */
export type QuestionCall = {
  readonly question: CallerQuestion;
  /** The id of the call that it is about. */
  readonly call: string;
  readonly by: CellId | null;
};
