// Messages, dialogs and statuses that are no part of a streamed answer.
//
//   posted-once. A message with a mark is in its thread once: before it is posted again, after a crash or a call without an answer, it is
//       looked for.
//   no-unfurls. Slack is told to fetch nothing that a message links to.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { Clock } from '#contracts';
import type { CallQueue, QueuedCall } from './call-queue.ts';
import { waitFor } from './run-reader.ts';
import type { SlackReply } from './slack-api.ts';
import type { ThreadAddress } from './slack-place.ts';
import type { SessionStatus } from './thread-view.ts';

/** A thread or, without one, a channel. */
type MessagePlace = { readonly channel: string; readonly thread: string | null };

type MessagePorts = {
  readonly queue: Pick<CallQueue, 'call'>;
  /** Our own user id; marks of others do not count. */
  readonly bot: () => string;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
};

type PostContent = { readonly text: string; readonly blocks: readonly JsonObject[] };

/** A message as Slack returns it, as far as it is used here. */
export type PostedMessage = {
  readonly ts: string;
  readonly user: string;
  readonly text: string;
  readonly isBot: boolean;
  /** We wrote it. */
  readonly isOwn: boolean;
  /** The mark of one of our own. */
  readonly mark: string | null;
};

const [pageSize, pagesMax] = [200, 25];
const [repostMs, repostMaxMs] = [1_000, 60_000];
/** How long a trigger works. */
const triggerMs = 3_000;
const markType = 'cloister_mark';

export class SlackMessages {
  readonly #ports: MessagePorts;

  constructor(ports: MessagePorts) {
    this.#ports = ports;
  }

  /**
   * Only this person sees it: there or, if Slack does not let us write there, in a direct message. It is not repeated, because it may be
   * seen twice otherwise.
   */
  async tellPrivately({ channel, thread }: MessagePlace, user: string, text: string): Promise<void> {
    const args = { channel, user, text, ...(thread === null ? {} : { thread_ts: thread }) };
    const reply = await this.#call(channel, 'chat.postEphemeral', args, { isRepeatable: false });
    if (reply.kind !== 'refused') return;
    const direct = { channel: user, text: `<#${channel}>: ${text}` };
    await this.#call(user, 'chat.postMessage', direct, { isRepeatable: false });
  }

  /**
   * Posts a message with this mark, in a thread or, without one, in the channel. `mayExist`: it may have been posted before. Returns its
   * `ts`, or undefined if Slack refuses it or the server stops: while Slack cannot be reached, it is tried again.
   */
  async postOnce(
    place: MessagePlace,
    mark: string,
    { mayExist, ...content }: PostContent & { readonly mayExist: boolean },
  ): Promise<string | undefined> {
    const { channel, thread } = place;
    const args = {
      channel,
      ...content,
      ...(thread === null ? {} : { thread_ts: thread }),
      metadata: { event_type: markType, event_payload: { mark } },
      unfurl_links: false,
      unfurl_media: false,
    };
    const { clock, stopping } = this.#ports;
    let isUncertain = mayExist;
    for (let tries = 0; !stopping.aborted; tries++) {
      if (isUncertain) {
        const found = await this.#findMark(place, mark);
        if (found !== null) return found;
      }
      const reply = await this.#call(channel, 'chat.postMessage', args, { isRepeatable: false, patienceMs: Infinity });
      if (reply.kind === 'ok') return typeof reply.body['ts'] === 'string' ? reply.body['ts'] : undefined;
      if (reply.kind !== 'unknown') return undefined;
      isUncertain = true;
      await waitFor(clock, Math.min(repostMs * 2 ** tries, repostMaxMs), stopping);
    }
    return undefined;
  }

  async update(channel: string, ts: string, content: PostContent): Promise<void> {
    await this.#call(channel, 'chat.update', { channel, ts, ...content }, { isRepeatable: true, patienceMs: Infinity });
  }

