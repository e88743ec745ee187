// The calls by which one turn is written into its thread.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { CallQueue } from './call-queue.ts';
import { findMessageId, messageBlocks, stopMessage } from './message-content.ts';
import type { MessageContent } from './message-content.ts';
import type { SlackReply } from './slack-api.ts';
import type { SessionStatus, ThreadEnd, ThreadPlace } from './thread-view.ts';

/** Pages of 200 messages: enough for every thread that people read. */
const pagesMax = 50;

export class ThreadCalls {
  readonly #queue: CallQueue;
  readonly #place: ThreadPlace;
  readonly #bot: string;

  constructor(queue: CallQueue, place: ThreadPlace, bot: string) {
    this.#queue = queue;
    this.#place = place;
    this.#bot = bot;
  }

  start(chunks: readonly JsonObject[]): Promise<SlackReply> {
    const { thread, team, user } = this.#place;
    return this.#once('chat.startStream', {
      thread_ts: thread,
      recipient_team_id: team,
      recipient_user_id: user,
      task_display_mode: 'timeline',
      ...noPreviews,
      chunks,
    });
  }

  append(ts: string, chunks: readonly JsonObject[]): Promise<SlackReply> {
    return this.#once('chat.appendStream', { ts, chunks });
  }

  stop(ts: string, chunks: readonly JsonObject[], end: ThreadEnd | undefined): Promise<SlackReply> {
    return this.#once('chat.stopStream', {
      ts,
      ...(chunks.length === 0 ? {} : { chunks }),
      ...(end === undefined ? {} : { blocks: end.blocks, session_status: end.status }),
    });
  }

  /** A stream that may be closed already. */
  close(ts: string): Promise<SlackReply> {
    return this.#repeatedly('chat.stopStream', { ts });
  }

  post(content: MessageContent, id: string): Promise<SlackReply> {
    return this.#once('chat.postMessage', {
      thread_ts: this.#place.thread,
      ...noPreviews,
      ...plain,
      ...messageBlocks(content, id),
    });
  }

  postStop(stop: JsonObject, id: string): Promise<SlackReply> {
    return this.#once('chat.postMessage', { thread_ts: this.#place.thread, ...plain, ...stopMessage(stop, id) });
  }

  replace(ts: string, content: MessageContent, id: string): Promise<SlackReply> {
    return this.#repeatedly('chat.update', { ts, ...plain, ...messageBlocks(content, id) });
  }

  delete(ts: string): Promise<SlackReply> {
    return this.#repeatedly('chat.delete', { ts });
  }

  setStatus(status: SessionStatus): Promise<SlackReply> {
    const { channel, thread } = this.#place;
    const args = { channel_id: channel, thread_ts: thread, status };
    return this.#queue.call({
      lane: channel,
      method: 'agents.sessions.setStatus',
      args,
      priority: 'text',
      isRepeatable: true,
    });
  }

  /** The messages of the run in this turn. Undefined: Slack did not answer for as long as the queue retries. */
  async find(marker: string): Promise<readonly { readonly ts: string; readonly id: string }[] | undefined> {
    const found: { ts: string; id: string }[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < pagesMax; page++) {
      const { thread, message } = this.#place;
      const reply = await this.#repeatedly('conversations.replies', {
        ts: thread,
        oldest: message,
        limit: 200,
        ...(cursor === undefined ? {} : { cursor }),
      });
      // Without the right to read the thread, the turn goes on as if nothing was written yet.
      if (reply.kind === 'refused') return found;
      if (reply.kind !== 'ok') return undefined;
      for (const one of objects(reply.body['messages'])) {
        const [ts, id] = [one['ts'], findMessageId(one, marker)];
        if (one['user'] === this.#bot && typeof ts === 'string' && ts > message && id !== undefined)
          found.push({ ts, id });
      }
      cursor = nextCursor(reply.body);
      if (cursor === undefined) break;
    }
    return found;
  }

  #once(method: string, args: JsonObject): Promise<SlackReply> {
    return this.#call(method, args, false);
  }

  #repeatedly(method: string, args: JsonObject): Promise<SlackReply> {
    return this.#call(method, args, true);
  }

  #call(method: string, args: JsonObject, isRepeatable: boolean): Promise<SlackReply> {
    const { channel } = this.#place;
    return this.#queue.call({ lane: channel, method, args: { channel, ...args }, priority: 'text', isRepeatable });
  }
}

const noPreviews = { unfurl_links: false, unfurl_media: false };
/** Slack finds no names and links of its own in the text; `chat.update` would by default. */
const plain = { parse: 'none', link_names: false };

const objects = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter((one) => isObject(one)) : [];

const nextCursor = (body: JsonObject): string | undefined => {
  const metadata = body['response_metadata'];
  const cursor = isObject(metadata) ? metadata['next_cursor'] : undefined;
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
};
