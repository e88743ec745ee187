import type { CellId, CloisterError, ErrorCode, Json, RunId } from '#base';
import type { Cause } from './cause.ts';
import type { RunEvent } from './event.ts';
import type { Mail } from './mail.ts';
import type { ProtocolEvent } from './protocol.ts';
import type { QuestionReport, WaitingCall } from './question.ts';
import type {
  MessageTarget,
  OutsideSpawn,
  RouteChoice,
  RunCommand,
  RunCommandName,
  RunCommandResults,
  StartedAgent,
} from './run-command.ts';
import type { RunOutcome, Status } from './session.ts';
import type { Task, TaskSpec, TeamMessage } from './team.ts';
import type { Sees } from './token.ts';
import type { Transcript, TranscriptOptions } from './transcript.ts';

/** Calls `act` once the run may work, for example when there is a slot for it. Rejects if that will not be. */
export type AdmitWork = <T>(act: () => Promise<T>) => Promise<T>;

/** A run in progress. Iterate it for events: durable events from the start, live events from now on. */
export interface RunSession<Data = Json> extends AsyncIterable<RunEvent> {
  /** Its id, for `show`, `audit`, `resume` and the like. */
  readonly run: RunId;
  /** Does not reject for an expected ending; rejects if the run could not be recorded. */
  readonly outcome: Promise<RunOutcome<Data>>;
  /** Whether it is long-lived: it handles many messages, until it is asked to finish. */
  readonly resident: boolean;
  /**
   * Resolves when everything recorded so far is on disk, so that it is still there after a crash: wait for it before you tell anybody
   * else about a run or a message. Events, answers and the outcome come only after that. Rejects if it could not be recorded.
   */
  durable(): Promise<void>;
  /** Carries out a command. Every method that asks something of the run is one of them: use this one if you hold it as data. */
  do<K extends RunCommandName>(command: RunCommand<K>): RunCommandResults[K];
  /**
   * The same events as by iterating, for a reader who may not see everything (`sees`; default: `contents`). `details`: durable
   * events carry contents, if the reader may see them: what was shown, said, called with, returned and crossed.
   */
  events(options?: { readonly sees?: Sees; readonly details?: boolean }): AsyncIterable<RunEvent>;
  /** What each model was shown, said and called so far. */
  transcript(options?: TranscriptOptions): Promise<Transcript>;
  /**
   * Every failure so far, at every depth, with its own words. After the end: of the whole run. `answer`: the id of an answer; only
   * those of the work that it ended.
   */
  causes(options?: { readonly answer?: string }): Promise<readonly Cause[]>;
  /** Stops the run: requests and tool calls in flight are aborted, and it ends with `cancelled`. */
  cancel(): void;
  /** Adds context, which the model sees with its next request. Throws `cell_ended`. */
  addContext(text: string): void;
  /** For a live child with a share: copies what has changed in its caller's window since. Returns the number of messages. */
  refreshShare(child: string): number;
  /**
   * Sends a message to one of its agents (default: the root), or to all subscribers of a topic. Returns the id of the message.
   * Throws `mail_invalid`, `mail_unknown`, `mail_ambiguous`, `mailbox_full` or `cell_ended`.
   */
  send(text: string, target?: MessageTarget): string;
  /**
   * The answer to one of your messages or, without an id, to the message that the run was spawned with. If the message was read
   * during other work: the next answer to you. Rejects if no answer can come any more, and with `cancelled` if the signal is
   * aborted. The answer is recorded as delivered, unless you set `confirm: false` and confirm it yourself.
   */
  answer(message?: string, options?: { readonly signal?: AbortSignal; readonly confirm?: boolean }): Promise<Answer>;
  /** `send`, then `answer`. */
  ask(text: string, options?: { readonly to?: string }): Promise<Answer>;
  /**
   * What its agents say to you: everything that was not handed out yet, also before a crash, then what comes. Answers that you
   * wait for with `answer` are left out, and what follows them comes when they are confirmed. A message is recorded as delivered
   * when you ask for the next one, or leave.
   */
  messages(): AsyncIterable<AgentMessage>;
  /** Records a message to you as delivered: you have taken it. `answer`, `messages` and `subscribe` do so themselves. */
  confirm(message: string): void;
  /** Everything that its agents publish on a topic from now on. Throws `mail_invalid` if none of them may publish there. */
  subscribe(topic: string): AsyncIterable<Mail>;
  /**
   * Passes selected messages of one agent's window to other agents, which see them with their next request. Both must list each
   * other in `messages`. Returns the number of messages that crossed.
   */
  route(from: string, to: string | readonly string[], choice: RouteChoice): number;
  /** Its live agents. */
  agents(): readonly LiveAgent[];
  /**
   * Starts an agent under one of its live agents (default: the root), within the `spawns` of that agent, to which its result goes
   * as mail. Rejects with `spawn_refused`, `mail_unknown`, `mail_ambiguous` or `cell_ended`.
   */
  spawn(request: OutsideSpawn): Promise<StartedAgent>;
  /** Asks one of its agents to finish after its current work. Default: the root, which ends the run. */
  finish(name?: string): void;
  /** Its questions that wait for people, oldest first. `cloister.answer` answers one. */
  questions(): Promise<readonly QuestionReport[]>;
  /**
   * The calls of tools with `outside: true` that wait for their results, oldest first. `cloister.answer` takes a result: `reason` is what
   * the tool returned, and `allow: false` says that it failed.
   */
  clientCalls(): Promise<readonly WaitingCall[]>;
  /** Whether it waits for people or its client, and nothing in it works. */
  readonly waitsForPeople: boolean;
  /** Calls back whenever that changes, until the returned function is called. */
  onWaiting(listener: (waits: boolean) => void): () => void;
  /** From now on, what ends its wait for people goes through `admit`: an answer from anywhere, and a question that expires. */
  admitWith(admit: AdmitWork): void;
  /**
   * Lets go of a run that waits for people: `outcome` rejects with `approval_needed`, and the run can be resumed, also by whoever
   * answers. False: something in it works, and nothing was done.
   */
  leave(): boolean;
  /** What its agents start, and how it ends, as protocol events: from the beginning, then live. */
  protocol(): AsyncIterable<ProtocolEvent>;
}

