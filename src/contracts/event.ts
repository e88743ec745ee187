// The events of a run, for people and headends. Durable events are a projection of the log; live events are not stored.
import type { CellId, JsonObject, PublicFailure, RunId, TeamGoalInfo } from '#base';
import type { Spent } from './amounts.ts';
import type { CrossingKind, CrossingEnd, RefusalReason } from './crossing.ts';
import type { Category, RuleName, WindowLimit } from './segment.ts';
import type { DeadReason, MailReport, MailState } from './mail.ts';
import type { Question } from './question.ts';
import type { Status } from './session.ts';
import type { TaskReason, TaskStatus } from './team.ts';
import type { Amendment, ForkOrigin } from './fork.ts';

type Base = {
  /** `<cell>/<frame number>`, with a letter if one frame has several events. */
  readonly id: string;
  readonly run: RunId;
  readonly cell: CellId;
  readonly agent: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The sender's name; `person`: whoever requested the run. */
  readonly agent_id: string;
  /** The recipient, for events between two agents. */
  readonly recipient_id: string | null;
  /** For events between two agents: the kind of message or crossing. Otherwise the event type. */
  readonly message_type: string;
  /** Links related events: the number of an operation of the cell, or the id of a message. */
  readonly correlation_id: string | null;
};

/**
 * Sizes of input and output, in UTF-8 bytes and in UTF-16 code units. For a model: the whole prompt, as its attempt records it;
 * the texts, reasoning and call inputs of its reply. For a tool: its arguments; its whole output. For a sub-agent: what crossed.
 */
type Sizes = {
  readonly bytesIn: number;
  readonly charsIn: number;
  readonly bytesOut: number;
  readonly charsOut: number;
};

/** `detail`: what the outside said about the failure, for those who see causes. */
export type EventError = PublicFailure & { readonly detail?: string };

/**
 * `details`: contents, for readers who may see them and ask for them. The figures of a run are the sums over its `model-end`,
 * `tool-end` and `child-end` events.
 */
export type DurableEvent = Base &
  (
    | {
        readonly type: 'session-start';
        readonly parent: CellId | null;
        /** The tool name under which its parent's model called it; null at the root. */
        readonly tool: string | null;
        readonly depth: number;
        /** For a team at the root: a description of its goal. */
        readonly goal: string;
        /** For a team at the root: its goal and tasks. */
        readonly team?: TeamGoalInfo;
        /** The agent's models that were not used, because a variable of their provider had no value. */
        readonly passedOver?: readonly string[];
      }
    | {
        readonly type: 'model-start';
        readonly details?: EventDetails['model-start'];
        readonly op: number;
        readonly turn: number;
        readonly model: string;
        readonly promptBytes: number;
      }
    | ({
        readonly type: 'model-end';
        readonly details?: EventDetails['model-end'];
        readonly op: number;
        readonly ok: boolean;
        /** The part of the model's name before the first `/`. */
        readonly provider: string;
        readonly model: string;
        readonly inputTokens: number;
        /** The part of the input that the provider read from its cache, and the part it wrote there. */
        readonly cacheReadTokens: number;
        readonly cacheWriteTokens: number;
        readonly outputTokens: number;
        /** Null: the price is unknown. Otherwise a whole number of nano-dollars, so nine decimals are exact. */
        readonly usd: number | null;
        /** Tokens whose use is unknown. */
        readonly uncertain: number;
        /** How long it worked, without waiting for a slot or for the budget. */
        readonly ms: number;
        readonly calls: number;
        readonly error: EventError | null;
      } & Sizes)
    | {
        readonly type: 'tool-start';
        readonly details?: EventDetails['tool-start'];
        readonly op: number;
        readonly tool: string;
        /** As recorded: long ones are cut. */
        readonly args: string;
      }
    | ({
        readonly type: 'tool-end';
        readonly details?: EventDetails['tool-end'];
        readonly op: number;
        readonly tool: string;
        readonly ok: boolean;
        /** How long it worked. */
        readonly ms: number;
        /** The name of the offloaded output, if it was too long to show whole. */
        readonly output: string | null;
        readonly error: EventError | null;
        /** For the refused call of an agent: the agents from the root down to the one that was called. For people only: no model sees it. */
        readonly path?: readonly string[];
      } & Sizes)
    | {
        readonly type: 'child-start';
        readonly details?: EventDetails['child-start'];
        readonly op: number;
        readonly child: CellId;
        readonly childAgent: string;
        /** The tool name under which it was called. */
        readonly tool: string;
      }
    | ({
        readonly type: 'child-end';
        readonly details?: EventDetails['child-end'];
        readonly op: number;
        readonly child: CellId;
        readonly childAgent: string;
        readonly tool: string;
        /** Whether its caller received an answer, complete or partial. */
        readonly ok: boolean;
        readonly status: Status;
        /** Why it did not complete, and which limit ended it. */
        readonly error: EventError | null;
        readonly ms: number;
      } & Sizes)
    /** The cell asks a person, and waits. `args`: exactly what is to be allowed. */
    | {
        readonly type: 'question';
        readonly op: number;
        readonly question: string;
        readonly tool: string;
        readonly args: JsonObject;
        readonly sha256: string;
        readonly why: Question['why'];
        /** The call was in flight during a crash and may have taken effect. */
        readonly indeterminate?: true;
        /** How many people must allow it. */
        readonly need: number;
        readonly until: number;
      }
    /** A person answered. */
    | {
        readonly type: 'ruling';
        readonly op: number;
        readonly question: string;
        readonly by: string;
        readonly verdict: 'allow' | 'deny';
        /** The person changed the arguments: those that are allowed. */
        readonly args?: JsonObject;
        readonly reason: string | null;
        /** It also covers the same call of cells of the same definition, in this run. */
        readonly remember: 'run' | null;
      }
    /** The question no longer waits. `cancelled`: its cell was stopped. */
    | {
        readonly type: 'question-end';
        readonly op: number;
        readonly question: string;
        readonly state: 'allowed' | 'denied' | 'expired' | 'cancelled';
      }
    /** Before the next attempt or, with `for`, after the last answer: for the work of the agents that it spawned, `ms` at most. */
    | { readonly type: 'wait-start'; readonly op: number; readonly ms: number; readonly for?: 'spawned' }
    | {
        readonly type: 'crossing';
        readonly details?: EventDetails['crossing'];
        readonly kind: CrossingKind;
        readonly from: CrossingEnd;
        readonly to: CrossingEnd;
        readonly grant: string;
        readonly bytes: number;
        readonly sha256: string;
      }
    | {
        readonly type: 'crossing-refused';
        readonly kind: CrossingKind;
        readonly from: CrossingEnd;
        readonly to: CrossingEnd;
        readonly reason: RefusalReason;
        readonly bytes: number;
      }
    /** The window is smaller than its caller's, or became smaller for another model. */
    | { readonly type: 'window-clamp'; readonly window: WindowLimit; readonly was: number | null }
    /** Messages were reduced to make room before a request: how many, and how. */
    | {
        readonly type: 'window-trim';
        readonly op: number;
        readonly how: 'compacted' | 'shortened' | 'dropped';
        readonly messages: number;
        readonly bytesBefore: number;
        readonly bytesAfter: number;
      }
    /** A message changed its state. */
    | {
        readonly type: 'mail';
        readonly details?: EventDetails['mail'];
        readonly message: string;
        readonly kind: MailReport['message_type'];
        readonly from: CrossingEnd;
        /** Null: no such recipient exists. */
        readonly to: CrossingEnd | null;
        readonly sender: string | null;
        readonly recipient: string;
        readonly topic: string | null;
        readonly correlation: string | null;
        readonly state: MailState;
        readonly reason: DeadReason | null;
        /** For a message between an agent and you, when it is sent; otherwise null. */
        readonly text: string | null;
        /** A message to you that answers none of yours. */
        readonly unasked: boolean;
        /** Set when it is sent at the end of work that failed, or whose answer is incomplete: why. */
        readonly error?: EventError;
      }
    /** A task of a team changed its state. */
    | {
        readonly type: 'task';
        readonly task: string;
        readonly title: string;
        readonly assignee: string | null;
        readonly dependsOn: readonly string[];
        readonly status: TaskStatus;
        readonly attempt: number;
        readonly reason: TaskReason | null;
      }
    | {
        readonly type: 'session-end';
        readonly details?: EventDetails['session-end'];
        readonly status: Status;
        readonly spent: Spent;
        readonly error: EventError | null;
      }
    /** The run continues after a crash; for `downMs` nothing happened. */
    | { readonly type: 'run-resume'; readonly downMs: number }
    /** The run keeps another run's log up to here and continues with something changed. */
    | { readonly type: 'run-fork'; readonly from: ForkOrigin; readonly amendment: Amendment }
    | { readonly type: 'run-cancel' }
  );

