// Names that follow from where and by whom something was written in Slack.
//
//   names-from-ids. They are made of ids that Slack gives, each checked for its form: nothing that a person writes is part of a name.
import { sha256 } from '#base';
import { callerNameCharsMax } from '#contracts';

/** A thread of one workspace. */
export type ThreadAddress = {
  readonly team: string;
  readonly channel: string;
  /** The `ts` of its first message. */
  readonly thread: string;
};

/** Whether this is an id as Slack makes them. */
export const isSlackId = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Z0-9]{2,21}$/u.test(value);

/** Whether this is the `ts` of a message. */
export const isMessageTs = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{1,12}\.\d{1,6}$/u.test(value);

/** When the message was written, in epoch milliseconds. */
export const timeOfMessage = (ts: string): number => Math.floor(Number(ts) * 1000);

/** The queue of the inbox in which the messages of a thread wait. */
export const queueOfThread = ({ team, channel, thread }: ThreadAddress): string =>
  `thread-${sha256(JSON.stringify([team, channel, thread])).slice(0, 32)}`;

/** The queue of one request that has no thread yet. */
export const queueOfCommand = (team: string, id: string): string =>
  `command-${sha256(JSON.stringify([team, id])).slice(0, 32)}`;

/** The name of a thread among the conversations of the person whose thread it is. */
export const conversationOfThread = (address: ThreadAddress): string => {
  const name = [address.team, address.channel, address.thread].join('/');
  return name.length <= callerNameCharsMax ? name : queueOfThread(address);
};

/** The key under which another version of a run is started that is no turn of a conversation. */
export const keyOfVersion = (team: string, channel: string, run: string): string =>
  `slack/${team}/${channel}/after/${run}`;

/** The key under which the run for a message is started. */
export const keyOfMessage = (team: string, channel: string, message: string): string =>
  `slack/${team}/${channel}/${message}`;
