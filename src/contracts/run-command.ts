// What somebody outside can ask of a run, as data: headends and code parse into it, and commands that come before the run has
// started wait in this form.
import type { CellId } from '#base';
import type { AnswerRight, AnswerState, QuestionAnswer } from './question.ts';
import type { Category } from './segment.ts';
import type { TaskSpec } from './team.ts';
import type { GivenTools } from './tool.ts';

/** Each command, by name; the methods of `RunSession` and `TeamSession` say what they do. */
type RunCommands = {
  'add-context': { readonly text: string };
  'refresh-share': { readonly child: string };
  /** `id`: the id of the message, if it was given out before it was sent, or if the message may come again. */
  send: MessageTarget & { readonly text: string; readonly id?: string };
  route: RouteChoice & { readonly from: string; readonly to: readonly string[] };
  /** From now on, messages that are published on the topic are sent outside too. */
  'forward-topic': { readonly topic: string };
  /** Records that a message to the outside was handed out. Nothing is recorded once the run has ended. */
  confirm: { readonly message: string };
  spawn: OutsideSpawn;
  'add-tasks': { readonly tasks: readonly TaskSpec[] };
  /** Default: the root. Any other agent is stopped after a grace period. */
  finish: { readonly name?: string | undefined };
  cancel: unknown;
  /** Gives the root more tools of its client. Those that it has already are left as they are. */
  'add-tools': GivenTools;
  /** Answers the question that was asked in this frame. Whether `by` may answer has been checked. `id`: the same one is taken once. */
  answer: QuestionAnswer & {
    readonly frame: number;
    readonly by: string;
    readonly right: AnswerRight;
    readonly id: string;
  };
};

export type RunCommandName = keyof RunCommands;

/** A command as data: its name in `do`, and what it needs. */
export type RunCommand<K extends RunCommandName = RunCommandName> = {
  [P in K]: { readonly do: P } & RunCommands[P];
}[K];

/** What each command returns. */
export type RunCommandResults = {
  'add-context': void;
  /** The number of messages that crossed. */
  'refresh-share': number;
  /** The id of the message. */
  send: string;
  /** The number of messages that crossed. */
  route: number;
  'forward-topic': void;
  confirm: void;
  spawn: Promise<StartedAgent>;
  'add-tasks': Promise<void>;
  finish: void;
  cancel: void;
  /** The number of new tools. */
  'add-tools': Promise<number>;
  answer: Promise<AnswerState>;
};

/** What is done for each command, on something that the commands act on. */
export type RunCommandTable<On> = {
  readonly [K in RunCommandName]: (on: On, command: RunCommand<K>) => RunCommandResults[K];
};

/** Commands that can be asked of a run of another process: their senders need nothing that only its owner knows, and they can come twice. */
export const canBeSignalled: Readonly<Record<RunCommandName, boolean>> = {
  cancel: true,
  send: true,
  finish: true,
  answer: true,
  'add-context': false,
  'refresh-share': false,
  route: false,
  'forward-topic': false,
  confirm: true,
  spawn: false,
  'add-tasks': false,
  'add-tools': true,
};

/** `to`: the name, session_id or agent name of one agent. Set either `to` or `topic`. */
export type MessageTarget = { readonly to?: string; readonly topic?: string };

/** Selects messages of a window, by category and by segment number. */
export type RouteChoice = { readonly categories?: readonly Category[]; readonly segments?: readonly number[] };

/** An agent that somebody outside starts in a run. */
export type OutsideSpawn = {
  /** One of the agents in `spawns` of the parent, or `self`. */
  readonly agent: string;
  /** Without a goal, the agent waits for messages. */
  readonly goal?: string;
  /** The name, session_id or cell of a live agent. Default: the root. */
  readonly parent?: string;
  readonly workflow?: string;
  /** Topics that it subscribes to. */
  readonly topics?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
};

/** An agent that was started from outside, by the names under which it can be reached. */
export type StartedAgent = {
  readonly cell: CellId;
  readonly parent: CellId;
  readonly sub_agent_id: string;
  readonly session_id: string;
  /** `spawned`: it waits for its first message. */
  readonly status: 'spawned' | 'running';
  readonly subscribed_topics: readonly string[];
};
