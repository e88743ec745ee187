// A team works through a graph of tasks; each task is worked on in a cell of its own.
import type { CellId, ErrorCode } from '#base';
import type { Status } from './session.ts';

/**
 * `pending`: waits for what it depends on, or for another try. `blocked`: something that it depends on has failed or was not done.
 * `skipped`: it was not needed, could not be afforded, or the work was stopped. The last four and `blocked` are final.
 */
export type TaskStatus = 'pending' | 'blocked' | 'ready' | 'running' | 'completed' | 'failed' | 'skipped';

/** What a task is shown of the others' results: those that it depends on, or all that there are when it starts. */
export type MemoryScope = 'dependencies' | 'all';

/** A task as it is asked for: in code, in a file, or by a coordinator. */
export type TaskSpec = {
  /** Made of the title unless it is given. */
  readonly id?: string;
  readonly title: string;
  readonly description: string;
  /** The name of a member; without it, the one with the most room. */
  readonly assignee?: string;
  readonly dependsOn?: readonly string[];
  /** The operator's to give: a plan may ask for `all` only if the team allows it. */
  readonly memoryScope?: MemoryScope;
  /** How often it is tried again when it fails. */
  readonly retries?: number;
  /** Of those that are ready the highest goes first, then the earliest in the list. Default 0. */
  readonly priority?: number;
  /** It is skipped unless a result says so. */
  readonly when?: TaskCondition;
};

/**
 * About the first line of the result of one of its dependencies, whatever its case: it `is` one of these words, or begins with one;
 * or it does not. A task that is skipped for this reason blocks nobody, unless it was all that they depend on: then they are skipped too.
 */
export type TaskCondition = {
  readonly task: string;
  readonly is?: string | readonly string[];
  readonly not?: string | readonly string[];
};

/** A task in a queue, as it stands. */
export type Task = {
  readonly id: string;
  /** Its place in the order in which tasks were added. */
  readonly order: number;
  readonly title: string;
  readonly description: string;
  readonly assignee: string | null;
  readonly dependsOn: readonly string[];
  readonly memoryScope: MemoryScope;
  readonly retries: number;
  readonly priority: number;
  readonly when: TaskCondition | null;
  readonly status: TaskStatus;
  /** What it answered, if it has completed. */
  readonly result: string | null;
  /** Why it is blocked, failed or skipped. */
  readonly reason: TaskReason | null;
  /** How often it was started. */
  readonly attempts: number;
};

export type TaskReason = {
  readonly code: 'failed' | 'dependency' | 'condition' | 'budget' | 'aborted';
  /** The task that it is because of, by id. */
  readonly task?: string;
  /** How its own work ended. */
  readonly status?: Status;
  readonly error?: ErrorCode;
  /** In words. */
  readonly text: string;
};

/** A message from one member to another, or from outside to one. */
export type TeamMessage = {
  readonly id: string;
  /** Null: the person or program that asked for the run. */
  readonly from: string | null;
  readonly to: string;
  readonly content: string;
};

/** What a run records of a team: its policy, with the definitions of its members. */
export type TeamRules = {
  /** Their definitions by name, in the order of the roster. */
  readonly members: Readonly<Record<string, string>>;
  readonly parallel: number;
  readonly capacity: Readonly<Record<string, number>>;
  readonly memoryScope: MemoryScope;
  readonly planMayAskForAll: boolean;
  readonly planTasksMax: number;
  readonly planDepthMax: number;
  readonly retries: number;
  readonly backOffMs: number;
  readonly messages: Readonly<Record<string, readonly string[]>>;
  /** The definitions of its coordinator: who plans and who answers. */
  readonly coordinator?: { readonly plans: string; readonly answers: string };
};

/** What a cell of a team is for: recorded with its birth. */
export type TeamPart =
  | { readonly part: 'plan' }
  | { readonly part: 'answer' }
  | {
      readonly part: 'task';
      readonly task: string;
      /** Which try it is, from 1. */
      readonly attempt: number;
      readonly scope: MemoryScope;
    };

/** The head of a `dependency` crossing; the result follows. */
export type DependencyHead = {
  readonly task: string;
  readonly title: string;
  readonly assignee: string | null;
  /** How much of the result, in bytes, was left out because it is too large to hand on. */
  readonly leftOut?: number;
};

/** What a team is asked for: the content of its goal, as JSON. */
export type TeamGoal = {
  readonly goal: string | null;
  /** Null: the coordinator plans. */
  readonly tasks: readonly TaskSpec[] | null;
  /** The coordinator answers from all results. */
  readonly answer: boolean;
  /** Only the plan is wanted. */
  readonly planOnly?: boolean;
};

/** A task of a run, as people see it. */
export type TaskReport = Omit<Task, 'order' | 'when'> & {
  /** The cells that worked on it, the newest last. */
  readonly cells: readonly CellId[];
  /** Of the result. */
  readonly bytes: number;
};
