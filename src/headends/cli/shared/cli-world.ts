import type { JsonObject, RunId } from '#base';
import type {
  Agent,
  AgentSignature,
  CheckReport,
  ClientRules,
  Cloister,
  DriveEnd,
  RunCall,
  DrawableTask,
  ImportReport,
  InitReport,
  MigrationReport,
  Status,
  TaskSpec,
  TemplateSummary,
  ToolNames,
  VerifyReport,
  IndeterminatePolicy,
} from '#contracts';

export type CliStream = {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** Everything outside that the command line uses, grouped by who reads it. */
export type CliWorld = {
  readonly version: string;
  readonly terminal: CliTerminal;
  readonly system: CliSystem;
  readonly files: CliFiles;
  readonly runtime: CliRuntime;
  readonly tasks: CliTasks;
  readonly server: CliServer;
};

/** What a user sees and types. The implementation handles broken pipes: `write` never throws for one. */
export type CliTerminal = {
  readonly stdout: CliStream;
  readonly stderr: CliStream;
  /** NO_COLOR and FORCE_COLOR, decided by the app. A stream that is not a terminal never gets colour. */
  readonly colour: boolean;
  /** All of stdin; null if it is a terminal. */
  stdin(): Promise<string | null>;
  /** Stdin line by line, also from a terminal. */
  lines(): Lines;
  /** Lets the user change the text in an editor. Null: none is set. */
  edit(text: string): Promise<EditorResult | null>;
};

/** `problem`: a sentence that says why there is no text. */
export type EditorResult = { readonly text: string } | { readonly problem: string };

/** The clock, and what reaches the process from outside. */
export type CliSystem = {
  now(): number;
  /** Calls back once; the returned function cancels the timer. */
  timer(ms: number, due: () => void): () => void;
  /** Ctrl-C and SIGTERM; the returned function stops listening. */
  onInterrupt(listener: () => void): () => void;
  /** An error that a tool or a module threw outside any call; the returned function stops listening. */
  onStrayError(listener: (error: unknown) => void): () => void;
  /** Shows a link in the user's browser. Resolves to false if there is none, or it cannot be started. */
  openBrowser(link: string): Promise<boolean>;
};

export type CliFiles = {
  readText(path: string): Promise<string>;
  readBytes(path: string): Promise<Uint8Array>;
  /** Replaces an existing file. */
  writeText(path: string, text: string): Promise<void>;
  /** Creates the file if it is missing; durable when it resolves. */
  appendText(path: string, text: string): Promise<void>;
  /** Replaces an existing file. */
  writeBytes(path: string, bytes: Uint8Array): Promise<void>;
  /** A sentence saying why the path is not writable; null if it is. */
  whyNotWritable(path: string): Promise<string | null>;
};

/** Agents, workspaces and runs. */
export type CliRuntime = {
  open(options: OpenOptions): Promise<Cloister>;
  /** The value of `--store`: from now on runs are read from and stored there. */
  useStore(url: string): void;
  /**
   * The ids of the questions of these runs that no answer can continue, because their agents have changed: those that are given, or
   * those that each run was started with. A list imports no modules unasked, so runs whose agents are in a module are left out unless
   * agents are given; so are runs whose agents cannot be loaded.
   */
  staleQuestions(options: StaleQuestionsOptions): Promise<ReadonlySet<string>>;
  /** The agent to use if none is named, from the config; null if the config sets none. */
  defaultAgent(config: string | null): Promise<string | null>;
  check(options: CheckCommandOptions): Promise<CheckReport>;
  agentHelp(path: string, config: string | null): Promise<AgentHelp>;
  /** Runs pairs of an agent that differ in one cell's private content, and compares what the other cells see. */
  verify(options: VerifyOptions): Promise<VerifyResult>;
  /** The team of `cloister demo`, which also works in a plain loop. */
  openDemo(): Promise<DemoTeam>;
  /** Creates a starter folder; throws a CloisterError instead of overwriting anything. Default: the first template. */
  init(folder: string, template: string | null): Promise<InitReport>;
  /** What `init` can create. */
  templates(): Promise<readonly TemplateSummary[]>;
  /** Writes agents of other runtimes as agent files; overwrites nothing. */
  import(options: ImportCommandOptions): Promise<ImportReport>;
  /** A new key for the operator. `secret` is the value of the variable. */
  makeKey(): Promise<{ readonly variable: string; readonly secret: string; readonly publicKey: string }>;
  /** Migrates a workspace to the newest format, and keeps its former database. */
  migrate(workspace: string): Promise<MigrationReport>;
  /** Makes the tables of a store in PostgreSQL, or migrates those of an earlier version. Null: the store in the config. */
  migrateStore(url: string | null): Promise<MigrationReport & { readonly store: string }>;
  /** Copies everything in a store into an empty one. Each is an address or a workspace folder. */
  copyStore(from: string, to: string): Promise<CopyReport>;
};

/** What was copied. */
export type CopyReport = {
  readonly runs: number;
  readonly frames: number;
  readonly blobs: number;
  readonly records: number;
  readonly tombstones: number;
  readonly signals: number;
};

type StaleQuestionsOptions = {
  readonly workspace: string;
  readonly agents: readonly string[];
  readonly config: string | null;
  readonly runs: readonly RunId[];
};

type ImportCommandOptions = {
  readonly path: string;
  readonly to: string;
  readonly dryRun: boolean;
  readonly config: string | null;
};

/** Tasks of teams, in files and as drawings. */
export type CliTasks = {
  /** Reads a tasks file or a plan. Throws `tasks_invalid` with every problem. `assignees`: agents that tasks may name. */
  read(path: string, assignees: readonly string[]): Promise<TaskInput>;
  /** The tasks in a team file; null if it has none or is not a team file. */
  ofTeam(path: string): Promise<readonly TaskSpec[] | null>;
  draw(form: 'svg' | 'mermaid', tasks: readonly DrawableTask[]): Promise<string>;
};

export type CliServer = {
  /** Opens agents and serves them. `log` is called for each request and each run. */
  serve(options: ServeOptions, log: (line: ServeLine) => void): Promise<RunningServer>;
  /** The same for the studio: for whoever owns the workspace, on this machine only, and without agents too. */
  studio(options: StudioOptions, log: (line: ServeLine) => void): Promise<RunningServer>;
  /** Drives runs of these agents until it is stopped. `log` is called for each drive that has ended. */
  worker(options: WorkerOptions, log: (line: WorkerLine) => void): Promise<RunningWorker>;
  /** Drives one run, and ends with it. */
  driveOne(options: WorkerOptions, call: RunCall, signal: AbortSignal): Promise<DriveEnd>;
  /** Has the engine call workers for every open run that nobody drives. Returns those runs. */
  reconcile(options: WorkerOptions): Promise<readonly RunCall[]>;
  /** The studio's page in one file, with one run in it. `leftOut`: what would have made it too long, by its path below the run. */
  pageOfRun(cloister: Cloister, run: string): Promise<{ readonly html: string; readonly leftOut: readonly string[] }>;
  /** The manifest of the app in Slack that the config needs. `url`: of this server, for an app without Socket Mode. */
  slackManifest(options: SlackManifestOptions): Promise<JsonObject>;
  /** Throws `tokens_invalid` if the name is not allowed. */
  makeToken(name: string): Promise<{ readonly token: string; readonly sha256: string }>;
};

export type WorkerOptions = {
  readonly agents: readonly string[];
  readonly workspace: string;
  /** As in `useStore`. */
  readonly store?: string | null;
  readonly config: string | null;
  /** `none`, or the address of an engine. */
  readonly engine: string;
  readonly slots: number;
  readonly restAfterMs: number;
  readonly graceMs: number;
  /** The command that drives one run in a process of its own, and the memory of that process; null: runs share this one. */
  readonly processPerRun: { readonly args: readonly string[]; readonly memoryMb: number | null } | null;
};

/** How a drive ended, or what the engine complains about. */
export type WorkerLine =
  | ({ readonly type: 'run' } & RunCall & DriveEnd)
  | { readonly type: 'engine'; readonly text: string };

export type RunningWorker = {
  readonly engine: string;
  readonly agents: readonly string[];
  /** How many runs it drives. */
  running(): number;
  /** Gives them back. */
  stop(): Promise<void>;
};

/** Tasks, and the goal they serve. */
export type TaskInput = { readonly goal: string | null; readonly tasks: readonly TaskSpec[] };

/** Lines typed by a user or read from a pipe. */
export type Lines = {
  readonly isTerminal: boolean;
  /**
   * The next line, without its line break; null at the end, or once closed. On a terminal the prompt is shown first, and `initial` stands
   * there to be edited.
   */
  next(prompt: string, initial?: string): Promise<string | null>;
  /** Lets `print` write above the line that is being typed, which stays as it is. */
  printAbove(print: () => void): void;
  /** Drops what was typed and not read yet. A pending `next` returns null. What is typed from now on is kept for the next one. */
  discard(): void;
  /** Lets another program read the terminal, until the next line is asked for. */
  release(): void;
  close(): void;
};

type OpenOptions = {
  readonly workspace: string;
  /** Modules, `.ai` files and folders. */
  readonly agents: readonly string[];
  /** The agent that will be run; if `agents` is empty, it is found by this name. */
  readonly agent?: string;
  /** Use the team of `cloister demo`. */
  readonly demo?: boolean;
  readonly config?: string | null;
  /** Maximum tasks in parallel, for teams loaded from files. */
  readonly parallel?: number | null;
  /** If `agents` is empty: use the agents that this run (full id) was started with, as recorded in its log. */
  readonly ofRun?: string;
  /** Needs no keys, and reaches no model, server or tool. */
  readonly offline?: boolean;
  /** Reads the run in this archive instead of those in the workspace. */
  readonly archive?: string;
  /** Called with what the user should know about the workspace, such as that its log is gone. */
  readonly notice?: (text: string) => void;
};

export type DemoTeam = {
  /** The path of its first agent, for commands. */
  readonly agent: string;
  /** The path of the plain loop, and how many lines it has. */
  readonly loop: string;
  readonly loopLines: number;
  /** What only `owner` may know. */
  readonly secret: string;
  readonly owner: string;
  /** What a page tells the models that read it. */
  readonly injected: string;
  /** Lets the team work with one list of messages that everybody is shown. */
  runPlain(input: string): Promise<PlainRun>;
  /** Every mail that the team's tool was called to send, on either side. */
  readonly sent: readonly DemoMail[];
};

export type DemoMail = { readonly to: string; readonly text: string };

export type PlainRun = {
  readonly answer: string;
  /** Each request to the model, and its reply. */
  readonly requests: readonly {
    readonly agent: string;
    readonly prompt: string;
    /** The tools and agents that the reply calls. */
    readonly calls: readonly string[];
  }[];
};

/** `notes`: what could not be checked. */
export type VerifyResult = VerifyReport & { readonly notes?: readonly string[] };

type VerifyOptions = {
  /** An agent file, a folder's agent by name, or the name of an example. */
  readonly agent: string;
  readonly agents: readonly string[];
  readonly pairs: number;
  readonly seed?: number | null;
  readonly config?: string | null;
  /** Stops after the current pair and reports the pairs so far. */
  readonly signal: AbortSignal;
  progress(pairs: number): void;
};

type CheckCommandOptions = {
  readonly paths: readonly string[];
  /** Check each file on its own; do not resolve sub-agents or config. */
  readonly syntaxOnly: boolean;
  /** Also connect to the tool servers the agents use. */
  readonly connect: boolean;
  readonly config: string | null;
};

export type AgentHelp = ToolNames & {
  readonly name: string;
  readonly description: string;
  readonly usage: string;
  /** Frontmatter with every key, its effective value, and where that value comes from. */
  readonly template: string;
};

export type ServeOptions = {
  readonly agents: readonly string[];
  /** Hands runs to workers: `none` or the address of an engine. Absent: they work in the server. */
  readonly engine?: string;
  /** Null: does not listen. */
  readonly port: number | null;
  readonly stdio: boolean;
  readonly tokenFile: string | null;
  readonly host: string;
  readonly expose: boolean;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly clients: ClientRules;
  /** Whether to answer in Slack, too: with the app of the config. */
  readonly slack?: boolean;
  /** How long a client may take for one tool call. Default: a day. */
  readonly clientToolMs?: number;
  /** How long an `Idempotency-Key` holds after the end of its run. Default: a day. */
  readonly idempotencyHours?: number;
  /** What happens to calls that a crash has interrupted. Default: the config. */
  readonly indeterminate?: IndeterminatePolicy;
  readonly slots: {
    readonly running?: number;
    readonly runningPerAgent?: number;
    readonly runningPerCaller?: number;
    readonly waiting?: number;
  };
  readonly workspace: string;
  /** As in `useStore`. */
  readonly store?: string | null;
  /** Store nothing on disk. */
  readonly memory: boolean;
  readonly config: string | null;
};

type SlackManifestOptions = {
  readonly name: string;
  readonly url: string | null;
  readonly config: string | null;
};

export type StudioOptions = {
  /** Empty: those that `cloister agents` finds by name; if they cannot be loaded, none. */
  readonly agents: readonly string[];
  /** Null: the usual one, or the next one that is free. */
  readonly port: number | null;
  readonly workspace: string;
  /** As in `useStore`. */
  readonly store?: string | null;
  readonly config: string | null;
};

export type ServerBanner = {
  readonly url: string | null;
  readonly stdio: boolean;
  /** `workspace`: its name; null: Slack cannot be reached yet, and is tried again. */
  readonly slack?: { readonly workspace: string | null; readonly transport: 'socket' | 'http' };
  /** The generated token; null if a token file was given. */
  readonly token: string | null;
  readonly agents: readonly (Pick<Agent, 'name' | 'description' | 'usage'> & {
    readonly signature: Pick<AgentSignature, 'input'>;
  })[];
  /** What the operator should know at the start. */
  readonly notes: readonly string[];
};

export type RunningServer = ServerBanner & {
  /** How many runs are in flight. */
  running(): number;
  /** Settles when stdin ends; null without --stdio-mcp. */
  readonly inputEnded: Promise<void> | null;
  /** Lets runs in flight finish. Returns those that have not; they can be resumed. */
  stop(graceMs: number): Promise<readonly string[]>;
  /** Cancels what is still running. */
  close(): Promise<void>;
};

export type ServeLine =
  /** News of Slack, for the operator. */
  | { readonly type: 'slack'; readonly text: string }
  /** The server can no longer take work, and why; empty: it can again. */
  | { readonly type: 'ready'; readonly problems: readonly string[] }
  /** Runs were deleted because they are no longer kept. `code`: why that failed; null: it did not. */
  | { readonly type: 'expire'; readonly runs: number; readonly code: string | null }
  /** An interrupted run was found. `code`: why it was not resumed; null: it was. */
  | {
      readonly type: 'resume';
      readonly caller: string;
      readonly agent: string;
      readonly run: string;
      readonly code: string | null;
    }
  | {
      readonly type: 'request';
      readonly id: string;
      readonly caller: string | null;
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly ms: number;
      /** Error code from the catalogue, if it was refused or failed. */
      readonly code: string | null;
      readonly run: string | null;
      /** Message of an unexpected error. */
      readonly defect: string | null;
    }
  | {
      readonly type: 'run';
      readonly caller: string;
      readonly agent: string;
      readonly run: string;
      readonly status: Status;
      /** Why it did not complete. */
      readonly code: string | null;
      readonly tokens: number;
      /** Tokens held for attempts that never reported usage. */
      readonly uncertain: number;
      readonly usd: number | null;
      readonly ms: number;
    };
