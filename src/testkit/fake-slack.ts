// A Slack workspace in memory, with people in it, for tests of apps. It has no network: `listenSlack` gives it one.
import { omitUndefined } from '#base';
import type { JsonObject } from '#base';
import type { Clock } from '#contracts';
import { realClock } from './real-clock.ts';
import { DeliveryQueue } from './slack/delivery-queue.ts';
import type { SlackConnection, SlackConsumer, SlackSent } from './slack/delivery-queue.ts';
import { prepareUpload, receiveUpload } from './slack/file-methods.ts';
import { SlackPeople } from './slack/people.ts';
import type { SlackPlace, SlackSubscription } from './slack/people.ts';
import { describeMessage } from './slack/slack-message.ts';
import type { SlackMessage } from './slack/slack-message.ts';
import { webMethods } from './slack/web-methods.ts';
import { openChannel, sessionKey, SlackRefusal, textField } from './slack/workspace.ts';
import type {
  SlackAppIds,
  SlackLimits,
  SlackPerson,
  SlackSession,
  SlackUpload,
  SlackView,
  Workspace,
} from './slack/workspace.ts';
import { SlackFaultRules } from './slack-faults.ts';
import type { SlackFault, SlackFaultRule } from './slack-faults.ts';

/** All of it has defaults. */
export type FakeSlackOptions = {
  /** A `virtualClock()`. Default: real time, which apps over a network need. */
  readonly clock?: Clock;
  /** Default: team `T1`, app `A1`, bot user `UAPP`, bot `B1`. */
  readonly ids?: Partial<SlackAppIds>;
  /** Channels that exist from the start. Others exist as soon as a person writes in them. */
  readonly channels?: readonly string[];
  readonly people?: readonly SlackPerson[];
  /** User groups: the members by the id of the group. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  /** Default: streams live five minutes, a message has at most 12,000 characters, and nothing else is limited. */
  readonly limits?: Partial<SlackLimits>;
  readonly faults?: readonly SlackFaultRule[];
  /** The events to which the app has subscribed. Default: all. */
  readonly events?: readonly SlackSubscription[];
};

/** One call of the web API. */
export type SlackCall = {
  /** Epoch milliseconds of the clock. */
  readonly at: number;
  readonly method: string;
  readonly args: JsonObject;
  readonly fault: SlackFault | undefined;
  /** What Slack answered or, if the response was lost, would have answered; undefined if the call did not arrive. */
  readonly body: JsonObject | undefined;
};

/** What becomes of a request. `delayMs`: until the answer. */
export type SlackOutcome =
  | { readonly kind: 'answer'; readonly body: JsonObject; readonly delayMs: number }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'cut' }
  | { readonly kind: 'silence' };

/** Where files go, before their id, and where the next socket is opened. */
type SlackAddresses = { readonly upload: string; readonly socket: () => string };

/**
 * A Slack workspace in memory, with the app under test and people in it. `call` and `receive` are its web API; what people do is
 * delivered to whoever is connected.
 */
export class FakeSlack extends SlackPeople {
  readonly ids: SlackAppIds;
  readonly clock: Clock;
  /** Every call of the web API, in the order of arrival. */
  readonly log: SlackCall[] = [];
  /** What apps are told about sockets, files and responses; `listenSlack` sets addresses that exist. */
  #addresses: SlackAddresses = { upload: 'https://files.slack.test/', socket: () => 'wss://wss.slack.test/' };
  readonly #faults = new SlackFaultRules();

  constructor(options: FakeSlackOptions = {}) {
    const { clock = realClock } = options;
    const workspace = createWorkspace(options, clock);
    const deliveries = new DeliveryQueue(clock, (prefix) => workspace.nextId(prefix));
    super(workspace, deliveries, new Set(options.events ?? allEvents));
    this.ids = workspace.ids;
    this.clock = clock;
    for (const rule of options.faults ?? []) this.fail(rule);
  }

  /** Lets some calls fail from now on. Returns a function that ends this. */
  fail(rule: SlackFaultRule): () => void {
    return this.#faults.add(rule);
  }

  /** One call without faults: the body that Slack answers with. */
  call(method: string, args: JsonObject): JsonObject {
    return this.#run(method, args, undefined);
  }

  /** One request to the web API, as the faults have it. */
  receive(method: string, args: JsonObject): SlackOutcome {
    const at = this.clock.now();
    const fault = this.#faults.next({ method, channel: channelOf(args), at });
    const missed = (outcome: SlackOutcome): SlackOutcome => {
      this.log.push({ at, method, args, fault, body: undefined });
      return outcome;
    };
    if (typeof fault === 'number') return missed({ kind: 'status', status: fault });
    if (fault === 'network') return missed({ kind: 'cut' });
    if (fault === 'hang') return missed({ kind: 'silence' });
    if (typeof fault === 'object' && 'retryAfterMs' in fault) return missed({ kind: 'limited', ...fault });
    const body = this.#run(method, args, fault);
    if (fault === 'lost') return { kind: 'cut' };
    if (fault === 'lost in silence') return { kind: 'silence' };
    const delayMs = typeof fault === 'object' && 'slowMs' in fault ? fault.slowMs : 0;
    return { kind: 'answer', body, delayMs };
  }

