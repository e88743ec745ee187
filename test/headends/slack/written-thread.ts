// Plays one schedule of a turn against the fake Slack: what is to be shown, what goes wrong, and where the process dies.
import assert from 'node:assert';
import type { JsonObject } from '#base';
import { FakeSlack, virtualClock } from '#testkit';
import type { SlackMessage, VirtualClock } from '#testkit';
import { CallQueue, ThreadWriter } from '#testing/headends/slack';
import type { SlackApi, SlackReply, TaskCard, ThreadView } from '#testing/headends/slack';

/** What becomes of one call. `late`: it has its effect seconds after the caller gave up. */
export type Fault =
  | 'none'
  | 'slow'
  | 'limited'
  | 'refused'
  | 'failed before'
  | 'failed after'
  | 'hang'
  | 'lost'
  | 'late'
  | 'closed'
  | 'crash before'
  | 'crash after';

export type Action =
  | { readonly kind: 'add'; readonly text: string }
  /** The text after so much of it is void. */
  | { readonly kind: 'withdraw'; readonly keep: number }
  | { readonly kind: 'card'; readonly id: number; readonly details: string }
  | { readonly kind: 'end card'; readonly id: number }
  | { readonly kind: 'pause' }
  | { readonly kind: 'wait'; readonly ms: number };

export type Schedule = {
  readonly actions: readonly Action[];
  /** Of the calls, in their order; later ones have none. */
  readonly faults: readonly Fault[];
};

export type PlayedThread = {
  readonly view: ThreadView;
  readonly messages: readonly SlackMessage[];
  readonly status: string | undefined;
  /** Epoch milliseconds of the attempts to append. */
  readonly appends: readonly number[];
  readonly inFlightMax: number;
  readonly calls: readonly string[];
};

export const charsMax = 250;
const timeoutMs = 10_000;
const stop = {
  type: 'actions',
  elements: [{ type: 'button', action_id: 'stop', value: 'x', text: { type: 'plain_text', text: 'Stop' } }],
};
const end = {
  blocks: [
    {
      type: 'actions',
      elements: [{ type: 'button', action_id: 'again', value: 'x', text: { type: 'plain_text', text: 'Again' } }],
    },
  ],
  status: 'active',
} as const;

export const playThread = async ({ actions, faults }: Schedule): Promise<PlayedThread> => {
  const clock = virtualClock(1_700_000_000_000);
  const slack = new FakeSlack({ clock, channels: ['C1'] });
  const asked = slack.mention('U1', 'C1', 'Hello');
  const world = new FaultyWorld(slack, clock, [...faults]);
  const place = { team: 'T1', channel: 'C1', thread: asked.ts, message: asked.ts, user: 'U1' };

  let writer = world.open(place);
  let view: ThreadView = { text: '', cards: [card(0)] };
  /** Another process, if this one has died. */
  const survive = (): void => {
    if (!world.takeCrash()) return;
    writer.close();
    writer = world.open(place);
    writer.recover();
    writer.show(view);
  };

  for (const action of actions) {
    view = change(view, action);
    if (action.kind === 'wait') await clock.advance(action.ms);
    else if (action.kind === 'pause') {
      void writer.pause().catch(() => undefined);
      await clock.runAll();
    } else writer.show(view);
    survive();
  }
  view = { ...view, cards: view.cards.map((one) => ({ ...one, status: 'complete', output: 'done' })) };
  const tryToFinish = async (): Promise<boolean> => {
    let [isFinished, failure]: [boolean, unknown] = [false, undefined];
    void writer.finish(view, end).then(
      () => (isFinished = true),
      (error: unknown) => (failure = error),
    );
    await clock.runAll();
    if (failure !== undefined) throw failure;
    survive();
    return isFinished;
  };
  for (let tries = 0; !(await tryToFinish()); tries++) assert(tries < 100, 'the turn never finishes');
  return {
    view,
    messages: slack.thread('C1', asked.ts).filter(({ isByApp }) => isByApp),
    status: slack.session('C1', asked.ts)?.status,
    appends: world.appends,
    inFlightMax: world.inFlightMax,
    calls: world.calls,
  };
};

const card = (id: number): TaskCard => ({
  id: `cell-${id}`,
  title: `agent ${id}`,
  status: 'in_progress',
  details: '',
  output: '',
});

