// A team works through a task graph; each task runs in its own cell.
import type { CellId, ErrorCode, LimitName } from '#base';
import type { Status } from './session.ts';

/**
 * `pending`: waits for its dependencies or for a retry. `blocked`: a dependency failed or was not done. `skipped`: it was not
 * needed, the budget did not cover it, or the work was stopped. `completed`, `failed`, `skipped` and `blocked` are final.
 */
export type TaskStatus = 'pending' | 'blocked' | 'ready' | 'running' | 'completed' | 'failed' | 'skipped';

/** Which results a task is shown: those of its dependencies, or all that exist when it starts. */
export type MemoryScope = 'dependencies' | 'all';

/** The specification of a task, from code, a file or a coordinator. */
export type TaskSpec = {
  /** Default: derived from the title. */
  readonly id?: string;
  /** One line, for lists and drawings. */
  readonly title: string;
  /** The work to do, as its agent is told. */
  readonly description: string;
  /** The name of a member. Default: the member with the most free capacity. */
  readonly assignee?: string;
  /** Ids of tasks that must be completed first; their results are shown to it. */
  readonly dependsOn?: readonly string[];
  /** A plan may use `all` only if the team allows it. */
  readonly memoryScope?: MemoryScope;
  /** How often it is retried if it fails. */
  readonly retries?: number;
  /** Among ready tasks, the highest priority starts first, then the earliest in the list. Default: 0. */
  readonly priority?: number;
  /** The task is skipped unless this condition holds. */
  readonly when?: TaskCondition;
};

/**
 * Run only if the first line of that dependency's result starts with one of these words (`is`), or with none of them (`not`);
 * case is ignored. A task skipped by its condition does not block its dependents; a task whose dependencies were all skipped is skipped too.
 */
export type TaskCondition = {
  /** The id of one of its dependencies. */
  readonly task: string;
  readonly is?: string | readonly string[];
  readonly not?: string | readonly string[];
};

/** The current state of a task in a queue. */
export type Task = {
  /** Unique in its team's run. */
  readonly id: string;
  /** Its position in the order of adding. */
  readonly order: number;
  /** One line, for lists and drawings. */
  readonly title: string;
  /** The work to do, as its agent is told. */
  readonly description: string;
  /** The member that works on it; null until it starts, unless the task names one. */
  readonly assignee: string | null;
  /** Ids of tasks that must be completed first. */
  readonly dependsOn: readonly string[];
  /** Which results it is shown. */
  readonly memoryScope: MemoryScope;
  /** How often it is retried if it fails. */
  readonly retries: number;
  /** Among ready tasks, the highest starts first. */
  readonly priority: number;
  /** The condition under which it runs; null: always. */
  readonly when: TaskCondition | null;
  /** Whether it can start, runs, or has ended. */
  readonly status: TaskStatus;
  /** Its answer, if it has completed. */
  readonly result: string | null;
  /** Why it is blocked, failed or skipped. */
  readonly reason: TaskReason | null;
  /** How often it was started. */
  readonly attempts: number;
};

/** Why a task is blocked, failed or skipped. */
export type TaskReason = {
  /** `failed`: its own work. `dependency`, `condition`, `budget`: why it did not run. `aborted`: the work was stopped. */
  readonly code: 'failed' | 'dependency' | 'condition' | 'budget' | 'aborted';
  /** The id of the task that caused it. */
  readonly task?: string;
  /** How its own work ended. */
  readonly status?: Status;
  /** The failure of its own work. */
  readonly error?: ErrorCode;
  /** The limit that ended its work. */
  readonly limit?: LimitName;
  /** For people. */
  readonly text: string;
};

/** A message from one member to another, or from outside to one. */
export type TeamMessage = {
  readonly id: string;
  /** Null: the person or program that requested the run. */
  readonly from: string | null;
  /** The name of a member. */
  readonly to: string;
  readonly content: string;
};

/** What a run records of a team: its policy, and the definitions of its members. */
export type TeamRules = {
  /** Digests of their definitions by name, in roster order. */
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
  /** Digests of its coordinator's two definitions: for planning and for answering. */
  readonly coordinator?: { readonly plans: string; readonly answers: string };
};

/** The part that a cell of a team plays; recorded when it is created. */
export type TeamPart =
  | { readonly part: 'plan' }
  | { readonly part: 'answer' }
  | {
      readonly part: 'task';
      readonly task: string;
      /** Counted from 1. */
      readonly attempt: number;
      readonly scope: MemoryScope;
    };

/** The head of a `dependency` crossing; the result follows. */
export type DependencyHead = {
  readonly task: string;
  readonly title: string;
  readonly assignee: string | null;
  /** How many bytes of the result were omitted because it is too large to pass on. */
  readonly leftOut?: number;
};

/** The content of a team's goal, as JSON. */
export type TeamGoal = {
  readonly goal: string | null;
  /** Null: the coordinator plans. */
  readonly tasks: readonly TaskSpec[] | null;
  /** Whether the coordinator writes the answer from all results. */
  readonly answer: boolean;
  /** Whether to stop after planning. */
  readonly planOnly?: boolean;
};

/** What a drawing needs to know about a task. */
export type DrawableTask = Pick<Task, 'id' | 'title' | 'assignee' | 'dependsOn' | 'status'> & {
  readonly reason?: TaskReason | null;
};

/** A task of a run, reported for people. */
export type TaskReport = Omit<Task, 'order' | 'when'> & {
  /** The cells that worked on it, the newest last. */
  readonly cells: readonly CellId[];
  /** Size of the result. */
  readonly bytes: number;
};