  #run(method: string, args: JsonObject, fault: SlackFault | undefined): JsonObject {
    if (fault === 'close stream') this.closeStream({ channel: textField(args['channel']), ts: textField(args['ts']) });
    const refusal = typeof fault === 'object' && 'error' in fault ? fault.error : undefined;
    const body = answer(() => {
      if (refusal !== undefined) throw new SlackRefusal(refusal);
      return this.#handle(method, args);
    });
    this.log.push({ at: this.clock.now(), method, args, fault, body });
    return body;
  }

  #handle(method: string, args: JsonObject): JsonObject {
    switch (method) {
      case 'apps.connections.open':
        return { url: this.#addresses.socket() };
      case 'files.getUploadURLExternal':
        return prepareUpload(this.workspace, args, this.#addresses.upload);
      case uploadMethod:
        receiveUpload(this.workspace, textField(args['file_id']), textField(args['text']));
        return {};
      default: {
        const run = Object.hasOwn(webMethods, method) ? webMethods[method] : undefined;
        if (run === undefined) throw new SlackRefusal('unknown_method');
        return run(this.workspace, args);
      }
    }
  }

  /** All messages of a channel outside threads, and the first ones of threads. */
  messages(channel: string): readonly SlackMessage[] {
    return this.#list(channel).filter(({ thread, ts }) => thread === undefined || thread === ts);
  }

  /** The first message of a thread and its replies. */
  thread(channel: string, thread: string): readonly SlackMessage[] {
    return this.#list(channel).filter((one) => one.ts === thread || one.thread === thread);
  }

  /** A message as it is now. */
  message({ channel, ts }: SlackPlace): SlackMessage | undefined {
    const message = this.workspace.channels.get(channel)?.messages.get(ts);
    return message && describeMessage(this.workspace, message);
  }

  /** What only this person sees. */
  ephemerals(user: string): readonly SlackMessage[] {
    const own = this.workspace.ephemerals.filter(({ onlyFor }) => onlyFor === user);
    return own.map((one) => describeMessage(this.workspace, one));
  }

  session(channel: string, thread: string): SlackSession | undefined {
    return this.workspace.sessions.get(sessionKey(channel, thread));
  }

  /** The dialogs that this person has open, the newest last. */
  views(user: string): readonly SlackView[] {
    return [...this.workspace.views.values()].filter((one) => one.user === user && one.isOpen);
  }

  /** All files, also those that are not complete. */
  get files(): readonly SlackUpload[] {
    return [...this.workspace.uploads.values()];
  }

  /** Slack closes a stream by itself. */
  closeStream({ channel, ts }: SlackPlace): void {
    const stream = this.workspace.channels.get(channel)?.messages.get(ts)?.stream;
    if (stream !== undefined) stream.isOpen = false;
  }

  /** Whatever people do is delivered to this consumer or, if there are several, to one of them. */
  connect(consumer: SlackConsumer): SlackConnection {
    return this.deliveries.connect(consumer);
  }

  /** Everything that was delivered or is to be delivered, with each attempt. */
  get sent(): readonly SlackSent[] {
    return this.deliveries.sent;
  }

  /** Delivers something once more, as if its acknowledgement had been lost. */
  sendAgain(sent: SlackSent): void {
    this.deliveries.sendAgain(sent);
  }

  /** From now on the app is told these addresses. */
  setAddresses({ response, ...rest }: SlackAddresses & { readonly response: string }): void {
    this.#addresses = rest;
    this.responseAt = response;
  }

  /** No delivery is tried again. */
  close(): void {
    this.deliveries.close();
  }

  #list(channel: string): readonly SlackMessage[] {
    const messages = this.workspace.channels.get(channel)?.messages.values() ?? [];
    return [...messages].map((one) => describeMessage(this.workspace, one));
  }
}

/** How the log calls a file that is sent to its upload address. */
export const uploadMethod = 'upload';

const allEvents: readonly SlackSubscription[] = [
  'app_mention',
  'message.channels',
  'message.groups',
  'message.im',
  'agent_session_stopped',
];

const channelOf = (args: JsonObject): string | undefined => {
  const channel = args['channel'] ?? args['channel_id'];
  return typeof channel === 'string' ? channel : undefined;
};

const answer = (run: () => JsonObject): JsonObject => {
  try {
    return { ok: true, ...run() };
  } catch (error) {
    if (!(error instanceof SlackRefusal)) throw error;
    const { messages } = error;
    return { ok: false, error: error.error, ...(messages.length > 0 ? { response_metadata: { messages } } : {}) };
  }
};

const createWorkspace = (options: FakeSlackOptions, clock: Clock): Workspace => {
  const { channels = [], people = [], groups = {} } = options;
  let lastMicros = 0;
  let count = 0;
  const workspace: Workspace = {
    ids: { team: 'T1', app: 'A1', botUser: 'UAPP', bot: 'B1', ...omitUndefined(options.ids) },
    limits: {
      streamLifeMs: 300_000,
      streamIdleMs: Infinity,
      textMax: 12_000,
      streamBytesMax: Infinity,
      ...omitUndefined(options.limits),
    },
    channels: new Map(),
    people: new Map(people.map((one) => [one.id, one])),
    groups: new Map(Object.entries(groups)),
    ephemerals: [],
    sessions: new Map(),
    views: new Map(),
    uploads: new Map(),
    triggers: new Map(),
    now: () => clock.now(),
    nextTs: () => {
      lastMicros = Math.max(lastMicros + 1, Math.floor(clock.now()) * 1000);
      return `${Math.floor(lastMicros / 1e6)}.${String(lastMicros % 1e6).padStart(6, '0')}`;
    },
    nextId: (prefix) => `${prefix}${String(++count).padStart(4, '0')}`,
  };
  for (const id of channels) openChannel(workspace, id);
  return workspace;
};
