// Requests that the command line can parse.
import type { Budget, ConversationRef, GrantName } from '#contracts';
import type { ServeOptions } from './cli-world.ts';

export const defaultWorkspace = './.cloister';

/** How output is printed. */
export type OutputFlags = { readonly json: boolean; readonly verbose: boolean };

export type Common = OutputFlags & { readonly workspace: string };

export type RunRequest = Common & {
  readonly command: 'run' | 'demo';
  /** The name; if a file was given instead, it is the first of `agents`. */
  readonly agent: string;
  readonly input: string;
  /** Modules, `.ai` files and folders. */
  readonly agents: readonly string[];
  readonly budget: Budget;
  readonly jsonl: boolean;
  /** A JSON Schema for the answer: the schema itself, or its file. */
  readonly schema: string | null;
  readonly config: string | null;
  /** The conversation it continues: its own, by name, or another agent's. */
  readonly conversation: string | ConversationRef | null;
  /** Files with extra context. */
  readonly context: readonly string[];
};

export type TeamRequest = Common &
  Pick<RunRequest, 'agents' | 'budget' | 'jsonl' | 'config'> & {
    readonly command: 'team';
    readonly path: string;
    /** `-`: from stdin. */
    readonly goal: string | null;
    /** A tasks file, and a plan: a file, or the run that made the plan. */
    readonly tasks: string | null;
    readonly fromPlan: string | null;
    readonly planOnly: boolean;
    /** Files to write: the plan and the graph. */
    readonly save: string | null;
    readonly graph: string | null;
    readonly answer: boolean;
    readonly parallel: number | null;
  };

/** A chat; each message is a turn of its conversation. */
export type ChatRequest = Common &
  Pick<RunRequest, 'agent' | 'agents' | 'budget' | 'config' | 'conversation'> & { readonly command: 'chat' };

/** A conversation as typed: its name alone, or with its agent. */
export type ConversationArgument = { readonly name: string; readonly agent: string | null };

export type ConversationsRequest = Common & { readonly command: 'conversations' } & (
    | { readonly action: 'list'; readonly agent: string | null; readonly deleted: boolean }
    | { readonly action: 'show' | 'export' | 'restore' | 'purge'; readonly named: ConversationArgument }
    | { readonly action: 'detach'; readonly named: ConversationArgument; readonly to: string }
    /** With the files in which to find the other agent. */
    | ({ readonly action: 'attach'; readonly named: ConversationArgument; readonly to: string } & Pick<
        ExistingRunRequest,
        'agents' | 'config'
      >)
    | { readonly action: 'delete'; readonly named: ConversationArgument; readonly force: boolean }
  );

/** `agent`: only checkpoints of this agent. */
type CheckpointsCommon = Common & { readonly command: 'checkpoints'; readonly agent: string | null };

export type CheckpointRunRequest = CheckpointsCommon &
  Omit<ExistingRunRequest, 'run'> & {
    readonly action: 'restore' | 'branch';
    readonly id: string;
    readonly jsonl: boolean;
    /** For a branch: the name of its conversation, and the agent that continues it. */
    readonly name: string | null;
    readonly to: string | null;
  };

export type CheckpointsRequest =
  | CheckpointRunRequest
  | (CheckpointsCommon &
      (
        | { readonly action: 'list' }
        | { readonly action: 'create'; readonly run: string; readonly label: string | null }
        | { readonly action: 'diff'; readonly id: string; readonly other: string }
      ));

export type CheckRequest = OutputFlags & {
  readonly command: 'check';
  readonly paths: readonly string[];
  readonly syntaxOnly: boolean;
  readonly connect: boolean;
  readonly config: string | null;
};

export type InitRequest = OutputFlags & { readonly command: 'init'; readonly folder: string };

export type MigrateRequest = Common & { readonly command: 'migrate' };

export type AgentsRequest = OutputFlags & {
  readonly command: 'agents';
  readonly paths: readonly string[];
  readonly config: string | null;
};

export type AgentHelpRequest = OutputFlags & {
  readonly command: 'agent-help';
  readonly path: string;
  readonly config: string | null;
};

/** An existing run and its agents; if `agents` is empty, those it was started with. */
export type ExistingRunRequest = Common & {
  readonly run: string;
  readonly agents: readonly string[];
  readonly config: string | null;
};

export type ResumeRequest = ExistingRunRequest & {
  readonly command: 'resume';
  readonly jsonl: boolean;
  /** Take the run over even from a process on another machine, which cannot be checked. */
  readonly takeOver: boolean;
};

export type ReplayRequest = ExistingRunRequest & { readonly command: 'replay' };

export type ForkRequest = ExistingRunRequest & {
  readonly command: 'fork';
  /** `<cell>/<operation>` or `<cell>`; the cell may be shortened. */
  readonly at: string;
  readonly model: string | null;
  readonly withoutGrants: readonly GrantName[];
  readonly goal: string | null;
  readonly jsonl: boolean;
};

export type DiffRequest = Common & { readonly command: 'diff'; readonly run: string; readonly other: string };

export type VerifyRequest = OutputFlags & {
  readonly command: 'verify';
  readonly agent: string;
  readonly agents: readonly string[];
  readonly pairs: number;
  readonly seed: number | null;
  readonly config: string | null;
};

export type ServeRequest = Common &
  ServeOptions & {
    readonly command: 'serve';
    readonly graceMs: number;
  };

export type TokenRequest = OutputFlags & { readonly command: 'token'; readonly name: string };

export type CliRequest =
  /** `input` null: read it from stdin. `agent` null: use the default agent. */
  | (Omit<RunRequest, 'input' | 'agent'> & { readonly input: string | null; readonly agent: string | null })
  | TeamRequest
  | CheckRequest
  | InitRequest
  | MigrateRequest
  | AgentsRequest
  | AgentHelpRequest
  | ResumeRequest
  | ReplayRequest
  | ForkRequest
  | DiffRequest
  | VerifyRequest
  | ServeRequest
  | TokenRequest
  | (Omit<ChatRequest, 'agent'> & { readonly agent: string | null })
  | ConversationsRequest
  | CheckpointsRequest
  | (Common & { readonly command: 'runs' })
  | (Common & { readonly command: 'audit'; readonly run: string })
  /** `window`: show what fills each context window instead; `mail`: show the messages instead. */
  | (Common & {
      readonly command: 'show';
      readonly run: string;
      readonly window: boolean;
      readonly mail: boolean;
      /** Where to write the task graph. */
      readonly graph: string | null;
    })
  /** `run` null: the newest runs. */
  | (Common & { readonly command: 'dead-letters'; readonly run: string | null })
  | (Common & {
      readonly command: 'explain';
      readonly run: string;
      readonly cell: string;
      readonly find: string | null;
    })
  /** Help or the version was requested. */
  | { readonly command: 'help'; readonly text: string; readonly json: boolean };
