// Whose thread it is: of whoever was the first to speak to the app in it.
//
//   owner-proven. Whoever cannot be shown to be the owner is not.
import { CloisterError } from '#base';
import { keyedRunId } from '#contracts';
import type { AgentService, Caller, SlackConfig } from '#contracts';
import type { BoundedMap } from './bounded-map.ts';
import type { InboxRequest } from './inbox-request.ts';
import type { AppIdentity } from './parse-delivery.ts';
import type { PostedMessage, SlackMessages } from './slack-messages.ts';
import { conversationOfThread, keyOfMessage, queueOfThread } from './slack-place.ts';
import type { ThreadAddress } from './slack-place.ts';
import { findRoute } from './slack-route.ts';
import { mentionsUser } from './slack-text.ts';

type OwnerPorts = {
  readonly service: Pick<AgentService, 'conversations' | 'find'>;
  readonly messages: Pick<SlackMessages, 'readThread'>;
  readonly config: Pick<SlackConfig, 'channels' | 'dm'>;
  readonly identity: () => AppIdentity | undefined;
  readonly owners: BoundedMap<string, string>;
};

/** Rejects with `server_busy` if Slack does not show the thread. */
export const isThreadOwner = async (
  { service, messages, config, identity, owners }: OwnerPorts,
  request: InboxRequest & { readonly type: 'message' },
  caller: Caller,
): Promise<boolean> => {
  const queue = queueOfThread(request);
  const known = owners.get(queue);
  if (known !== undefined) return known === request.user;
  if (await hasBegun(service, caller, request.agent, request)) {
    owners.set(queue, request.user);
    return true;
  }
  const thread = await messages.readThread(request);
  if (thread === undefined) throw new CloisterError('server_busy', 'Slack does not show the thread.');
  const bot = identity()?.bot ?? '';
  const first = thread.find(({ isOwn, isBot, text }) => isOwn || (!isBot && mentionsUser(text, bot)));
  if (first === undefined) return request.isMention;
  if (first.isOwn) return beganWithoutMention(thread, first) === request.user;
  owners.set(queue, first.user);
  return first.user === request.user;

  /** Where the app needs no mention. Other threads that it was the first to write in are in the name of somebody with a conversation. */
  function beganWithoutMention([root]: readonly PostedMessage[], { mark }: PostedMessage): string | undefined {
    return mark === null && findRoute(config, request.channel)?.when === 'all' ? root?.user : undefined;
  }
};

/** Whether this thread is one of the person's conversations or, of a team, began with a run of this person. */
export const hasBegun = async (
  service: Pick<AgentService, 'conversations' | 'find'>,
  caller: Caller,
  agent: string,
  address: ThreadAddress,
): Promise<boolean> => {
  const { team, channel, thread } = address;
  try {
    await service.conversations.show(caller, { agent, name: conversationOfThread(address) }, 1);
    return true;
  } catch (error) {
    if (!(error instanceof CloisterError) || error.code !== 'conversation_unknown') throw error;
    return isRunThere(service, caller, keyOfMessage(team, channel, thread));
  }
};

export const isRunThere = async (
  service: Pick<AgentService, 'find'>,
  caller: Caller,
  key: string,
): Promise<boolean> => {
  try {
    await service.find(caller, keyedRunId(caller.name, key));
    return true;
  } catch (error) {
    if (error instanceof CloisterError && error.code === 'run_unknown') return false;
    throw error;
  }
};
