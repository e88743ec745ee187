// What the command line can be asked for.
import type { Budget } from '#contracts';

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

export type Request =
  /** Null: the input is to be read from stdin. */
  | (Omit<RunRequest, 'input'> & { readonly input: string | null })
  | CheckRequest
  | InitRequest
  | AgentsRequest
  | AgentHelpRequest
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
