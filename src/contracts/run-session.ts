import type { CellId, ErrorCode, RunId } from '#base';
import type { RunEvent } from './event.ts';
import type { Mail } from './mail.ts';
import type { ProtocolEvent } from './protocol.ts';
import type { Category } from './segment.ts';
import type { RunOutcome, Status } from './session.ts';
import type { Task, TaskSpec, TeamMessage } from './team.ts';

/** A run under way. Iterate it for events: the durable ones from the start, live ones from now. */
export interface RunSession extends AsyncIterable<RunEvent> {
  readonly run: RunId;
  /** Never rejects for an expected ending; rejects when the run could not be recorded. */
  readonly outcome: Promise<RunOutcome>;
  /** It lives over many messages, until it is asked to finish. */
  readonly resident: boolean;
  cancel(): void;
  /** Gives it something to know, as CONTEXT, which it sees with its next request. Throws `cell_ended`. */
  give(text: string): void;
  /** Copies again, to a living child that has a share, what has changed in its caller's since. Gives how many messages. */
  refreshShare(child: string): number;
  /**
   * Writes to one of its agents, the root unless another is named, or to all who hear a topic. Gives the id of the message.
   * Throws `mail_invalid`, `mail_unknown`, `mail_ambiguous`, `mailbox_full` or `cell_ended`.
   */
  send(text: string, sending?: MessageTarget): string;
  /**
   * What is answered to a message of yours; without its id, to the one that the run was spawned with. If it was read in the
   * middle of other work: what is answered to you next. Rejects when no answer can come any more, and when the signal says that
   * nobody waits for it any more (`cancelled`).
   */
  answer(message?: string, options?: { readonly signal?: AbortSignal }): Promise<Answer>;
  /** `send`, then `answer`. */
  ask(text: string, options?: { readonly to?: string }): Promise<Answer>;
  /** Everything that its agents publish on a topic from now on. Throws `mail_invalid` when none of them may. */
  subscribe(topic: string): AsyncIterable<Mail>;
  /**
   * Hands chosen messages of one agent's window to others, who see them with their next request; each must name the other in
   * `messages`. Gives how many crossed.
   */
  route(from: string, to: string | readonly string[], choice: RouteChoice): number;
  /** Those of its agents that live and can be written to. */
  agents(): readonly LiveAgent[];
  /** Asks one of its agents to come to an end when it is done with what it does; the root, and with it the run, unless one is named. */
  finish(name?: string): void;
  /** What its agents start and how that ends, in the form of the protocol: from the beginning, then as it happens. */
  protocol(): AsyncIterable<ProtocolEvent>;
}

/** `to`: the name, the session_id or the agent of one of them. Either that or a topic. */
export type MessageTarget = { readonly to?: string; readonly topic?: string };

/** Of one window, the messages of these categories, and these by number. */
export type RouteChoice = { readonly categories?: readonly Category[]; readonly segments?: readonly number[] };

export type Answer = {
  readonly id: string;
  /** The message that it answers; null: the one that the run was spawned with. */
  readonly correlation_id: string | null;
  /** Who answers. */
  readonly agent_id: string;
  /** How the work on it ended. */
  readonly status: Status;
  readonly text: string;
  /** Why there is no answer, or only a part of one. */
  readonly error: ErrorCode | null;
  readonly at: number;
};

/** An agent of a run that can be written to. */
export type LiveAgent = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  readonly sub_agent_id: string;
  readonly session_id: string;
  readonly workflow_id: string | null;
  readonly subscriptions: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly spawned_at: number;
  readonly status: 'waiting' | 'running';
};

/** A team at work. */
export interface TeamSession extends RunSession {
  /** Its tasks as they stand; empty until it has begun. */
  readonly queue: {
    get(id: string): Task | undefined;
    tasks(): Iterable<Task>;
    /** The one that gets the messages of that member. */
    earliestUnstarted(assignee: string): Task | undefined;
  };
  /** All results so far: the coordinator's, who is shown them at the end. No task reads it. */
  readonly sharedMemory: { getSummary(filter?: { readonly taskIds?: readonly string[] }): string };
  /** Messages that wait for a member: its earliest task that has not started is shown them. `send(text, { to })` adds one. */
  getMessages(assignee: string): readonly TeamMessage[];
  /** More to do, with the same checks. Rejects with `tasks_invalid`, or with `cell_ended` when all is done. */
  addTasks(tasks: readonly TaskSpec[]): Promise<void>;
}
