// A run whose client has tools: it takes several requests, each up to where the run waits for the client again.
//
//   N1. A request is answered when all calls of the client's tools that the run has begun wait for it; or when it has ended.
//   N2. A client that goes away before it has its answer ends the run, also when the run waits for it by then; whoever brings results is
//       its client from then on. A call whose time is over between two requests ends the run too, for nobody would hear it.
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
import { answerPieces } from './answer-pieces.ts';
import type { PiecesOptions } from './answer-pieces.ts';
import { eagerEvents } from './eager-events.ts';
import { subtractTokens, addTokens, zeroTokens } from './token-arithmetic.ts';
import { RequestStates } from './request-states.ts';

export type WaitingCall = ClientCall & {
  /** The number of its operation. */
  readonly op: number;
  settle(result: CallResult): void;
};

type Ports = {
  readonly timeoutMs: number;
  /** The client takes one call at a time. */
  readonly oneCall: boolean;
  wait(call: WaitingCall): void;
  forget(call: WaitingCall): void;
  begun(run: RunId, parts: RequestStates): void;
  /** Null: it never began. */
  ended(run: RunId | null): void;
  isStopped(): boolean;
};

/** What one request gets of the run. */
export type ClientRequestRun = {
  /** Counted from 1. */
  readonly nth: number;
  readonly outcome: Promise<RunOutcome>;
  readonly pieces: AsyncIterable<AnswerPiece>;
  pause(): Promise<ClientToolPause | null>;
};

type Open = {
  /** Counted from 1. */
  readonly nth: number;
  /** What was said in it so far. */
  said: string;
  readonly paused: PromiseWithResolvers<readonly WaitingCall[] | null>;
  calls: readonly WaitingCall[] | null;
  wake(): void;
};

/** What is done around it. */
type Around = {
  /** The client has gone away. */
  readonly gone: () => void;
  /** It waits for its client from now on. */
  readonly waits: () => void;
};

export class ClientRun {
  readonly caller: string;
  readonly definitions: readonly ToolDefinition[];
  readonly #ports: Ports;
  /** In the order in which they came. */
  readonly #waiting = new Set<WaitingCall>();
  #begun = 0;
  #arrived = 0;
  #session: RunSession | undefined;
  #events: AsyncIterator<RunEvent> | undefined;
  #next: Promise<IteratorResult<RunEvent>> | undefined;
  #root: string | undefined;
  /** Of the calls that were read of, the newest. */
  #opRead = -1;
  #read = zeroTokens;
  #told = zeroTokens;
  readonly #parts = new RequestStates();
  /** The request that hears it now. */
  #part: Open | null = null;
  #around: Around | undefined;
  /** Its client is not listened for any more. */
  #unhear: () => void = () => undefined;

