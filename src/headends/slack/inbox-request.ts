// What waits in the inbox: requests of people, as they are stored.
import { isObject } from '#base';
import type { InboxItem } from '#contracts';
import { isMessageTs, isSlackId } from './slack-place.ts';
import type { ThreadAddress } from './slack-place.ts';

/**
 * `message`: a turn. `retry`: another version of the answer of this run. `stop`: what came before it in the thread is to stop. `opening`:
 * the first message of a thread is still to be written.
 */
export type InboxRequest =
  | (ThreadAddress & {
      readonly type: 'message';
      readonly user: string;
      readonly message: string;
      readonly text: string;
      readonly agent: string;
      /** It is a turn only if the thread is its writer's. */
      readonly needsOwner: boolean;
      /** The person spoke to us, and is told if the thread is not theirs. */
      readonly isMention: boolean;
    })
  | (ThreadAddress & { readonly type: 'retry'; readonly user: string; readonly run: string; readonly agent: string })
  | (ThreadAddress & { readonly type: 'stop'; readonly user: string })
  | {
      readonly type: 'opening';
      readonly team: string;
      readonly channel: string;
      readonly user: string;
      readonly text: string;
      readonly agent: string;
    };

/** Undefined if this build does not know it. */
export const readInboxRequest = ({ body }: Pick<InboxItem, 'body'>): InboxRequest | undefined => {
  const { type, team, channel, thread, user } = body;
  if (!isSlackId(team) || !isSlackId(channel) || !isSlackId(user)) return undefined;
  if (type !== 'opening' && !isMessageTs(thread)) return undefined;
  const texts = requiredTexts[typeof type === 'string' ? type : ''];
  const isWhole = isObject(body) && texts !== undefined && texts.every((name) => typeof body[name] === 'string');
  return isWhole ? (body as InboxRequest) : undefined;
};

const requiredTexts: Readonly<Record<string, readonly string[] | undefined>> = {
  message: ['message', 'text', 'agent'],
  retry: ['run', 'agent'],
  stop: [],
  opening: ['text', 'agent'],
};
