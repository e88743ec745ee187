// A run whose client has tools. It takes several requests, each of which lasts until the run waits for the client again.
//
//   request-answered-when-client-is-asked. A request is answered when all client tool calls that the run has started wait for
//       the client, or when the run has ended.
//   disconnect-ends-run. A client that disconnects before it has its answer ends the run, even if the run is waiting for it by
//       then; whoever sends results becomes its client. A call that times out between two requests also ends the run, because
//       no client would notice.
import { randomBytes } from 'node:crypto';
import { CloisterError } from '#base';
import type { JsonObject, RunId } from '#base';
import type {
  AnswerPiece,
  CallResult,
  ClientCall,
  ClientTool,
  ClientToolPause,
  RunEvent,
  RunOutcome,
  RunSession,
  SpentTokens,
  ToolDefinition,
} from '#contracts';
import { answerPieces, eagerEvents } from './answer-pieces.ts';
import type { PiecesOptions } from './answer-pieces.ts';
import { RequestStates } from './request-states.ts';

export type WaitingCall = ClientCall & {
  /** The number of the call's operation. */
  readonly op: number;
  settle(result: CallResult): void;
};

type ClientRunPorts = {
  readonly timeoutMs: number;
  /** The client takes one call at a time. */
  readonly oneCall: boolean;
  wait(call: WaitingCall): void;
  forget(call: WaitingCall): void;
  onStart(run: RunId, states: RequestStates): void;
  /** Null: the run never started. */
  onEnd(run: RunId | null): void;
  isStopped(): boolean;
};

/** One request's share of the run. */
type ClientRequestRun = {
  /** Counted from 1. */
  readonly nth: number;
  readonly outcome: Promise<RunOutcome>;
  readonly pieces: AsyncIterable<AnswerPiece>;
  pause(): Promise<ClientToolPause | null>;
};

type OpenRequest = {
  /** Counted from 1. */
  readonly nth: number;
  /** The text of this request so far. */
  text: string;
  readonly paused: PromiseWithResolvers<readonly WaitingCall[] | null>;
  calls: readonly WaitingCall[] | null;
  wake(): void;
};

type RequestHooks = {
  /** The client has disconnected. */
  readonly onDisconnect: () => void;
  /** The run now waits for its client. */
  readonly onWait: () => void;
};

export class ClientRun {
  readonly caller: string;
  readonly definitions: readonly ToolDefinition[];
  readonly #ports: ClientRunPorts;
  /** In order of arrival. */
  readonly #waiting = new Set<WaitingCall>();
  #callsStarted = 0;
  #callsArrived = 0;
  #session: RunSession | undefined;
  #events: AsyncIterator<RunEvent> | undefined;
  #next: Promise<IteratorResult<RunEvent>> | undefined;
  #root: string | undefined;
  /** The newest operation number seen in the events. */
  #opRead = -1;
  #tokensRead = zeroTokens;
  #tokensReported = zeroTokens;
  readonly #states = new RequestStates();
  /** The request that is being answered now. */
  #openRequest: OpenRequest | null = null;
  #hooks: RequestHooks | undefined;
  /** Stops listening for the client's disconnect. */
  #stopListening: () => void = () => undefined;

