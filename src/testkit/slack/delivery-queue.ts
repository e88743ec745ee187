// Deliveries to the app: at least once.
//
//   An event that is not acknowledged in time is sent again: at once, after a minute, after five minutes; then Slack gives up.
//   Commands and interactions are sent once: the person sees that it failed.
//   The connections take turns. What a connection had not acknowledged when it ended is sent again over another one.
import type { JsonObject } from '#base';
import type { CancelTimer, Clock } from '#contracts';

/** What goes over a socket or into a request. */
export type SlackEnvelope = {
  /** New for each attempt. */
  readonly id: string;
  readonly type: 'events_api' | 'slash_commands' | 'interactive';
  readonly payload: JsonObject;
  /** 0 for the first attempt. */
  readonly retryAttempt: number;
  readonly retryReason: string | undefined;
};

/** Resolves with the body of the acknowledgement. Rejects if the delivery was refused. */
export type SlackConsumer = (envelope: SlackEnvelope) => Promise<JsonObject | undefined>;

/** One attempt to deliver something. */
type SlackAttempt = {
  readonly envelope: SlackEnvelope;
  readonly at: number;
  /** Of the connection, from 1; 0 if there was none. */
  readonly connection: number;
  /** Milliseconds until it was acknowledged, also too late; undefined if it was not. */
  readonly acknowledgedMs: number | undefined;
};

/** Something that was, or is to be, delivered. */
export type SlackSent = {
  readonly type: SlackEnvelope['type'];
  readonly payload: JsonObject;
  readonly attempts: readonly SlackAttempt[];
  /** Resolves with the body of the first acknowledgement that came in time; with false if Slack gave up. */
  readonly acknowledged: Promise<JsonObject | undefined | false>;
};

/** A way to the app. */
export type SlackConnection = {
  /** From 1. */
  readonly number: number;
  /** What it has not acknowledged is sent again over another connection. */
  end(): void;
};

const ackMs = 3000;
const retriesAfterMs = [0, 60_000, 300_000];

type OpenConnection = { readonly number: number; readonly consumer: SlackConsumer; readonly failures: Set<Failure> };
type Failure = (reason: string) => void;
type MutableSent = { attempts: SlackAttempt[]; settle(body: JsonObject | undefined | false): void } & Omit<
  SlackSent,
  'attempts'
>;

export class DeliveryQueue {
  readonly sent: SlackSent[] = [];
  readonly #connections: OpenConnection[] = [];
  readonly #clock: Clock;
  readonly #nextId: (prefix: string) => string;
  readonly #timers = new Set<CancelTimer>();
  #opened = 0;
  #turn = 0;

  constructor(clock: Clock, nextId: (prefix: string) => string) {
    this.#clock = clock;
    this.#nextId = nextId;
  }

  connect(consumer: SlackConsumer): SlackConnection {
    const connection: OpenConnection = { number: ++this.#opened, consumer, failures: new Set() };
    this.#connections.push(connection);
    const end = (): void => {
      const index = this.#connections.indexOf(connection);
      if (index < 0) return;
      this.#connections.splice(index, 1);
      for (const fail of connection.failures) fail('connection_failed');
    };
    return { number: connection.number, end };
  }

  send(type: SlackEnvelope['type'], payload: JsonObject): SlackSent {
    const { promise, resolve } = Promise.withResolvers<JsonObject | undefined | false>();
    const sent: MutableSent = { type, payload, attempts: [], acknowledged: promise, settle: resolve };
    this.sent.push(sent);
    this.#attempt(sent, 0, undefined);
    return sent;
  }

  /** Sends it once more, as Slack does when an acknowledgement was lost. */
  sendAgain(sent: SlackSent): void {
    const last = sent.attempts.at(-1)?.envelope.retryAttempt ?? 0;
    this.#attempt(sent as MutableSent, last + 1, 'timeout', false);
  }

  /** `mayRetry`: whether another attempt follows if this one fails. */
  #attempt(sent: MutableSent, retryAttempt: number, retryReason: string | undefined, mayRetry = true): void {
    const { type, payload } = sent;
    const envelope: SlackEnvelope = { id: this.#nextId('envelope-'), type, payload, retryAttempt, retryReason };
    const connection = this.#connections[this.#turn++ % Math.max(1, this.#connections.length)];
    const at = this.#clock.now();
    const index =
      sent.attempts.push({ envelope, at, connection: connection?.number ?? 0, acknowledgedMs: undefined }) - 1;
    let isOver = false;
    const fail: Failure = (reason) => {
      if (isOver) return;
      isOver = true;
      cancelTimer();
      connection?.failures.delete(fail);
      if (mayRetry) this.#retry(sent, retryAttempt, reason);
    };
    const cancelTimer = this.#timer(ackMs, () => fail('timeout'));
    if (connection === undefined) return fail('connection_failed');
    connection.failures.add(fail);
    const accept = (body: JsonObject | undefined): void => {
      sent.attempts[index] = { ...sent.attempts[index]!, acknowledgedMs: this.#clock.now() - at };
      if (isOver) return;
      isOver = true;
      cancelTimer();
      connection.failures.delete(fail);
      sent.settle(body);
    };
    connection.consumer(envelope).then(accept, () => fail('http_error'));
  }

  #retry(sent: MutableSent, attempt: number, reason: string): void {
    const afterMs = sent.type === 'events_api' ? retriesAfterMs[attempt] : undefined;
    if (afterMs === undefined) return sent.settle(false);
    this.#timer(afterMs, () => this.#attempt(sent, attempt + 1, reason));
  }

  /** Nothing is tried again. */
  close(): void {
    for (const cancel of this.#timers) cancel();
  }

  #timer(ms: number, due: () => void): CancelTimer {
    const cancel = (): void => {
      this.#timers.delete(cancel);
      stop();
    };
    const stop = this.#clock.timer(ms, () => {
      this.#timers.delete(cancel);
      due();
    });
    this.#timers.add(cancel);
    return cancel;
  }
}