  async setStatus(
    { channel, thread }: ThreadAddress,
    status: SessionStatus,
    { title, user }: { readonly title?: string; readonly user?: string } = {},
  ): Promise<void> {
    const args = {
      channel_id: channel,
      thread_ts: thread,
      status,
      ...(title === undefined ? {} : { title }),
      ...(user === undefined ? {} : { initiator_user_id: user }),
    };
    await this.#ports.queue.call({
      lane: channel,
      method: 'agents.sessions.setStatus',
      args,
      priority: 'press',
      isRepeatable: true,
      patienceMs: 60_000,
    });
  }

  /** Undefined: it could not be opened. A trigger works for three seconds only. */
  async openView(trigger: string, view: JsonObject): Promise<string | undefined> {
    const reply = await this.#call(
      `view ${trigger}`,
      'views.open',
      { trigger_id: trigger, view },
      { isRepeatable: false, patienceMs: triggerMs },
    );
    const opened = reply.kind === 'ok' ? reply.body['view'] : undefined;
    return isObject(opened) && typeof opened['id'] === 'string' ? opened['id'] : undefined;
  }

  async updateView(id: string, view: JsonObject): Promise<void> {
    await this.#call(`view ${id}`, 'views.update', { view_id: id, view }, { isRepeatable: true });
  }

  /** The messages of a thread, oldest first. Undefined: they cannot be read. */
  async readThread({ channel, thread }: Omit<ThreadAddress, 'team'>): Promise<readonly PostedMessage[] | undefined> {
    return this.#readAll('conversations.replies', { channel, ts: thread }, pagesMax);
  }

  /** The newest messages of a channel before this one, oldest first. Undefined: they cannot be read. */
  async readChannel(channel: string, before: string, most: number): Promise<readonly PostedMessage[] | undefined> {
    const args = { channel, latest: before, inclusive: false, limit: most };
    const read = await this.#readPage('conversations.history', args);
    return read?.messages.toReversed();
  }

  /** Null: it is not there, as far as can be seen. */
  async #findMark(place: MessagePlace, mark: string): Promise<string | null> {
    const { channel, thread } = place;
    const all =
      thread === null
        ? await this.#readAll('conversations.history', { channel }, 2)
        : await this.readThread({ channel, thread });
    return all?.find((one) => one.mark === mark)?.ts ?? null;
  }

  async #readAll(method: string, args: JsonObject, most: number): Promise<readonly PostedMessage[] | undefined> {
    const all: PostedMessage[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < most; page++) {
      const next = cursor === null ? {} : { cursor };
      const read = await this.#readPage(method, { ...args, ...next, limit: pageSize });
      if (read === undefined) return undefined;
      all.push(...read.messages);
      cursor = read.cursor;
      if (cursor === null) break;
    }
    return all;
  }

  async #readPage(
    method: string,
    args: JsonObject & { readonly channel?: string },
  ): Promise<{ readonly messages: readonly PostedMessage[]; readonly cursor: string | null } | undefined> {
    const whole = { ...args, include_all_metadata: true };
    const reply = await this.#call(String(args['channel']), method, whole, {
      isRepeatable: true,
      patienceMs: Infinity,
    });
    if (reply.kind !== 'ok') return undefined;
    const { messages, response_metadata: next } = reply.body;
    const listed: readonly Json[] = Array.isArray(messages) ? (messages as readonly Json[]) : [];
    const cursor = isObject(next) && typeof next['next_cursor'] === 'string' ? next['next_cursor'] : '';
    return {
      messages: listed.flatMap((one) => (isObject(one) ? [this.#readMessage(one)] : [])),
      cursor: cursor === '' ? null : cursor,
    };
  }

  #readMessage({ ts, user, text, bot_id: byBot, metadata }: JsonObject): PostedMessage {
    const words = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
    const payload = isObject(metadata) && metadata['event_type'] === markType ? metadata['event_payload'] : undefined;
    const isOwn = user === this.#ports.bot();
    return {
      ts: words(ts),
      user: words(user),
      text: words(text),
      isBot: isOwn || byBot !== undefined,
      isOwn,
      mark: isOwn && isObject(payload) && typeof payload['mark'] === 'string' ? payload['mark'] : null,
    };
  }

  #call(
    lane: string,
    method: string,
    args: JsonObject,
    how: Pick<QueuedCall, 'isRepeatable' | 'patienceMs'>,
  ): Promise<SlackReply> {
    return this.#ports.queue.call({ lane, method, args, priority: 'press', ...how });
  }
}