const change = (view: ThreadView, action: Action): ThreadView => {
  switch (action.kind) {
    case 'add':
      return { ...view, text: view.text + action.text };
    case 'withdraw':
      return { ...view, text: view.text.slice(0, action.keep) };
    case 'card':
    case 'end card': {
      const id = `cell-${action.id}`;
      const before = view.cards.find((one) => one.id === id) ?? card(action.id);
      const now: TaskCard =
        action.kind === 'card'
          ? { ...before, details: action.details }
          : { ...before, status: 'complete', output: 'done' };
      const cards = view.cards.some((one) => one.id === id)
        ? view.cards.map((one) => (one.id === id ? now : one))
        : [...view.cards, now];
      return { ...view, cards };
    }
    case 'pause':
    case 'wait':
      return view;
  }
};

class FaultyWorld {
  readonly appends: number[] = [];
  readonly calls: string[] = [];
  inFlightMax = 0;
  hasCrashed = false;
  #inFlight = 0;
  readonly #slack: FakeSlack;
  readonly #clock: VirtualClock;
  readonly #faults: Fault[];

  constructor(slack: FakeSlack, clock: VirtualClock, faults: Fault[]) {
    this.#slack = slack;
    this.#clock = clock;
    this.#faults = faults;
  }

  takeCrash(): boolean {
    if (!this.hasCrashed) return false;
    this.hasCrashed = false;
    this.#inFlight = 0;
    return true;
  }

  /** A process with its own queue. After a crash it does nothing more. */
  open(place: ConstructorParameters<typeof ThreadWriter>[0]['place']): ThreadWriter {
    const process = { isAlive: true };
    const api: SlackApi = {
      call: (method, args) => (process.isAlive ? this.#call(method, args, process) : never),
      upload: () => never,
    };
    const queue = new CallQueue({ api, clock: this.#clock });
    return new ThreadWriter({ queue, clock: this.#clock, place, marker: 'run1', bot: 'UAPP', stop, charsMax });
  }

  async #call(method: string, args: JsonObject, process: { isAlive: boolean }): Promise<SlackReply> {
    const fault = this.#faults.shift() ?? 'none';
    this.calls.push(`${method} ${fault}`);
    if (method === 'chat.appendStream') this.appends.push(this.#clock.now());
    this.inFlightMax = Math.max(this.inFlightMax, ++this.#inFlight);
    const reply = await this.#answer(method, structuredClone(args), fault, process);
    this.#inFlight--;
    return reply;
  }

  async #answer(method: string, args: JsonObject, fault: Fault, process: { isAlive: boolean }): Promise<SlackReply> {
    const apply = (): SlackReply => {
      const body = this.#slack.call(method, args);
      return body['ok'] === true ? { kind: 'ok', body } : { kind: 'refused', error: body['error'] as string };
    };
    switch (fault) {
      case 'none':
        return apply();
      case 'slow': {
        await this.#sleep(3_000);
        const reply = apply();
        await this.#sleep(3_000);
        return reply;
      }
      case 'limited':
        return { kind: 'limited', retryAfterMs: 2_000 };
      case 'refused':
        return { kind: 'refused', error: 'service_unavailable' };
      case 'failed after':
        apply();
        return { kind: 'refused', error: 'fatal_error' };
      case 'failed before':
        return { kind: 'refused', error: 'internal_error' };
      case 'lost':
        apply();
        await this.#sleep(timeoutMs);
        return { kind: 'unknown' };
      case 'hang':
        await this.#sleep(timeoutMs);
        return { kind: 'unknown' };
      case 'late':
        this.#clock.timer(timeoutMs + 4_000, apply);
        await this.#sleep(timeoutMs);
        return { kind: 'unknown' };
      case 'closed':
        if (typeof args['ts'] === 'string') this.#slack.closeStream({ channel: 'C1', ts: args['ts'] });
        return apply();
      case 'crash after':
        apply();
        return this.#crash(process);
      case 'crash before':
        return this.#crash(process);
    }
  }

  #crash(process: { isAlive: boolean }): Promise<never> {
    process.isAlive = false;
    this.hasCrashed = true;
    return never;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.timer(ms, resolve));
  }
}

const never = new Promise<never>(() => undefined);
