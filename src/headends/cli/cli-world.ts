import type { CheckReport, Cloister } from '#contracts';

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
  check(options: CheckOptions): Promise<CheckReport>;
  /** Writes a folder to start from; throws a CloisterError rather than overwrite anything. */
  init(folder: string): Promise<{ readonly folder: string; readonly files: readonly string[] }>;
  agentHelp(path: string, config: string | undefined): Promise<AgentHelp>;
  /** All of it; null when it is a terminal. */
  stdin(): Promise<string | null>;
  readText(path: string): Promise<string>;
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
  readonly readonly?: boolean;
};

export type CheckOptions = {
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
