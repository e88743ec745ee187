// What a fake Slack workspace contains.
import type { Json, JsonObject } from '#base';

/** A task card of a message, as a person sees it. */
export type SlackCard = {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly details: string;
  readonly output: string;
};

/** Changed in place by the methods of the web API. */
export type MessageState = {
  readonly channel: string;
  readonly ts: string;
  /** The `ts` of the first message of its thread; undefined outside threads. */
  readonly thread: string | undefined;
  readonly user: string;
  /** Only this person sees it. */
  readonly onlyFor: string | undefined;
  text: string;
  cards: SlackCard[];
  planTitle: string | undefined;
  /** Blocks other than cards: those of chunks, then those of the end of a stream. */
  blocks: JsonObject[];
  metadata: JsonObject | undefined;
  unfurlLinks: boolean | undefined;
  unfurlMedia: boolean | undefined;
  files: string[];
  reactions: { readonly name: string; readonly user: string }[];
  edits: number;
  stream: StreamState | undefined;
};

type StreamState = {
  readonly startedAt: number;
  /** A stream begins with `markdown_text` or with `chunks` and stays with that. */
  mode: 'chunks' | 'text' | undefined;
  lastAt: number;
  isOpen: boolean;
};

export type ChannelState = {
  readonly id: string;
  readonly kind: 'channel' | 'group' | 'im';
  /** In the order of `ts`. */
  readonly messages: Map<string, MessageState>;
  readonly members: Set<string>;
};

/** An agent session of a thread. */
export type SlackSession = {
  readonly channel: string;
  readonly thread: string;
  readonly status: string;
  readonly title: string;
  readonly initiator: string;
};

/** A modal that a person has open, or had. */
export type SlackView = {
  readonly id: string;
  readonly user: string;
  readonly hash: string;
  readonly isOpen: boolean;
  /** By `block_id`: what the app found wrong with the last submission. */
  readonly errors?: JsonObject;
  /** What `views.open` or `views.update` was given. */
  readonly view: JsonObject;
};

/** A file, whole as soon as its upload is completed. */
export type SlackUpload = {
  readonly id: string;
  readonly name: string;
  readonly length: number;
  readonly text: string | undefined;
  readonly title: string;
  readonly channel: string;
  readonly thread: string;
  readonly isComplete: boolean;
};

/** A person of the workspace. */
export type SlackPerson = { readonly id: string; readonly name: string; readonly timeZone?: string };

/** Who the app is. */
export type SlackAppIds = {
  readonly team: string;
  readonly app: string;
  /** The user id of the app's bot. */
  readonly botUser: string;
  readonly bot: string;
};

/** The limits that are not written into Slack's documentation as a number, or that tests may want to be smaller. */
export type SlackLimits = {
  /** Slack closes a stream after this time. */
  readonly streamLifeMs: number;
  /** Slack closes a stream to which nothing was appended for this time. */
  readonly streamIdleMs: number;
  /** The text of one message, in characters. */
  readonly textMax: number;
  /** Title, text and twice the details and output of a streamed message that has text, in UTF-8 bytes. */
  readonly streamBytesMax: number;
};

export type Workspace = {
  readonly ids: SlackAppIds;
  readonly limits: SlackLimits;
  readonly channels: Map<string, ChannelState>;
  readonly people: Map<string, SlackPerson>;
  readonly groups: Map<string, readonly string[]>;
  readonly ephemerals: MessageState[];
  readonly sessions: Map<string, SlackSession>;
  readonly views: Map<string, SlackView>;
  readonly uploads: Map<string, SlackUpload>;
  /** Who may open a dialog with it, and until when. */
  readonly triggers: Map<string, { readonly user: string; readonly until: number }>;
  /** Epoch milliseconds. */
  now(): number;
  /** A `ts` that no message has. */
  nextTs(): string;
  /** An id that nothing has. */
  nextId(prefix: string): string;
};

/** What an answer of the web API refuses; the caller sees `error`, and `messages` say where. */
export class SlackRefusal extends Error {
  readonly error: string;
  readonly messages: readonly string[];

  constructor(error: string, messages: readonly string[] = []) {
    super(error);
    this.error = error;
    this.messages = messages;
  }
}

/** A field that should be text; empty if it is not. */
export const textField = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export const findChannel = (workspace: Workspace, id: unknown): ChannelState => {
  const channel = typeof id === 'string' ? workspace.channels.get(id) : undefined;
  if (channel === undefined) throw new SlackRefusal('channel_not_found');
  return channel;
};

/** Channels of people come into being when somebody writes in them. */
export const openChannel = (workspace: Workspace, id: string): ChannelState => {
  const known = workspace.channels.get(id);
  if (known !== undefined) return known;
  const kind = id.startsWith('D') ? 'im' : id.startsWith('G') ? 'group' : 'channel';
  const channel: ChannelState = { id, kind, messages: new Map(), members: new Set([workspace.ids.botUser]) };
  workspace.channels.set(id, channel);
  return channel;
};

/** The conversation between this person and the app. */
export const directChannelOf = (user: string): string => `D${user.slice(1)}`;

/** Adds a message and returns it. */
export const addMessage = (
  workspace: Workspace,
  channel: ChannelState,
  given: { readonly user: string; readonly thread?: string | undefined } & Partial<MessageState>,
): MessageState => {
  const message: MessageState = {
    onlyFor: undefined,
    text: '',
    cards: [],
    planTitle: undefined,
    blocks: [],
    metadata: undefined,
    unfurlLinks: undefined,
    unfurlMedia: undefined,
    files: [],
    reactions: [],
    edits: 0,
    stream: undefined,
    ...given,
    thread: given.thread,
    channel: channel.id,
    ts: workspace.nextTs(),
  };
  if (message.onlyFor !== undefined) workspace.ephemerals.push(message);
  else channel.messages.set(message.ts, message);
  return message;
};

export const sessionKey = (channel: string, thread: string): string => `${channel}/${thread}`;

/** Slack closes streams by itself; it is not told, so it is found out when somebody looks. */
export const hasOpenStream = ({ limits, now }: Pick<Workspace, 'limits' | 'now'>, message: MessageState): boolean => {
  const { stream } = message;
  if (stream === undefined || !stream.isOpen) return false;
  const isAlive = now() - stream.startedAt < limits.streamLifeMs && now() - stream.lastAt < limits.streamIdleMs;
  if (!isAlive) stream.isOpen = false;
  return isAlive;
};
