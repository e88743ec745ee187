// Takes what Slack delivers: stores it, and only then is it acknowledged.
//
//   stored-before-acknowledged. A request is in the inbox before Slack is told that it was received. Nothing here waits for a slot.
//   delivered-once. The id of an item is that of its message: a delivery that comes again, or as another event, finds the item or its run.
import { CloisterError, sha256 } from '#base';
import type { AgentService, Caller, Clock, Inbox, SlackConfig } from '#contracts';
import { BoundedMap } from './bounded-map.ts';
import type { InboxRequest } from './inbox-request.ts';
import { parseDelivery } from './parse-delivery.ts';
import type { ButtonPress, FormSubmission, AppIdentity, PersonRequest } from './parse-delivery.ts';
import { notHereText, othersThreadText, refusalText } from './refusal-text.ts';
import type { SlackAck, SlackDelivery } from './slack-api.ts';
import type { SlackMessages } from './slack-messages.ts';
import { keyOfMessage, queueOfCommand, queueOfThread, timeOfMessage } from './slack-place.ts';
import { findRoute } from './slack-route.ts';
import { hasBegun, isRunThere } from './thread-owner.ts';

type DeliveryPorts = {
  readonly service: Pick<AgentService, 'find' | 'conversations'>;
  readonly inbox: Pick<Inbox, 'put' | 'queues'>;
  readonly config: SlackConfig;
  readonly clock: Pick<Clock, 'now'>;
  readonly admit: (caller: Caller) => void;
  readonly messages: Pick<SlackMessages, 'tellPrivately'>;
  readonly identity: () => AppIdentity | undefined;
  readonly callerOf: (team: string, user: string) => Caller;
  /** Whose thread it is, as far as this process knows. */
  readonly owners: BoundedMap<string, string>;
  /** A queue has something new. */
  readonly wake: (queue: string) => void;
  readonly press: (press: ButtonPress) => Promise<SlackAck>;
  readonly submit: (form: FormSubmission) => Promise<SlackAck>;
  /** Does it after the acknowledgement. */
  readonly later: (work: () => Promise<void>) => void;
};

type WrittenMessage = PersonRequest & { readonly type: 'message' };
type WrittenRequest = WrittenMessage | (PersonRequest & { readonly type: 'opening' });

const isCommand = (request: WrittenRequest): boolean => request.type === 'opening' && request.isCommand;

const [dayMs, recentMax, refusedMax] = [86_400_000, 10_000, 10_000];
/** Slack delivers again what was not acknowledged: at once, after a minute and after five more. */
const redeliveryMs = 600_000;

export class DeliveryHandler {
  readonly #ports: DeliveryPorts;
  /** Deliveries that were taken, or are being taken. */
  readonly #recent = new BoundedMap<string, Promise<SlackAck>>(recentMax);
  /** Who was told where that nobody answers there. */
  readonly #refused = new BoundedMap<string, true>(refusedMax);

  constructor(ports: DeliveryPorts) {
    this.#ports = ports;
  }

  /** Rejects if it could not be stored: Slack then delivers it again. */
  receive(delivery: SlackDelivery): Promise<SlackAck> {
    const me = this.#ports.identity();
    if (me === undefined) return Promise.reject(new CloisterError('server_busy', 'Slack has not said who we are yet.'));
    const request = parseDelivery(delivery, me);
    if (request === undefined) return Promise.resolve(undefined);
    if (request.type === 'press') return this.#ports.press(request);
    if (request.type === 'form') return this.#ports.submit(request);
    const id = requestId(request);
    const known = this.#recent.get(id);
    if (known !== undefined) return known;
    const taken = this.#take(request);
    this.#recent.set(id, taken);
    taken.catch(() => this.#recent.delete(id));
    return taken;
  }

  async #take(request: Exclude<PersonRequest, ButtonPress | FormSubmission>): Promise<SlackAck> {
    switch (request.type) {
      case 'message':
        return this.#takeMessage(request);
      case 'opening':
        return this.#takeOpening(request);
      case 'stop':
        return this.#takeStop(request);
    }
  }

