// All calls of Slack's web API that one process makes.
//
//   lane-one-call. A lane, usually a channel, has one call in flight; of those that wait, presses of people go before text.
//   limit-own-lane. A call that was limited pauses its lane. Other lanes continue, except with a method that was limited in two of them.
//   repeat-only-safe. A call whose fate is unknown is sent again only if its caller said that this is safe.
import type { JsonObject } from '#base';
import type { CancelTimer, Clock } from '#contracts';
import type { SlackApi, SlackFile, SlackReply } from './slack-api.ts';

export type QueuedCall = {
  /** Usually the channel. */
  readonly lane: string;
  readonly method: string;
  readonly args: JsonObject;
  /** `press`: what a person waits for, such as the answer to a button, an approval or Stop. */
  readonly priority: CallPriority;
  /** Sending it twice does no harm. */
  readonly isRepeatable: boolean;
  /** How long to retry, 10 minutes by default. Then the last reply is returned. */
  readonly patienceMs?: number;
};

type CallPriority = 'press' | 'text';

/** Slack did nothing, and will do it later. */
const transientErrors = new Set([
  'service_unavailable',
  'request_timeout',
  'ratelimited',
  'rate_limited',
  'team_added_to_org',
]);
/** "It's possible some aspect of the operation succeeded", as Slack says. */
const unclearErrors = new Set(['internal_error', 'fatal_error']);

const patienceDefaultMs = 600_000;
const retryMinMs = 1_000;
const retryMaxMs = 30_000;

type WaitingCall = Omit<QueuedCall, 'lane' | 'args'> & {
  readonly send: () => Promise<SlackReply>;
  readonly resolve: (reply: SlackReply) => void;
  readonly order: number;
  readonly until: number;
  retries: number;
  notBefore: number;
};

type Lane = {
  readonly waiting: WaitingCall[];
  isBusy: boolean;
  pausedUntil: number;
  cancelTimer: CancelTimer | undefined;
};

export class CallQueue {
  readonly #api: SlackApi;
  readonly #clock: Clock;
  readonly #lanes = new Map<string, Lane>();
  /** By method: which lane was limited last. */
  readonly #limits = new Map<string, { readonly lane: string; readonly until: number }>();
  readonly #methodsPausedUntil = new Map<string, number>();
  #order = 0;
  #isClosed = false;

  constructor(options: { readonly api: SlackApi; readonly clock: Clock }) {
    this.#api = options.api;
    this.#clock = options.clock;
  }

  /** Never rejects. `limited` and `unknown` are returned only when there are no retries left. */
  call({ lane, args, ...call }: QueuedCall): Promise<SlackReply> {
    return this.#add(lane, call, () => this.#api.call(call.method, args));
  }

  /** Not repeated: a file that is there twice is worse than one that has to be asked for again. */
  upload(file: SlackFile): Promise<SlackReply> {
    const call = { method: 'files.uploadV2', priority: 'press', isRepeatable: false } as const;
    return this.#add(file.channel, call, () => this.#api.upload(file));
  }

  /** Nothing is sent from now on. Calls that wait end as `limited`: this attempt of them did not happen. */
  close(): void {
    this.#isClosed = true;
    for (const lane of this.#lanes.values()) {
      lane.cancelTimer?.();
      for (const call of lane.waiting.splice(0)) call.resolve(notSent);
    }
    this.#lanes.clear();
  }

  #add(name: string, call: Omit<QueuedCall, 'lane' | 'args'>, send: () => Promise<SlackReply>): Promise<SlackReply> {
    if (this.#isClosed) return Promise.resolve(notSent);
    return new Promise((resolve) => {
      const until = this.#clock.now() + (call.patienceMs ?? patienceDefaultMs);
      const lane = this.#lanes.get(name) ?? { waiting: [], isBusy: false, pausedUntil: 0, cancelTimer: undefined };
      this.#lanes.set(name, lane);
      lane.waiting.push({ ...call, send, resolve, order: this.#order++, until, retries: 0, notBefore: 0 });
      this.#sendNext(name, lane);
    });
  }

  #sendNext(name: string, lane: Lane): void {
    if (lane.isBusy || this.#isClosed) return;
    lane.cancelTimer?.();
    lane.cancelTimer = undefined;
    const now = this.#clock.now();
    const next = lane.waiting
      .filter((call) => this.#dueAt(call, lane) <= now)
      .reduce<WaitingCall | undefined>(
        (first, call) => (first === undefined || isBefore(call, first) ? call : first),
        undefined,
      );
    if (next !== undefined) {
      void this.#send(next, name, lane);
      return;
    }
    const dueAt = lane.waiting.reduce((least, call) => Math.min(least, this.#dueAt(call, lane)), Infinity);
    if (dueAt < Infinity) lane.cancelTimer = this.#clock.timer(dueAt - now, () => this.#sendNext(name, lane));
    else if (lane.pausedUntil <= now) this.#lanes.delete(name);
    else lane.cancelTimer = this.#clock.timer(lane.pausedUntil - now, () => this.#sendNext(name, lane));
  }

  #dueAt(call: WaitingCall, lane: Lane): number {
    return Math.max(call.notBefore, lane.pausedUntil, this.#methodsPausedUntil.get(call.method) ?? 0);
  }

  async #send(call: WaitingCall, name: string, lane: Lane): Promise<void> {
    lane.isBusy = true;
    lane.waiting.splice(lane.waiting.indexOf(call), 1);
    const reply = await call.send().catch((): SlackReply => ({ kind: 'unknown' }));
    lane.isBusy = false;
    const retryInMs = this.#retryDelay(call, reply, name, lane);
    const now = this.#clock.now();
    if (retryInMs === undefined || this.#isClosed || now + retryInMs > call.until) {
      call.resolve(isUnclear(reply) ? { kind: 'unknown' } : reply);
    } else {
      call.retries++;
      call.notBefore = now + retryInMs;
      lane.waiting.push(call);
    }
    this.#sendNext(name, lane);
  }

  /** Undefined: this reply is the result. */
  #retryDelay(call: WaitingCall, reply: SlackReply, name: string, lane: Lane): number | undefined {
    switch (reply.kind) {
      case 'ok':
        return undefined;
      case 'limited':
        return this.#pause(call.method, Math.max(reply.retryAfterMs, retryMinMs), name, lane);
      case 'refused':
        if (transientErrors.has(reply.error)) return backOff(call);
        return isUnclear(reply) && call.isRepeatable ? backOff(call) : undefined;
      case 'unknown':
        return call.isRepeatable ? backOff(call) : undefined;
    }
  }

  #pause(method: string, ms: number, name: string, lane: Lane): number {
    const now = this.#clock.now();
    const until = now + ms;
    lane.pausedUntil = Math.max(lane.pausedUntil, until);
    const limit = this.#limits.get(method);
    // Slack does not say which limit it was: one that two lanes ran into is that of the method in the whole workspace.
    if (limit !== undefined && limit.lane !== name && limit.until > now)
      this.#methodsPausedUntil.set(method, Math.max(until, this.#methodsPausedUntil.get(method) ?? 0));
    this.#limits.set(method, { lane: name, until });
    return ms;
  }
}

const notSent: SlackReply = { kind: 'limited', retryAfterMs: 0 };

const isUnclear = (reply: SlackReply): boolean => reply.kind === 'refused' && unclearErrors.has(reply.error);

const backOff = ({ retries }: WaitingCall): number => Math.min(retryMinMs * 2 ** retries, retryMaxMs);

const isBefore = (one: WaitingCall, other: WaitingCall): boolean =>
  one.priority === other.priority ? one.order < other.order : one.priority === 'press';