/** Emitted by a cell while it works. A new attempt resets the streamed text. */
export type LiveEvent =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'text-reset' };

/** Sent to a slow reader: live pieces of this cell and others were dropped here until the reader caught up. */
type LagEvent = { readonly type: 'text-lag' };

/** Everything that iterating a session yields: what the log holds, and text as it is written. */
export type RunEvent =
  | DurableEvent
  | ((LiveEvent | LagEvent) & { readonly run: RunId; readonly cell: CellId; readonly agent: string });

// What events carry of contents, for readers who may see them and ask for them.

/** One part of a prompt: a message, or a tool that is offered. */
export type ShownPart = {
  /** Counts the parts of its cell, from 0. */
  readonly id: number;
  readonly category: Category;
  /** Where it comes from, in words. */
  readonly origin: string;
  /** The rule that rendered it. */
  readonly rule: RuleName;
  /** The operation whose reply or result it shows. */
  readonly op?: number;
  /** Exactly what the model was shown. */
  readonly text: string;
  /** Whether it shows its source whole. False: the model was shown the beginning, or a summary. */
  readonly whole: boolean;
};

/** One part of a model's reply. */
export type SaidPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'call'; readonly id: string; readonly tool: string; readonly args: string };

/** A tool output that was too long to show whole. */
export type LongOutput = {
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of all of it, its address in the store. */
  readonly ref: string;
  /** Its beginning, or all of it. Null: the stored output is missing. */
  readonly text: string | null;
  readonly whole: boolean;
};

/** The details of each type of event that has any. */
export type EventDetails = {
  /** `view`: the ids of the whole prompt, in order; left out if it is the prompt before with `shown` at its end. */
  readonly 'model-start': { readonly shown: readonly ShownPart[]; readonly view?: readonly number[] };
  readonly 'model-end': { readonly said: readonly SaidPart[] };
  /** The arguments whole; those of the event itself are cut. */
  readonly 'tool-start': { readonly args: string };
  readonly 'tool-end': { readonly result: string; readonly output?: LongOutput };
  /** The arguments of the call; for an agent that was not called by its name, its goal. */
  readonly 'child-start': { readonly args: string };
  readonly 'child-end': { readonly result: string };
  /** Exactly what crossed: `sha256` is the hash of it. */
  readonly crossing: { readonly content: string };
  /** Set when the message is sent. */
  readonly mail: { readonly text: string };
  readonly 'session-end': { readonly output: string };
};
