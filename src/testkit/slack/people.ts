// People of the workspace, who write, press buttons and fill in dialogs.
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { DeliveryQueue, SlackSent } from './delivery-queue.ts';
import {
  commandPayload,
  eventPayload,
  findAction,
  globalShortcutPayload,
  messageActionPayload,
  messageEvent,
  shortcutPayload,
  submissionPayload,
  viewActionPayload,
  viewValues,
} from './payloads.ts';
import { addView, replaceView } from './view-methods.ts';
import { addMessage, directChannelOf, hasOpenStream, openChannel, sessionKey } from './workspace.ts';
import type { ChannelState, MessageState, Workspace } from './workspace.ts';

/** Where a message is. */
export type SlackPlace = { readonly channel: string; readonly ts: string };

/** A message of a person, and the events that tell the app about it. */
export type PersonMessage = SlackPlace & { readonly thread: string | undefined; readonly sent: readonly SlackSent[] };

/** The events to which the app has subscribed. */
export type SlackSubscription =
  | 'app_mention'
  | 'message.channels'
  | 'message.groups'
  | 'message.im'
  | 'agent_session_stopped';

const triggerMs = 3000;

export class SlackPeople {
  protected readonly workspace: Workspace;
  protected readonly deliveries: DeliveryQueue;
  /** Where answers to a `response_url` go, before the id. */
  protected responseAt = 'https://hooks.slack.test/respond/';
  readonly #events: ReadonlySet<SlackSubscription>;
  /** By the id of a `response_url`. */
  readonly #responses = new Map<string, { readonly user: string; readonly channel: string }>();

  constructor(workspace: Workspace, deliveries: DeliveryQueue, events: ReadonlySet<SlackSubscription>) {
    this.workspace = workspace;
    this.deliveries = deliveries;
    this.#events = events;
  }

