// Where the page gets what it shows: a server, or the file that it was written into.
import type { JsonObject } from '#base';
import type {
  AuditReport,
  Budget,
  CallerQuestion,
  CellLedger,
  CellReport,
  CellWindow,
  Cause,
  Checkpoint,
  DurableEvent,
  EventError,
  Explanation,
  MailReport,
  QuestionAnswer,
  RunDiff,
  RunEvent,
  RunSummary,
  Sees,
  Spent,
  TaskReport,
  Transcript,
} from '#contracts';

/** Everything rejects with a `SourceProblem`, in words for people. */
export interface Source {
  me(): Promise<Me>;
  runs(query?: RunsQuery): Promise<{ readonly runs: readonly RunRow[]; readonly more: boolean }>;
  run(run: string): Promise<RunFacts>;
  /** A page of recorded events; `details`: with contents. */
  eventPage(run: string, options: EventPageOptions): Promise<EventPage>;
  /** Recorded events after `after`, then live ones. Ends with the run, or rejects when the connection is lost. */
  follow(run: string, after: string | null, onEvent: (event: RunEvent) => void, signal: AbortSignal): Promise<void>;
  transcript(run: string, options?: { readonly cell?: string; readonly full?: boolean }): Promise<Transcript>;
  explain(run: string, cell: string, find?: string): Promise<Explanation>;
  audit(run: string): Promise<AuditReport>;
  windows(run: string): Promise<readonly CellWindow[]>;
  ledger(run: string): Promise<readonly CellLedger[]>;
  tasks(run: string): Promise<readonly TaskReport[]>;
  mail(run: string): Promise<readonly MailReport[]>;
  /** Any other GET below /v1, as JSON. */
  get<T>(path: string, query?: Readonly<Record<string, string | number | boolean | undefined>>): Promise<T>;
  /** The bytes of a file below /v1. */
  bytes(path: string): Promise<ArrayBuffer>;
  /** Any POST or DELETE below /v1. `key`: the same request, sent again, is taken once. */
  send<T>(method: 'POST' | 'DELETE', path: string, body?: JsonObject, key?: string): Promise<T>;
}

export type EventPageOptions = {
  readonly after?: string | undefined;
  readonly limit?: number;
  readonly details?: boolean;
};

export type EventPage = { readonly events: readonly DurableEvent[]; readonly next: string | null };

/** Who the page is for. */
export type Me = {
  readonly name: string;
  readonly operator: boolean;
  readonly sees: Sees;
  readonly watchOnly: boolean;
  readonly agents: number;
  readonly version: string;
  readonly workspace: string | null;
  readonly budget: Budget | null;
  readonly allowance: AllowanceFacts | null;
};

export type AllowanceFacts = {
  readonly per: 'hour' | 'day' | 'month';
  readonly tokens: { readonly limit: number; readonly used: number } | null;
  readonly usd: { readonly limit: number; readonly used: number } | null;
  readonly resetsAt: number;
};

export type RunsQuery = {
  readonly limit?: number;
  readonly before?: string | undefined;
  readonly agent?: string | undefined;
  readonly state?: string | undefined;
  readonly text?: string | undefined;
  readonly refused?: boolean | undefined;
};

export type RunRow = Pick<RunSummary, 'run' | 'agent' | 'goal' | 'startedAt' | 'endedAt' | 'cells' | 'spent'> & {
  readonly state: string;
  readonly status: string;
  readonly crossings: number;
  readonly refused: number;
  readonly fork: { readonly run: string; readonly at: string } | null;
  readonly conversation: { readonly agent: string; readonly name: string } | null;
  readonly caller?: string | null;
};

/** `GET /v1/runs/:run`. */
export type RunFacts = {
  readonly run: string;
  readonly agent: string;
  readonly goal: string;
  readonly status: string;
  readonly output: string;
  /** The answer as JSON, if it is JSON. */
  readonly data?: unknown;
  readonly error: RunFailure | null;
  /** Sub-agents whose answers are missing. */
  readonly missing?: readonly string[];
  readonly spent: Spent;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly questions: number;
  readonly cells: readonly CellReport[];
  readonly causes?: readonly Cause[];
  readonly budget?: Budget | null;
  readonly conversation?: { readonly agent: string; readonly name: string } | null;
  readonly fork?: { readonly run: string; readonly at: string } | null;
  readonly caller?: string | null;
};

export type RunFailure = Pick<EventError, 'code'> & { readonly message: string; readonly suggestion: string };

export type AgentFacts = {
  readonly name: string;
  readonly description: string;
  readonly usage?: string;
  readonly input?: AgentFormat;
  readonly output?: AgentFormat;
  readonly team?: boolean;
};

type AgentFormat = { readonly format: 'text' | 'markdown' | 'json'; readonly schema?: JsonObject };

export type { CallerQuestion, Checkpoint, QuestionAnswer, RunDiff };

/** Why something could not be had. `code`: the server's, or `offline` if it does not answer. */
export class SourceProblem extends Error {
  readonly code: string;
  readonly suggestion: string;
  /** Of the response; 0: there was none. */
  readonly status: number;

  constructor(code: string, message: string, suggestion = '', status = 0) {
    super(message);
    this.name = 'SourceProblem';
    this.code = code;
    this.suggestion = suggestion;
    this.status = status;
  }
}