/** A run that is read while it works, in whichever process: see `Cloister.follow`. What is asked of it goes to its owner. */
export interface FollowedRun
  extends
    AsyncIterable<RunEvent>,
    Pick<
      RunSession,
      | 'run'
      | 'events'
      | 'transcript'
      | 'causes'
      | 'answer'
      | 'confirm'
      | 'cancel'
      | 'questions'
      | 'clientCalls'
      | 'waitsForPeople'
      | 'onWaiting'
    > {
  /** How it ended. Rejects if its log cannot be read, if it is not followed any more, or with `cell_ended` if it was interrupted and nobody continues it. */
  readonly outcome: Promise<RunOutcome>;
  /** Stops following. The run itself continues. `reason`: what `outcome` rejects with. */
  close(reason?: CloisterError): void;
}

/** The answer of an agent to one of your messages. */
export type Answer = {
  /** The id of the answer itself. */
  readonly id: string;
  /** The message it answers; null: the message that the run was spawned with. */
  readonly correlation_id: string | null;
  /** The agent that answered. */
  readonly agent_id: string;
  /** How the work on the message ended. */
  readonly status: Status;
  /** What it says; empty if there is no answer. */
  readonly text: string;
  /** Why there is no answer, or only a partial one. */
  readonly error: ErrorCode | null;
  /** Epoch milliseconds. */
  readonly at: number;
};

/** What an agent says to you. `unasked`: it answers none of your messages. */
export type AgentMessage = Answer & { readonly unasked: boolean };

/** A live agent of a run. */
export type LiveAgent = {
  readonly cell: CellId;
  /** The cell that started it; null for the root. */
  readonly parent: CellId | null;
  /** The name of its definition. */
  readonly agent: string;
  /** The name by which others write to it. */
  readonly sub_agent_id: string;
  /** Identifies it beyond doubt, even if names are used again. */
  readonly session_id: string;
  /** The group that its starter gave it; null: none. */
  readonly workflow_id: string | null;
  /** Topics that it has subscribed to. */
  readonly subscriptions: readonly string[];
  /** What its starter noted about it. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Epoch milliseconds. */
  readonly spawned_at: number;
  /** `waiting`: for its next message. */
  readonly status: 'waiting' | 'running';
  /** Whether it can receive messages. */
  readonly mailbox: boolean;
};

/** A team's run in progress. */
export interface TeamSession extends RunSession {
  /** Its current tasks; empty until it has started. */
  readonly queue: {
    /** The task with this id. */
    get(id: string): Task | undefined;
    /** All tasks, in the order of adding. */
    tasks(): Iterable<Task>;
    /** The task that will receive that member's messages. */
    earliestUnstarted(assignee: string): Task | undefined;
  };
  /** All results so far. They are shown to the coordinator at the end; no task reads them. */
  readonly sharedMemory: { getSummary(filter?: { readonly taskIds?: readonly string[] }): string };
  /** Waiting messages for a member. They are shown to its earliest task that has not started. `send(text, { to })` adds one. */
  getMessages(assignee: string): readonly TeamMessage[];
  /** Adds tasks, with the same checks. Rejects with `tasks_invalid`, or with `cell_ended` if the team has finished. */
  addTasks(tasks: readonly TaskSpec[]): Promise<void>;
}