  constructor(caller: string, tools: readonly ClientTool[], ports: Ports) {
    this.caller = caller;
    this.#ports = ports;
    this.definitions = tools.map((tool) => this.#definition(tool));
  }

  /** The run itself. It must not have begun to work. */
  attach(session: RunSession): void {
    this.#session = session;
    this.#events = eagerEvents(session)[Symbol.asyncIterator]();
    this.#ports.begun(session.run, this.#parts);
    const over = (spent: SpentTokens): void => {
      this.#unhear();
      for (const call of this.#waiting) this.#ports.forget(call);
      this.#waiting.clear();
      this.#pause(null);
      this.#parts.end(subtractTokens(spent, this.#told));
      this.#ports.ended(session.run);
    };
    session.outcome.then(
      ({ spent }) => over(spent),
      () => over(this.#read),
    );
  }

  /** It could not be begun. */
  drop(): void {
    this.#ports.ended(null);
  }

  get session(): RunSession {
    if (this.#session === undefined) throw new CloisterError('defect', 'The run has not begun.');
    return this.#session;
  }

  /** No request hears it; the next one brings results. */
  get waits(): boolean {
    return this.#part === null && this.#waiting.size > 0;
  }

  /** What the request that is answered now gets of it. The signal of a request whose answer was delivered never comes. */
  part(options: PiecesOptions, around: Around, signal?: AbortSignal): ClientRequestRun {
    const part: Open = {
      nth: this.#parts.begin(),
      said: '',
      paused: Promise.withResolvers(),
      calls: null,
      wake: () => undefined,
    };
    this.#part = part;
    this.#around = around;
    this.#hear(signal, around);
    const told = this.#told;
    const outcome = this.session.outcome.then((end) => ({
      ...end,
      spent: { ...end.spent, ...subtractTokens(end.spent, told) },
    }));
    outcome.catch(() => undefined);
    const answer = async (): Promise<Pick<RunOutcome, 'output'>> =>
      (await part.paused.promise) === null ? this.session.outcome : { output: '' };
    const pieces = piecesOf(() => {
      const output = answer();
      output.catch(() => undefined);
      const root = this.#root === undefined ? {} : { root: this.#root };
      return heard(part, answerPieces(this.#eventsOf(part), output, { ...options, ...root }));
    });
    // Of those that it was told of before, some have no result yet.
    if (this.#waiting.size > 0) this.#pause(this.#due());
    return { nth: part.nth, outcome, pieces, pause: () => this.#pauseOf(part, pieces) };
  }

  /** Ends it if no request hears it: none will come. */
  endIfLeft(): void {
    if (this.#part === null) this.#session?.cancel();
  }

  #hear(signal: AbortSignal | undefined, { gone }: Around): void {
    this.#unhear();
    const unhear = (): void => signal?.removeEventListener('abort', gone);
    this.#unhear = unhear;
    if (signal?.aborted === true) gone();
    else signal?.addEventListener('abort', gone, { once: true });
  }

  #definition({ name, description, inputSchema }: ClientTool): ToolDefinition {
    return {
      name,
      description,
      inputSchema,
      timeoutMs: this.#ports.timeoutMs,
      outside: { called: () => void this.#begun++ },
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
      this.#arrived++;
      this.#waiting.add(waiting);
      this.#ports.wait(waiting);
      const stopped = (): void => {
        if (!this.#waiting.has(waiting)) return;
        forget();
        // After it is recorded why. All else that stops a call stops the run too.
        if (signal.reason instanceof CloisterError && signal.reason.code === 'tool_timeout')
          queueMicrotask(() => this.endIfLeft());
      };
      signal.addEventListener('abort', stopped, { once: true });
      // When all that is ready to begin has begun.
      setImmediate(() => {
        if (this.#waiting.size > 0 && this.#arrived === this.#begun) this.#pause(this.#due());
      });
    });
  }

  #due(): readonly WaitingCall[] {
    return [...this.#waiting].slice(0, this.#ports.oneCall ? 1 : Infinity);
  }

  #pause(calls: readonly WaitingCall[] | null): void {
    const part = this.#part;
    if (part === null) return;
    this.#part = null;
    part.calls = calls;
    part.paused.resolve(calls);
    part.wake();
    if (calls === null) return;
    this.#around?.waits();
    if (this.#ports.isStopped()) this.session.cancel();
  }

  async #pauseOf(part: Open, pieces: AsyncIterable<AnswerPiece>): Promise<ClientToolPause | null> {
    for await (const piece of pieces) void piece;
    const calls = await part.paused.promise;
    if (calls === null) return null;
    const spent = subtractTokens(this.#read, this.#told);
    this.#told = this.#read;
    const pause = { calls: calls.map(({ id, name, args }) => ({ id, name, args })), spent };
    this.#parts.record(part.nth, { state: 'calls', text: part.said, ...pause });
    return pause;
  }

  /** Up to where the newest of the calls that it ends with began. */
  async *#eventsOf(part: Open): AsyncGenerator<RunEvent> {
    for (;;) {
      if (part.calls?.every(({ op }) => op <= this.#opRead) === true) return;
      const got = await this.#nextEvent(part);
      if (got === null) continue;
      this.#next = undefined;
      if (got.done === true) return;
      this.#note(got.value);
      yield got.value;
    }
  }

  /** Null: the request ends meanwhile. */
  #nextEvent(part: Open): Promise<IteratorResult<RunEvent> | null> {
    return new Promise((resolve, reject) => {
      const wake = (): void => resolve(null);
      part.wake = wake;
      (this.#next ??= this.#events!.next()).then(resolve, reject);
    });
  }

  #note(event: RunEvent): void {
    this.#root ??= event.cell;
    if (event.type === 'tool-start' && event.cell === this.#root) this.#opRead = Math.max(this.#opRead, event.op);
    if (event.type === 'model-end') this.#read = addTokens(this.#read, event);
  }
}

async function* heard(part: Open, pieces: AsyncIterable<AnswerPiece>): AsyncGenerator<AnswerPiece> {
  for await (const piece of pieces) {
    if (piece.type === 'text') part.said += piece.text;
    yield piece;
  }
}

/** All who read it read one and the same. */
const piecesOf = (make: () => AsyncGenerator<AnswerPiece>): AsyncIterable<AnswerPiece> => {
  let made: AsyncGenerator<AnswerPiece> | undefined;
  return { [Symbol.asyncIterator]: () => (made ??= make()) };
};
