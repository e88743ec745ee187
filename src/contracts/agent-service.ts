// What headends that serve other people's clients ask of the runtime.
import type { JsonObject, RunId } from '#base';
import type { Agent, OutputFormat } from './agent.ts';
import type { Budget, SpentTokens } from './amounts.ts';
import type { RunEvent } from './event.ts';
import type { RunSession, MessageTarget } from './run-session.ts';
import type { RunReport } from './runtime.ts';
import type { DialogMessage } from './dialog-message.ts';
import type { RunOutcome } from './session.ts';
import type { RunSummary } from './store.ts';

/** Who asks: the holder of a token. Runs and conversations belong to the one that they were made with. */
export type Caller = { readonly name: string };

/** One request for one run. */
export type AgentRequest = {
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
  readonly history?: readonly DialogMessage[];
  /** A name among the caller's own conversations with that agent. */
  readonly conversation?: string;
  /** It lives until it is asked to finish; `input` is its first message. */
  readonly resident?: boolean;
  /** Functions that the client has: the agent's model may call them besides its own, and the client brings the results. */
  readonly tools?: readonly ClientTool[];
  /** The client takes one call at a time. */
  readonly oneCall?: boolean;
  /** Its events or pieces will be read: none is missed from the first on. */
  readonly stream?: boolean;
};

export type ClientTool = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };

/** A call of one of the client's tools. The id is random, and known to its caller alone. */
export type ClientCall = { readonly id: string; readonly name: string; readonly args: JsonObject };

export type CallResult = {
  /** The id of the call. */
  readonly call: string;
  readonly text: string;
  /** It says why there is none. */
  readonly failed: boolean;
};

/** What a client brings to a run that waits for it. */
export type ClientToolResults = { readonly results: readonly CallResult[]; readonly said: readonly string[] };

export interface AgentService {
  /** What clients may send, or are shown, by the operator's leave. */
  readonly clients: ClientRules;
  /** Those that this caller may ask, in the order in which they were given. */
  agents(caller: Caller): readonly Agent[];
  /**
   * Waits for a place, then begins. The signal takes it out of the line, or cancels the whole run. Rejects with a CloisterError
   * for everything that is wrong with it; others' agents are unknown ones.
   */
  startRun(caller: Caller, asked: AgentRequest, signal?: AbortSignal): Promise<ServedRun>;
  /**
   * Takes results of calls that one run of this caller waits for, once there is a place, and goes on with it: all of them, or none. The
   * signal cancels the run until the next request for it comes. Rejects with `request_invalid` for calls that nobody waits for, and for those
   * of others in the same words; with `server_busy`, and nothing was taken. What is said beside them is given to the agent to know.
   */
  continueRun(caller: Caller, brought: ClientToolResults, signal?: AbortSignal): Promise<ServedRun>;
  /** Whether a run of this caller waits for one of these calls. */
  awaits(caller: Caller, calls: readonly string[]): boolean;
  /**
   * Writes to an agent of a run that is under way here; one that waits for mail takes a place first, in line like everybody. Gives the
   * id of the message. Rejects with `run_unknown`, also for runs of others, with `cell_ended`, `server_busy`, or what `RunSession.send` throws.
   */
  sendMessage(caller: Caller, run: string, letter: OutgoingMessage, signal?: AbortSignal): Promise<string>;
  /** What a request of a run of this caller was told, counted from 1; undefined: it is not kept, or never was. */
  requestState(caller: Caller, run: string, nth: number): RequestState | undefined;
  /** Newest first, at most so many. */
  runs(caller: Caller, most: number): Promise<readonly RunSummary[]>;
  /** Rejects with `run_unknown`, also for those of others. */
  find(caller: Caller, run: string): Promise<FoundRun>;
}

export type OutgoingMessage = MessageTarget & { readonly text: string };

/** How a request stands, or with what it ended: with calls that the run waited for, or with the run. */
export type RequestState =
  | { readonly state: 'under way' }
  | {
      readonly state: 'calls';
      /** What was said before. */
      readonly text: string;
      readonly calls: readonly ClientCall[];
      /** Since the request before. */
      readonly spent: SpentTokens;
    }
  | { readonly state: 'ended'; readonly spent: SpentTokens };

export type ClientRules = {
  /** A client's system prompt is handed over, as something to know. Else it is refused. */
  readonly system: boolean;
  /** A client's tools are offered to the agent besides its own. Else they are refused. */
  readonly tools: boolean;
  /** What sub-agents and tools do is shown as reasoning where a protocol has that. */
  readonly activity: boolean;
};

/** A run that was begun for somebody, as one request sees it: with tools of the client, a run may take several. */
export type ServedRun = {
  readonly run: RunId;
  /** Of the requests that the run has taken, counted from 1; only where the client has tools. */
  readonly nth?: number;
  readonly agent: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** See `RunSession.outcome`. */
  readonly outcome: Promise<RunOutcome>;
  /** Durable ones from the start, live ones from now. */
  events(): AsyncIterable<RunEvent>;
  /**
   * The answer as it comes; ends with the run, or where it waits for its client. All texts together end with the whole answer,
   * if there is one.
   */
  pieces(): AsyncIterable<AnswerPiece>;
  /**
   * Only where the client has tools: reads what is left of the pieces, and gives the calls that the run waits for then; null when
   * it has ended. `outcome` then tells what was spent since the request before.
   */
  pause?(): Promise<ClientToolPause | null>;
  cancel(): void;
};

export type ClientToolPause = {
  readonly calls: readonly ClientCall[];
  /** Since the request before. */
  readonly spent: SpentTokens;
};

/** `activity`: who does what meanwhile, in words. */
export type AnswerPiece = { readonly type: 'text' | 'activity'; readonly text: string };

/** A run that is there already. */
export type FoundRun = {
  readonly summary: RunSummary;
  /** Null when it is not under way here. */
  readonly session: RunSession | null;
  report(): Promise<RunReport>;
  /**
   * What was said in it: what it was told, what it was asked, what it answered. Rejects with `request_unsupported` for one that
   * people write to while it lives.
   */
  said(): Promise<readonly DialogMessage[]>;
  /**
   * After the event of this id; from the start without one. Live pieces too, while it is under way here. They end with the run, or
   * when the signal comes.
   */
  events(after?: string, signal?: AbortSignal): AsyncIterable<RunEvent>;
};