  constructor(caller: string, tools: readonly ClientTool[], ports: ClientRunPorts) {
    this.caller = caller;
    this.#ports = ports;
    this.definitions = tools.map((tool) => this.#definition(tool));
  }

  /** Connects the run, which must not have started to work yet. */
  attach(session: RunSession): void {
    this.#session = session;
    this.#events = eagerEvents(session, session.outcome)[Symbol.asyncIterator]();
    this.#ports.onStart(session.run, this.#states);
    const over = (spent: SpentTokens): void => {
      this.#stopListening();
      for (const call of this.#waiting) this.#ports.forget(call);
      this.#waiting.clear();
      this.#pause(null);
      this.#states.end(subtractTokens(spent, this.#tokensReported));
      this.#ports.onEnd(session.run);
    };
    session.outcome.then(
      ({ spent }) => over(spent),
      () => over(this.#tokensRead),
    );
  }

  /** Called when the run could not be started. */
  discard(): void {
    this.#ports.onEnd(null);
  }

  get session(): RunSession {
    if (this.#session === undefined) throw new CloisterError('defect', 'The run has not started.');
    return this.#session;
  }

  /** Whether the run waits for a request with tool results. */
  get isWaiting(): boolean {
    return this.#openRequest === null && this.#waiting.size > 0;
  }

  /** Starts to answer a request. The signal must not fire once the answer was delivered. */
  serveRequest(options: PiecesOptions, hooks: RequestHooks, signal?: AbortSignal): ClientRequestRun {
    const request: OpenRequest = {
      nth: this.#states.begin(),
      text: '',
      paused: Promise.withResolvers(),
      calls: null,
      wake: () => undefined,
    };
    this.#openRequest = request;
    this.#hooks = hooks;
    this.#listenForDisconnect(signal, hooks);
    const tokensReported = this.#tokensReported;
    const outcome = this.session.outcome.then((end) => ({
      ...end,
      spent: { ...end.spent, ...subtractTokens(end.spent, tokensReported) },
    }));
    outcome.catch(() => undefined);
    const answer = async (): Promise<Pick<RunOutcome, 'output'>> =>
      (await request.paused.promise) === null ? this.session.outcome : { output: '' };
    const pieces = sharedPieces(() => {
      const output = answer();
      output.catch(() => undefined);
      const root = this.#root === undefined ? {} : { root: this.#root };
      return collectText(request, answerPieces(this.#eventsOf(request), output, { ...options, ...root }));
    });
    // Some calls that the client already knows have no result yet.
    if (this.#waiting.size > 0) this.#pause(this.#callsToSend());
    return { nth: request.nth, outcome, pieces, pause: () => this.#pauseOf(request, pieces) };
  }

  /** Cancels the run if no request is being answered, because none will come. */
  cancelIfUnattended(): void {
    if (this.#openRequest === null) this.#session?.cancel();
  }

  #listenForDisconnect(signal: AbortSignal | undefined, { onDisconnect }: RequestHooks): void {
    this.#stopListening();
    const stopListening = (): void => signal?.removeEventListener('abort', onDisconnect);
    this.#stopListening = stopListening;
    if (signal?.aborted === true) onDisconnect();
    else signal?.addEventListener('abort', onDisconnect, { once: true });
  }

  #definition({ name, description, inputSchema }: ClientTool): ToolDefinition {
    return {
      name,
      description,
      inputSchema,
      timeoutMs: this.#ports.timeoutMs,
      outside: { called: () => void this.#callsStarted++ },
      execute: (args, { signal, key }) => this.#wait({ name, args }, signal, key),
    };
  }

  #wait(call: { readonly name: string; readonly args: JsonObject }, signal: AbortSignal, key: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const forget = (): void => {
        this.#waiting.delete(waiting);
        this.#ports.forget(waiting);
      };
      const waiting: WaitingCall = {
        ...call,
        id: `call_${randomBytes(16).toString('hex')}`,
        op: Number(key.slice(key.lastIndexOf('/') + 1)),
        settle: ({ text, failed }) => {
          forget();
          if (failed) reject(new CloisterError('tool_failed', text));
          else resolve(text);
        },
      };
      this.#callsArrived++;
      this.#waiting.add(waiting);
      this.#ports.wait(waiting);
      const stopped = (): void => {
        if (!this.#waiting.has(waiting)) return;
        forget();
        // Deferred until the timeout is recorded. Every other reason to stop a call also stops the run.
        if (signal.reason instanceof CloisterError && signal.reason.code === 'tool_timeout')
          queueMicrotask(() => this.cancelIfUnattended());
      };
      signal.addEventListener('abort', stopped, { once: true });
      // Runs after everything that is ready to start has started.
      setImmediate(() => {
        if (this.#waiting.size > 0 && this.#callsArrived === this.#callsStarted) this.#pause(this.#callsToSend());
      });
    });
  }

  #callsToSend(): readonly WaitingCall[] {
    return [...this.#waiting].slice(0, this.#ports.oneCall ? 1 : Infinity);
  }

  #pause(calls: readonly WaitingCall[] | null): void {
    const request = this.#openRequest;
    if (request === null) return;
    this.#openRequest = null;
    request.calls = calls;
    request.paused.resolve(calls);
    request.wake();
    if (calls === null) return;
    this.#hooks?.onWait();
    if (this.#ports.isStopped()) this.session.cancel();
  }

  async #pauseOf(request: OpenRequest, pieces: AsyncIterable<AnswerPiece>): Promise<ClientToolPause | null> {
    for await (const piece of pieces) void piece;
    const calls = await request.paused.promise;
    if (calls === null) return null;
    const spent = subtractTokens(this.#tokensRead, this.#tokensReported);
    this.#tokensReported = this.#tokensRead;
    const pause = { calls: calls.map(({ id, name, args }) => ({ id, name, args })), spent };
    this.#states.record(request.nth, { state: 'calls', text: request.text, ...pause });
    return pause;
  }

  /** Events up to the start of the newest call that ends this request. */
  async *#eventsOf(request: OpenRequest): AsyncGenerator<RunEvent> {
    for (;;) {
      if (request.calls?.every(({ op }) => op <= this.#opRead) === true) return;
      const got = await this.#nextEvent(request);
      if (got === null) continue;
      this.#next = undefined;
      if (got.done === true) return;
      this.#trackEvent(got.value);
      yield got.value;
    }
  }

  /** Null: the request ended while waiting. */
  #nextEvent(request: OpenRequest): Promise<IteratorResult<RunEvent> | null> {
    return new Promise((resolve, reject) => {
      const wake = (): void => resolve(null);
      request.wake = wake;
      (this.#next ??= this.#events!.next()).then(resolve, reject);
    });
  }

  #trackEvent(event: RunEvent): void {
    this.#root ??= event.cell;
    if (event.type === 'tool-start' && event.cell === this.#root) this.#opRead = Math.max(this.#opRead, event.op);
    if (event.type === 'model-end') this.#tokensRead = addTokens(this.#tokensRead, event);
  }
}

async function* collectText(request: OpenRequest, pieces: AsyncIterable<AnswerPiece>): AsyncGenerator<AnswerPiece> {
  for await (const piece of pieces) {
    if (piece.type === 'text') request.text += piece.text;
    yield piece;
  }
}

/** All readers share one iterator. */
const sharedPieces = (make: () => AsyncGenerator<AnswerPiece>): AsyncIterable<AnswerPiece> => {
  let made: AsyncGenerator<AnswerPiece> | undefined;
  return { [Symbol.asyncIterator]: () => (made ??= make()) };
};

// Adds and subtracts the tokens spent by the requests of a run.
const zeroTokens: SpentTokens = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

const addTokens = (one: SpentTokens, other: SpentTokens): SpentTokens => ({
  inputTokens: one.inputTokens + other.inputTokens,
  cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
  cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});

const subtractTokens = (all: SpentTokens, reported: SpentTokens): SpentTokens => ({
  inputTokens: Math.max(0, all.inputTokens - reported.inputTokens),
  cacheReadTokens: Math.max(0, all.cacheReadTokens - reported.cacheReadTokens),
  cacheWriteTokens: Math.max(0, all.cacheWriteTokens - reported.cacheWriteTokens),
  outputTokens: Math.max(0, all.outputTokens - reported.outputTokens),
});
