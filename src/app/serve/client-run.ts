// A run whose client has tools. It takes several requests, each of which lasts until the run waits for the client again.
//
//   request-answered-when-client-is-asked. A request is answered when the run waits for results of the client's calls, with all that
//       wait by then, or when the run has ended.
//   disconnect-ends-run. A client that disconnects before it has its answer ends the run, even if the run is waiting for it by
//       then; whoever sends results becomes its client.
import { readQuestionId } from '#contracts';
import type {
  AnswerPiece,
  ClientCall,
  ClientToolPause,
  FollowedRun,
  RunEvent,
  RunOutcome,
  SpentTokens,
  WaitingCall,
} from '#contracts';
import { answerPieces, eagerEvents } from './answer-pieces.ts';
import type { PiecesOptions } from './answer-pieces.ts';
import { RequestStates } from './request-states.ts';

/** One request's share of the run. */
type ClientRequestRun = {
  /** Counted from 1. */
  readonly nth: number;
  readonly outcome: Promise<RunOutcome>;
  readonly pieces: AsyncIterable<AnswerPiece>;
  pause(): Promise<ClientToolPause | null>;
};

type ClientRequest = {
  /** The client takes one call at a time, from now on. */
  readonly oneCall: boolean;
  /** The number of the newest frame that the client has seen: what the run did before is no part of this answer. */
  readonly after: number;
  /** Calls that wait for their results already. */
  readonly waiting: readonly WaitingCall[];
  /** The end of the run, as its client is told. Rejects also if the run is left to be resumed. */
  readonly end: Promise<RunOutcome>;
  /** Called when the client disconnects. */
  readonly onDisconnect: () => void;
};

type OpenRequest = ClientRequest & {
  /** Counted from 1. */
  readonly nth: number;
  /** The text of this request so far. */
  text: string;
  /** The calls that it is answered with; null: the run has ended. */
  readonly answered: PromiseWithResolvers<readonly WaitingCall[] | null>;
};

/** What is read of the run, whichever process works on it. */
type ReadSession = AsyncIterable<RunEvent> & Pick<FollowedRun, 'outcome' | 'clientCalls'>;

export class ClientRun {
  readonly session: ReadSession;
  readonly states: RequestStates;
  readonly #events: AsyncIterator<RunEvent>;
  #root: string | undefined;
  /** The number of the newest frame with a call of the client's tools that was read in the events. */
  #frameRead = -1;
  #tokensRead = zeroTokens;
  #tokensReported = zeroTokens;
  /** The request that is being answered now. */
  #openRequest: OpenRequest | null = null;
  #oneCall = false;
  /** Stops listening for the client's disconnect. */
  #stopListening: () => void = () => undefined;
  /** One request at a time hands over its results. */
  #turn: Promise<unknown> = Promise.resolve();

  /** For a new run, before it works: its first events would be missed otherwise. `answered`: how many results it was given before. */
  constructor(session: ReadSession, answered = 0) {
    this.session = session;
    this.states = new RequestStates(answered);
    this.#events = eagerEvents(session, session.outcome)[Symbol.asyncIterator]();
    const over = (spent: SpentTokens): void => {
      this.#stopListening();
      this.states.end(subtractTokens(spent, this.#tokensReported));
    };
    session.outcome.then(
      ({ spent }) => over(spent),
      () => over(this.#tokensRead),
    );
  }

  /** Whether a request is being answered. */
  get isAnswering(): boolean {
    return this.#openRequest !== null;
  }

  /** Resolves when the request that is being answered now, if any, has its answer. */
  get answered(): Promise<unknown> {
    return this.#openRequest?.answered.promise ?? Promise.resolve();
  }

  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Starts to answer a request. The signal must not fire once the answer was delivered. */
  serveRequest(options: PiecesOptions, given: ClientRequest, signal?: AbortSignal): ClientRequestRun {
    const request: OpenRequest = {
      ...given,
      nth: this.states.begin(),
      text: '',
      answered: Promise.withResolvers(),
    };
    this.#openRequest = request;
    this.#oneCall ||= given.oneCall;
    this.#listenForDisconnect(signal, given.onDisconnect);
    const outcome = given.end.then((end) => ({
      ...end,
      spent: { ...end.spent, ...subtractTokens(end.spent, this.#tokensReported) },
    }));
    outcome.catch(() => void this.#events.return?.());
    const answer = async (): Promise<Pick<RunOutcome, 'output'>> =>
      (await request.answered.promise) === null ? given.end : { output: '' };
    const pieces = sharedPieces(() => {
      const output = answer();
      output.catch(() => undefined);
      const root = this.#root === undefined ? {} : { root: this.#root };
      return collectText(request, answerPieces(this.#eventsOf(request), output, { ...options, ...root }));
    });
    return { nth: request.nth, outcome, pieces, pause: () => this.#pauseOf(request, pieces) };
  }

  #listenForDisconnect(signal: AbortSignal | undefined, onDisconnect: () => void): void {
    this.#stopListening();
    const stopListening = (): void => signal?.removeEventListener('abort', onDisconnect);
    this.#stopListening = stopListening;
    if (signal?.aborted === true) onDisconnect();
    else signal?.addEventListener('abort', onDisconnect, { once: true });
  }

  async #pauseOf(request: OpenRequest, pieces: AsyncIterable<AnswerPiece>): Promise<ClientToolPause | null> {
    for await (const piece of pieces) void piece;
    const calls = await request.answered.promise;
    if (calls === null) return null;
    const spent = subtractTokens(this.#tokensRead, this.#tokensReported);
    this.#tokensReported = this.#tokensRead;
    const pause = { calls: calls.map(({ id, name, args }): ClientCall => ({ id, name, args })), spent };
    this.states.record(request.nth, { state: 'calls', text: request.text, ...pause });
    return pause;
  }

  /** Events up to the newest call that ends this request. */
  async *#eventsOf(request: OpenRequest): AsyncGenerator<RunEvent> {
    let calls = request.waiting;
    try {
      if (this.#frameRead < request.after) {
        while (this.#frameRead < request.after) if ((await this.#nextEvent()) === null) return;
        // Another process has reported it.
        this.#tokensReported = this.#tokensRead;
      }
      for (;;) {
        if (calls.length > 0 && calls.every(({ id }) => frameOf(id) <= this.#frameRead)) {
          request.answered.resolve(this.#oneCall ? calls.slice(0, 1) : calls);
          return;
        }
        const event = await this.#nextEvent();
        if (event === null) return;
        // The calls of a turn are asked together, so all of them wait when the first is read.
        if (calls.length === 0 && this.#isClientCall(event)) calls = await this.session.clientCalls();
        yield event;
      }
    } finally {
      if (this.#openRequest === request) this.#openRequest = null;
      request.answered.resolve(null);
    }
  }

  /** Null: the run has ended. */
  async #nextEvent(): Promise<RunEvent | null> {
    const { done, value: event } = await this.#events.next();
    if (done === true) return null;
    this.#root ??= event.cell;
    if (event.type === 'model-end') this.#tokensRead = addTokens(this.#tokensRead, event);
    if (this.#isClientCall(event)) this.#frameRead = Math.max(this.#frameRead, frameOf(event.question));
    return event;
  }

  #isClientCall(event: RunEvent): event is RunEvent & { readonly type: 'question' } {
    return event.type === 'question' && event.why === 'client';
  }
}

const frameOf = (question: string): number => readQuestionId(question)?.frame ?? 0;

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
