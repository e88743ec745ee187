import type { Cloister } from '#contracts';

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
  /** `agents`: modules given with --agents. `demo`: with the built-in research example. */
  open(options: OpenOptions): Promise<Cloister>;
};

export type OpenOptions = {
  readonly workspace: string;
  readonly agents: readonly string[];
  readonly demo: boolean;
  readonly readonly?: boolean;
};
