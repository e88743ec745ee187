// What headends that serve other people's clients ask of the runtime.
import type { JsonObject, RunId } from '#base';
import type { Agent, OutputFormat } from './agent.ts';
import type { Budget } from './amounts.ts';
import type { RunEvent } from './event.ts';
import type { RunSession } from './run-session.ts';
import type { RunReport } from './runtime.ts';
import type { Said } from './said.ts';
import type { RunOutcome } from './session.ts';
import type { RunSummary } from './store.ts';

/** Who asks: the holder of a token. Runs and conversations belong to the one that they were made with. */
export type Caller = { readonly name: string };

/** One request for one run. */
export type Asked = {
  readonly agent: string;
  /** Text, or an object as the agent's tool takes it. */
  readonly input: string | JsonObject;
  /** At most the token's. */
  readonly budget?: Budget;
  /** How the answer should look; `json` needs a schema, here or in the agent's own definition. */
  readonly format?: OutputFormat['format'];
  readonly schema?: JsonObject;
  /** What it should know besides. */
  readonly context?: readonly string[];
  /** What was said before, as the client tells it: crosses as `history`. Not together with a conversation. */
  readonly history?: readonly Said[];
  /** A name among the caller's own conversations with that agent. */
  readonly conversation?: string;
  /** It lives until it is asked to finish; `input` is its first message. */
  readonly resident?: boolean;
  /** Its events or pieces will be read: none is missed from the first on. */
  readonly stream?: boolean;
};

export interface Serving {
  /** What clients may send, or are shown, by the operator's leave. */
  readonly clients: ClientRules;
  /** Those that this caller may ask, in the order in which they were given. */
  agents(caller: Caller): readonly Agent[];
  /**
   * Waits for a place, then begins. The signal takes it out of the line, or cancels the whole run. Rejects with a CloisterError
   * for everything that is wrong with it; others' agents are unknown ones.
   */
  begin(caller: Caller, asked: Asked, signal?: AbortSignal): Promise<ServedRun>;
  /** Newest first. */
  runs(caller: Caller): Promise<readonly RunSummary[]>;
  /** Rejects with `run_unknown`, also for those of others. */
  find(caller: Caller, run: string): Promise<FoundRun>;
}

export type ClientRules = {
  /** A client's system prompt is handed over, as something to know. Else it is refused. */
  readonly system: boolean;
  /** What sub-agents and tools do is shown as reasoning where a protocol has that. */
  readonly activity: boolean;
};

/** A run that was begun for somebody. */
export type ServedRun = {
  readonly run: RunId;
  readonly agent: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** See `RunSession.outcome`. */
  readonly outcome: Promise<RunOutcome>;
  /** Durable ones from the start, live ones from now. */
  events(): AsyncIterable<RunEvent>;
  /** The answer as it comes; ends with the run. All texts together end with the whole answer, if there is one. */
  pieces(): AsyncIterable<AnswerPiece>;
  cancel(): void;
};

/** `activity`: who does what meanwhile, in words. */
export type AnswerPiece = { readonly type: 'text' | 'activity'; readonly text: string };

/** A run that is there already. */
export type FoundRun = {
  readonly summary: RunSummary;
  /** Null when it is not under way here. */
  readonly session: RunSession | null;
  report(): Promise<RunReport>;
  /** What was said in it: what it was told, what it was asked, what it answered. */
  said(): Promise<readonly Said[]>;
  /** After the event of this id; from the start without one. Live pieces too, while it is under way here. */
  events(after?: string): AsyncIterable<RunEvent>;
};
