import type { ServeLine, ServeOptions, RunningServer } from './serve-world.ts';
import type { CheckReport, Cloister, Task, TaskReason, TaskSpec, VerifyReport } from '#contracts';

export type CliStream = {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** All that the command line touches. Broken pipes are the world's: `write` never throws for one. */
export type CliWorld = {
  readonly stdout: CliStream;
  readonly stderr: CliStream;
  readonly version: string;
  /** NO_COLOR and FORCE_COLOR, decided by the app. A stream that is no terminal has no colour either way. */
  readonly colour: boolean;
  readonly demo: { readonly agent: string; readonly question: string };
  now(): number;
  /** Calls back once; the returned function cancels. */
  timer(ms: number, due: () => void): () => void;
  /** Ctrl-C and SIGTERM; the returned function stops listening. */
  onInterrupt(listener: () => void): () => void;
  /** An error that a tool or a module threw where nobody listens; the returned function stops listening. */
  onStrayError(listener: (error: unknown) => void): () => void;
  open(options: OpenOptions): Promise<Cloister>;
  /** The agent that is meant where none is named, as the config says; null when it does not. */
  defaultAgent(config: string | undefined): Promise<string | null>;
  check(options: CheckCommandOptions): Promise<CheckReport>;
  /** Runs pairs of an agent that differ in one cell's private content, and compares what the others see. */
  verify(options: VerifyOptions): Promise<VerifyResult>;
  /** Opens agents and puts them behind addresses. `log`: hears of requests and runs. */
  serve(options: ServeOptions, log: (line: ServeLine) => void): Promise<RunningServer>;
  /** Throws `tokens_invalid` for a name that cannot be used. */
  makeToken(name: string): Promise<{ readonly token: string; readonly sha256: string }>;
  /** Writes a folder to start from; throws a CloisterError rather than overwrite anything. */
  init(folder: string): Promise<{ readonly folder: string; readonly files: readonly string[] }>;
  agentHelp(path: string, config: string | undefined): Promise<AgentHelp>;
  /** All of it; null when it is a terminal. */
  stdin(): Promise<string | null>;
  /** The same, one line after the other; also from a terminal. */
  lines(): Lines;
  readText(path: string): Promise<string>;
  /** In the place of what is there. */
  writeText(path: string, text: string): Promise<void>;
  /** Why nothing could be written there, in words; null when it could. */
  notWritable(path: string): Promise<string | null>;
  /** Of a file of tasks, or a plan. Throws `tasks_invalid` with every problem. `assignees`: who may be given tasks. */
  readTasks(path: string, assignees: readonly string[]): Promise<TaskInput>;
  /** Those that a team's file has; null when it has none, or is no such file. */
  teamTasks(path: string): Promise<readonly TaskSpec[] | null>;
  drawGraph(form: 'svg' | 'mermaid', tasks: readonly DrawnGraph[]): Promise<string>;
};

/** What there is to do, and what for. */
export type TaskInput = { readonly goal: string | null; readonly tasks: readonly TaskSpec[] };

/** What a drawing needs of a task. */
export type DrawnGraph = Pick<Task, 'id' | 'title' | 'assignee' | 'dependsOn' | 'status'> & {
  readonly reason?: TaskReason | null;
};

/** Lines that a person types, or that come through a pipe. */
export type Lines = {
  readonly isTerminal: boolean;
  /** The next one, without its end; null when there is none, or once closed. On a terminal the prompt stands before it. */
  next(prompt: string): Promise<string | null>;
  close(): void;
};

export type OpenOptions = {
  readonly workspace: string;
  /** Modules, `.ai` files and folders. */
  readonly agents: readonly string[];
  /** The agent that will be run: looked for by its name when no agents are given. */
  readonly agent?: string;
  /** With the built-in research example. */
  readonly demo: boolean;
  readonly config?: string;
  /** How many tasks the teams of files work on at once. */
  readonly parallel?: number;
  /** When no agents are given: those that this run was started with, as its log says. Its id, in full. */
  readonly ofRun?: string;
  /** No keys are needed, and no model, server or tool can be reached. */
  readonly offline?: boolean;
};

/** With what could not be looked at, if there is such a thing. */
export type VerifyResult = VerifyReport & { readonly notes?: readonly string[] };

export type VerifyOptions = {
  /** An agent file, a folder's agent by name, or the name of an example. */
  readonly agent: string;
  readonly agents: readonly string[];
  readonly pairs: number;
  readonly seed?: number;
  readonly config?: string;
  /** Stop after the pair that is under way, and report what was tried. */
  readonly signal: AbortSignal;
  progress(pairs: number): void;
};

export type CheckCommandOptions = {
  readonly paths: readonly string[];
  /** Each file by itself: nothing is looked up, sub-agents are not followed. */
  readonly syntaxOnly: boolean;
  /** Connect to the tool servers that are named. */
  readonly connect: boolean;
  readonly config?: string;
};

export type AgentHelp = {
  readonly name: string;
  readonly description: string;
  readonly usage: string;
  /** A frontmatter with every key, what holds for it, and where that comes from. */
  readonly template: string;
};
