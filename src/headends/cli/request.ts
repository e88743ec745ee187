// What the command line can be asked for.
import type { Budget, ConversationRef, GrantName } from '#contracts';
import type { ServeOptions } from './serve-world.ts';

export const defaultWorkspace = './.cloister';

/** How the answer is told. */
export type OutputFlags = { readonly json: boolean; readonly verbose: boolean };

export type Common = OutputFlags & { readonly workspace: string };

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
  /** The one it takes a turn in: of its own by name, or another agent's. */
  readonly conversation: string | ConversationRef | null;
  /** Files with what it should know besides. */
  readonly context: readonly string[];
};

export type TeamRequest = Common &
  Pick<RunRequest, 'agents' | 'budget' | 'jsonl' | 'config'> & {
    readonly command: 'team';
    readonly path: string;
    /** `-`: from stdin. */
    readonly goal: string | null;
    /** Files: what there is to do, or a plan; that may also be the run that made it. */
    readonly tasks: string | null;
    readonly fromPlan: string | null;
    readonly planOnly: boolean;
    /** Files to be written: the plan, the graph. */
    readonly save: string | null;
    readonly graph: string | null;
    readonly answer: boolean;
    readonly parallel: number | null;
  };

/** A conversation, each message of it a turn. */
export type ChatRequest = Common &
  Pick<RunRequest, 'agent' | 'agents' | 'budget' | 'config' | 'conversation'> & { readonly command: 'chat' };

/** A conversation as it was named: by its name alone, or with its agent. */
export type ConversationArgument = { readonly name: string; readonly agent: string | null };

export type ConversationsRequest = Common & { readonly command: 'conversations' } & (
    | { readonly action: 'list'; readonly agent: string | null; readonly deleted: boolean }
    | { readonly action: 'show' | 'export' | 'restore' | 'purge'; readonly named: ConversationArgument }
    | { readonly action: 'detach'; readonly named: ConversationArgument; readonly to: string }
    /** With the files that the other agent is looked for in. */
    | ({ readonly action: 'attach'; readonly named: ConversationArgument; readonly to: string } & Pick<
        ExistingRunRequest,
        'agents' | 'config'
      >)
    | { readonly action: 'delete'; readonly named: ConversationArgument; readonly force: boolean }
  );

/** `agent`: look among its checkpoints only. */
type AmongCheckpoints = Common & { readonly command: 'checkpoints'; readonly agent: string | null };

export type CheckpointRunRequest = AmongCheckpoints &
  Omit<ExistingRunRequest, 'run'> & {
    readonly action: 'restore' | 'branch';
    readonly id: string;
    readonly jsonl: boolean;
    /** Of a branch: its conversation's name, and the agent that it goes to. */
    readonly name: string | null;
    readonly to: string | null;
  };

export type CheckpointsRequest =
  | CheckpointRunRequest
  | (AmongCheckpoints &
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

/** A run that is there already, and where its agents come from: without any, they are those it was started with. */
export type ExistingRunRequest = Common & {
  readonly run: string;
  readonly agents: readonly string[];
  readonly config: string | null;
};

export type ResumeRequest = ExistingRunRequest & {
  readonly command: 'resume';
  readonly jsonl: boolean;
  /** Also from an owner on another machine, who cannot be asked. */
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
  /** Null: the input is to be read from stdin; the agent is the default one. */
  | (Omit<RunRequest, 'input' | 'agent'> & { readonly input: string | null; readonly agent: string | null })
  | TeamRequest
  | CheckRequest
  | InitRequest
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
  /** With `window`: what the model of each cell is shown, instead; with `mail`: its messages. */
  | (Common & {
      readonly command: 'show';
      readonly run: string;
      readonly window: boolean;
      readonly mail: boolean;
      /** Where to write the graph of its tasks. */
      readonly graph: string | null;
    })
  /** Null: of all runs. */
  | (Common & { readonly command: 'deadletters'; readonly run: string | null })
  | (Common & {
      readonly command: 'explain';
      readonly run: string;
      readonly cell: string;
      readonly find: string | null;
    })
  /** Help or the version was asked for. */
  | { readonly command: 'help'; readonly text: string; readonly json: boolean };