  async #takeMessage(request: WrittenMessage): Promise<SlackAck> {
    const { team, channel, thread, user, message, how, text } = request;
    const { config, service, clock, owners, callerOf } = this.#ports;
    if (timeOfMessage(message) < clock.now() - dayMs) return undefined;
    const route = findRoute(config, channel);
    if (route === undefined) return how === 'plain' ? undefined : this.#refuseOnce(request);
    if (how === 'plain' && thread === message && route.when !== 'all') return undefined;
    const caller = callerOf(team, user);
    const address = { team, channel, thread };
    const { agent } = route;
    const isBeginning = thread === message || how === 'direct';
    // Before it is stored, so that replies that come at the same time are known to be its writer's.
    if (isBeginning) owners.set(queueOfThread(address), user);
    // probe: slack-thread-owner
    const owner = isBeginning ? user : owners.get(queueOfThread(address));
    if (owner !== undefined && owner !== user) {
      if (how === 'mention') this.#tell(request, othersThreadText);
      return undefined;
    }
    if (how === 'plain' && owner === undefined && !(await this.#mayBeOwn(caller, agent, request))) return undefined;
    if (await isRunThere(service, caller, keyOfMessage(team, channel, message))) return undefined;
    const isOwner = owner === user;
    const stored = {
      type: 'message',
      ...address,
      user,
      message,
      text,
      agent,
      needsOwner: !isOwner,
      isMention: how === 'mention',
    };
    return this.#store(request, caller, {
      queue: queueOfThread(address),
      id: message,
      body: stored as InboxRequest & { readonly type: 'message' },
    });
  }

  /** Whether the thread is this person's, or may be once what waits in it is worked on, or was delivered too. */
  async #mayBeOwn(caller: Caller, agent: string, request: WrittenMessage): Promise<boolean> {
    const { service, inbox, clock } = this.#ports;
    // Its first message may not have been acknowledged yet, and then comes again after this one.
    if (request.isToSelf && timeOfMessage(request.thread) > clock.now() - redeliveryMs) return true;
    if (await hasBegun(service, caller, agent, request)) return true;
    return (await inbox.queues()).includes(queueOfThread(request));
  }

  async #takeOpening(request: PersonRequest & { readonly type: 'opening' }): Promise<SlackAck> {
    const { id, team, channel, user, text } = request;
    const route = findRoute(this.#ports.config, channel);
    if (route === undefined) return this.#refuseOnce(request);
    const body = { type: 'opening', team, channel, user, text, agent: route.agent } as const;
    return this.#store(request, this.#ports.callerOf(team, user), {
      queue: queueOfCommand(team, id),
      id: `opening-${sha256(id).slice(0, 32)}`,
      body,
    });
  }

  async #takeStop({
    team,
    channel,
    thread,
    user,
    message,
  }: PersonRequest & { readonly type: 'stop' }): Promise<undefined> {
    const { inbox, clock, owners, wake, callerOf } = this.#ports;
    const address = { team, channel, thread };
    const queue = queueOfThread(address);
    const owner = owners.get(queue);
    if (owner !== undefined && owner !== user) return undefined;
    // Nothing waits or runs there.
    if (!(await inbox.queues()).includes(queue)) return undefined;
    const by = callerOf(team, user).name;
    await inbox.put(queue, { id: `stop-${message}`, by, at: clock.now(), body: { type: 'stop', ...address, user } });
    wake(queue);
    return undefined;
  }

  async #store(
    request: WrittenRequest,
    caller: Caller,
    { queue, id, body }: { readonly queue: string; readonly id: string; readonly body: InboxRequest },
  ): Promise<SlackAck> {
    const { inbox, clock, admit, wake } = this.#ports;
    try {
      admit(caller);
      await inbox.put(queue, { id, by: caller.name, at: clock.now(), body });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.#tell(request, refusalText(error));
    }
    wake(queue);
    return undefined;
  }

  /** Politely, and once for each person and channel; whoever gives a command waits for an answer. */
  #refuseOnce(request: WrittenRequest): SlackAck {
    // probe: slack-refused-once
    const where = `${request.channel} ${request.user}`;
    const isTold = this.#refused.get(where) !== undefined && !isCommand(request);
    this.#refused.set(where, true);
    return isTold ? undefined : this.#tell(request, notHereText);
  }

  /** Nobody else sees it. */
  #tell(request: WrittenRequest, text: string): SlackAck {
    if (isCommand(request)) return { response_type: 'ephemeral', text };
    const { messages, later } = this.#ports;
    const { channel, user } = request;
    const thread = request.type === 'message' ? request.thread : null;
    later(() => messages.tellPrivately({ channel, thread }, user, text));
    return undefined;
  }
}

const requestId = (request: Exclude<PersonRequest, ButtonPress | FormSubmission>): string => {
  const { type, channel } = request;
  return JSON.stringify([type, channel, type === 'opening' ? request.id : request.message]);
};

/** What the person is told. Anything else is ours to mend: Slack delivers the request again. */
const refusalCodes: readonly string[] = ['rate_exceeded', 'mailbox_full', 'request_too_large', 'token_refused'];

const isRefusal = (error: unknown): boolean => error instanceof CloisterError && refusalCodes.includes(error.code);
