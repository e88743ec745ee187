// What the command line can be asked for.
import type { Budget, GrantName } from '#contracts';

export const defaultWorkspace = './.cloister';

/** How the answer is told. */
export type Told = { readonly json: boolean; readonly verbose: boolean };

export type Common = Told & { readonly workspace: string };

export type RunRequest = Common & {
  readonly command: 'run' | 'demo';
  /** By name; a file given in its place is the first of `agents`. */
  readonly agent: string;
  readonly input: string;
  /** Modules, `.ai` files and folders. */
  readonly agents: readonly string[];
  readonly budget: Budget;
  readonly jsonl: boolean;
  /** A JSON Schema for the answer: itself, or the file it is in. */
  readonly schema: string | null;
  readonly config: string | null;
};

export type CheckRequest = Told & {
  readonly command: 'check';
  readonly paths: readonly string[];
  readonly syntaxOnly: boolean;
  readonly connect: boolean;
  readonly config: string | null;
};

export type InitRequest = Told & { readonly command: 'init'; readonly folder: string };

export type AgentsRequest = Told & {
  readonly command: 'agents';
  readonly paths: readonly string[];
  readonly config: string | null;
};

export type AgentHelpRequest = Told & {
  readonly command: 'agent-help';
  readonly path: string;
  readonly config: string | null;
};

/** A run that is there already, and where its agents come from: without any, they are those it was started with. */
export type OfRun = Common & {
  readonly run: string;
  readonly agents: readonly string[];
  readonly config: string | null;
};

export type ResumeRequest = OfRun & { readonly command: 'resume'; readonly jsonl: boolean };

export type ReplayRequest = OfRun & { readonly command: 'replay' };

export type ForkRequest = OfRun & {
  readonly command: 'fork';
  /** `<cell>/<operation>` or `<cell>`; the cell may be shortened. */
  readonly at: string;
  readonly model: string | null;
  readonly withoutGrants: readonly GrantName[];
  readonly goal: string | null;
  readonly jsonl: boolean;
};

export type DiffRequest = Common & { readonly command: 'diff'; readonly run: string; readonly other: string };

export type VerifyRequest = Told & {
  readonly command: 'verify';
  readonly agent: string;
  readonly agents: readonly string[];
  readonly pairs: number;
  readonly seed: number | null;
  readonly config: string | null;
};

export type Request =
  /** Null: the input is to be read from stdin. */
  | (Omit<RunRequest, 'input'> & { readonly input: string | null })
  | CheckRequest
  | InitRequest
  | AgentsRequest
  | AgentHelpRequest
  | ResumeRequest
  | ReplayRequest
  | ForkRequest
  | DiffRequest
  | VerifyRequest
  | (Common & { readonly command: 'runs' })
  | (Common & { readonly command: 'show' | 'audit'; readonly run: string })
  | (Common & {
      readonly command: 'explain';
      readonly run: string;
      readonly cell: string;
      readonly find: string | null;
    })
  /** Help or the version was asked for. */
  | { readonly command: 'help'; readonly text: string; readonly json: boolean };