  /** Writes in a channel or, with `thread`, in a thread of it. Who names the app gives two events: a mention and a message. */
  say(
    user: string,
    channel: string,
    text: string,
    options: { readonly thread?: string | undefined } = {},
  ): PersonMessage {
    const place = this.#join(user, channel);
    const message = addMessage(this.workspace, place, { user, text, thread: this.#threadOf(place, options.thread) });
    const sent: SlackSent[] = [];
    const isMention = text.includes(`<@${this.workspace.ids.botUser}>`);
    if (isMention && place.kind !== 'im' && this.#events.has('app_mention'))
      sent.push(this.#tell(messageEvent(this.workspace, message, 'app_mention')));
    if (this.#events.has(messageEvents[place.kind]))
      sent.push(this.#tell(messageEvent(this.workspace, message, 'message')));
    return { channel, ts: message.ts, thread: message.thread, sent };
  }

  /** Writes a message that begins with the name of the app. */
  mention(
    user: string,
    channel: string,
    text: string,
    options: { readonly thread?: string | undefined } = {},
  ): PersonMessage {
    return this.say(user, channel, `<@${this.workspace.ids.botUser}> ${text}`, options);
  }

  /** Writes to the app alone. */
  dm(user: string, text: string, options: { readonly thread?: string | undefined } = {}): PersonMessage {
    return this.say(user, directChannelOf(user), text, options);
  }

  /** Gives a slash command such as `/ask`. Slack has none in threads. */
  command(user: string, channel: string, command: string, text: string): SlackSent {
    this.#join(user, channel);
    const payload = commandPayload(this.workspace, this.#actor(user, channel), { channel, command, text });
    const sent = this.deliveries.send('slash_commands', payload);
    void sent.acknowledged.then((body) => this.#showResponse(user, channel, body));
    return sent;
  }

  /** Chooses the app's shortcut in the menu of a message; without a message, the one that is everywhere. */
  shortcut(user: string, callback: string, place?: SlackPlace): SlackSent {
    if (place === undefined)
      return this.#interact(globalShortcutPayload(this.workspace, this.#actor(user, ''), callback));
    const message = this.#find(place);
    return this.#interact(shortcutPayload(this.workspace, this.#actor(user, place.channel), message, callback));
  }

  /**
   * Presses a button of a message or of an open view, by its `action_id` or its text. Throws if this person does not see it.
   * `forged`: fields with other values than those of the button.
   */
  press(
    user: string,
    where: SlackPlace | { readonly view: string },
    button: string,
    forged: JsonObject = {},
  ): SlackSent {
    const target = 'view' in where ? this.#view(user, where.view) : this.#find(where, user);
    const blocks = 'view' in target ? target.view['blocks'] : target.blocks;
    const action = findAction(blocks, button);
    if (action === undefined) throw new Error(`There is no button "${button}" to press.`);
    const actor = this.#actor(user, 'channel' in target ? target.channel : '');
    const build = { ...action, ...forged };
    return this.#interact(
      'view' in target
        ? viewActionPayload(this.workspace, actor, target, build)
        : messageActionPayload(this.workspace, actor, target, build),
    );
  }

  /** Submits an open view; `values` by `block_id` or `action_id`. It closes unless the acknowledgement says otherwise. */
  submit(user: string, viewId: string, values: Readonly<Record<string, string>> = {}): SlackSent {
    const view = this.#view(user, viewId);
    const payload = submissionPayload(this.workspace, this.#actor(user, ''), view, viewValues(view, values));
    const sent = this.#interact(payload);
    void sent.acknowledged.then((body) => this.#answerView(viewId, body));
    return sent;
  }

  /** Presses Slack's own stop button, which is shown while the session of the thread is `processing`. */
  stop(user: string, channel: string, thread: string): SlackSent {
    const session = this.workspace.sessions.get(sessionKey(channel, thread));
    if (session?.status !== 'processing') throw new Error('There is no stop button: the session is not processing.');
    const streams = [...(this.workspace.channels.get(channel)?.messages.values() ?? [])].filter(
      (one) => one.thread === thread && hasOpenStream(this.workspace, one),
    );
    for (const { stream } of streams) if (stream !== undefined) stream.isOpen = false;
    return this.#tell({
      type: 'agent_session_stopped',
      channel,
      user,
      thread_ts: thread,
      streaming_message_ts: streams.map(({ ts }) => ts),
      event_ts: this.workspace.nextTs(),
    });
  }

  /** What an app sends to a `response_url`: it is shown to the person, or to all with `response_type: in_channel`. */
  respond(responseUrl: string, body: JsonObject): boolean {
    const known = this.#responses.get(responseUrl.slice(responseUrl.lastIndexOf('/') + 1));
    if (known === undefined) return false;
    this.#showResponse(known.user, known.channel, body);
    return true;
  }

  #tell(event: JsonObject): SlackSent {
    return this.deliveries.send('events_api', eventPayload(this.workspace, event));
  }

  #interact(payload: JsonObject): SlackSent {
    return this.deliveries.send('interactive', payload);
  }

  #join(user: string, channel: string): ChannelState {
    if (!this.workspace.people.has(user)) this.workspace.people.set(user, { id: user, name: user.toLowerCase() });
    const place = openChannel(this.workspace, channel);
    place.members.add(user);
    return place;
  }

  #threadOf(channel: ChannelState, thread: string | undefined): string | undefined {
    if (thread === undefined) return undefined;
    const parent = channel.messages.get(thread);
    if (parent === undefined) throw new Error(`There is no message ${thread} in ${channel.id}.`);
    return parent.thread ?? parent.ts;
  }

  #find({ channel, ts }: SlackPlace, user?: string): MessageState {
    const message =
      this.workspace.channels.get(channel)?.messages.get(ts) ??
      this.workspace.ephemerals.find((one) => one.ts === ts && (user === undefined || one.onlyFor === user));
    if (message === undefined) throw new Error(`There is no message ${ts} in ${channel} that can be seen.`);
    return message;
  }

  #view(user: string, id: string): ReturnType<typeof addView> {
    const view = this.workspace.views.get(id);
    if (view === undefined || !view.isOpen || view.user !== user) throw new Error(`${user} has no open view ${id}.`);
    return view;
  }

  #actor(
    user: string,
    channel: string,
  ): { readonly user: string; readonly trigger: string; readonly responseUrl: string } {
    const trigger = this.workspace.nextId('trigger-');
    this.workspace.triggers.set(trigger, { user, until: this.workspace.now() + triggerMs });
    const id = this.workspace.nextId('response-');
    this.#responses.set(id, { user, channel });
    return { user, trigger, responseUrl: `${this.responseAt}${id}` };
  }

  #showResponse(user: string, channel: string, body: JsonObject | undefined | false): void {
    if (!isObject(body === false ? undefined : body)) return;
    const { text, blocks, response_type: type } = body as JsonObject;
    if (typeof text !== 'string' && !Array.isArray(blocks)) return;
    addMessage(this.workspace, openChannel(this.workspace, channel), {
      user: this.workspace.ids.botUser,
      text: typeof text === 'string' ? text : '',
      blocks: Array.isArray(blocks) ? (blocks as JsonObject[]) : [],
      ...(type === 'in_channel' ? {} : { onlyFor: user }),
    });
  }

  #answerView(id: string, body: JsonObject | undefined | false): void {
    const view = this.workspace.views.get(id);
    if (view === undefined || body === false) return;
    const next = isObject(body?.['view']) ? body['view'] : undefined;
    switch (body?.['response_action']) {
      case 'errors':
        this.workspace.views.set(id, { ...view, errors: body['errors'] as JsonObject });
        return;
      case 'update':
        if (next !== undefined) replaceView(this.workspace, view, next);
        return;
      case 'push':
        if (next !== undefined) addView(this.workspace, view.user, next);
        return;
      default:
        this.workspace.views.set(id, { ...view, isOpen: false });
    }
  }
}

const messageEvents = { channel: 'message.channels', group: 'message.groups', im: 'message.im' } as const;
