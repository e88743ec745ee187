// Mail between cells: what crosses, how spawned agents are named, and what is reported to people.
import type { CellId, Hash, Json } from '#base';
import type { CrossingEnd } from './crossing.ts';

/** The content of a `message` or `broadcast` crossing: a line of JSON, then the text. The runtime sets everything except `text`. */
export type Mail = {
  /** Random; answers refer to it. */
  readonly id: string;
  /** `broadcast`: to all subscribers of `topic`. */
  readonly message_type: 'message' | 'answer' | 'broadcast';
  /** The sender's name; null: the person or program that requested the run. */
  readonly agent_id: string | null;
  /** The recipient's name. */
  readonly recipient_id: string;
  /** Set for a broadcast. */
  readonly topic?: string;
  /** The message it answers. */
  readonly correlation_id: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
  /** If it has not been read by then, it expires. */
  readonly expires_at?: number;
  /** The message that started the chain which led to this one; its own id if it starts one. */
  readonly chain: string;
  readonly text: string;
};

/** Messages of one cell's window that were routed to another: the content of a `message` crossing in a `give` record, as JSON. */
export type RoutedMessages = {
  readonly agent_id: string;
  readonly recipient_id: string;
  readonly message_type: 'context';
  readonly parts: readonly { readonly category: string; readonly text: string }[];
};

/** The identity of a spawned agent. */
export type SpawnIdentity = {
  /** `<workflow>:<agent>`, or just the agent's name; with a suffix if the name is taken. */
  readonly name: string;
  readonly workflow: string | null;
  readonly topics: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
};

/** Which agents an agent may spawn, from its definition. */
export type SpawnRules = {
  /** Names of the agents that a model may ask for. `self`: whether it may spawn another instance of itself. */
  readonly agents: readonly string[];
  readonly self: boolean;
  readonly children: number;
  readonly perMinute: number;
  readonly depth: number;
  readonly share: readonly ('system' | 'context')[];
  /** Null: it may not define agents of its own. */
  readonly templates: { readonly tools: readonly string[] } | null;
  readonly pool: Readonly<Record<string, number>>;
  readonly graceMs: number;
  /** When the agent has given its last answer, and agents that it spawned still work: wait for them, or stop them at once. */
  readonly onEnd: 'wait' | 'stop';
  /** How long it waits for them at most. */
  readonly waitMs: number;
};

export type TopicRules = { readonly hear: readonly string[]; readonly say: readonly string[] };

/** What a session has read, newest last: it decides to which chain of messages the next one belongs. */
export type ChainRead = {
  readonly from: CrossingEnd;
  /** Null: the goal, which belongs to no chain. */
  readonly chain: string | null;
};

/** A message as its sender hands it in. The run sets the sender, the recipient's full name and the time. */
type MessageDraft = {
  /** Drawn before sending, so that it is the same on replay. */
  readonly id: string;
  readonly text: string;
  readonly reads: readonly ChainRead[];
};

/** What a cell asks of its run's mail. The run decides it at once: who is there, who may, whose mailbox is full. */
export type PostRequest =
  /** A fact about the cell alone. */
  | { readonly kind: 'record'; readonly value: Json }
  | (MessageDraft & {
      readonly kind: 'send';
      readonly to: string;
      readonly correlation: string | null;
      readonly expiresMs?: number;
    })
  | (MessageDraft & { readonly kind: 'publish'; readonly topic: string })
  | { readonly kind: 'subscribe'; readonly topic: string }
  | (MessageDraft & {
      readonly kind: 'answer';
      readonly to: CrossingEnd;
      /** `message`: nobody asked. */
      readonly type: 'answer' | 'message';
      readonly correlation: string | null;
    })
  /** Asks its own children to finish. `ended`: those that have ended already. */
  | { readonly kind: 'close-children'; readonly children: readonly CellId[]; readonly ended: readonly CellId[] }
  | { readonly kind: 'list-children' }
  /** Tells the model how a child ended. `seq`: the child's result, which then is no longer mail. */
  | { readonly kind: 'report-end'; readonly name: string; readonly status: string; readonly seq: number | null };

/** The mail that a cell waits for, by the names that it knows. */
export type ReceiveRequest =
  | { readonly kind: 'any'; readonly oneWork?: true; readonly max: number }
  | {
      readonly kind: 'messages';
      /** Undefined: from anybody. */
      readonly from?: readonly string[] | undefined;
      /** From each of them. */
      readonly all?: boolean;
      readonly max: number;
    }
  | { readonly kind: 'broadcasts'; readonly topics?: readonly string[] | undefined; readonly max: number }
  /** Until all agents below the cell only wait for mail. */
  | { readonly kind: 'idle-below' }
  /** No more mail: these messages were read before, and the next work answers them. */
  | { readonly kind: 'deferred'; readonly messages: readonly number[] };

/** The settled value of a receive: entries of the cell's ledger, in order of arrival. */
export type ReceiveResult = {
  readonly messages: readonly number[];
  /** Messages that expired unread. */
  readonly expired?: readonly number[];
  /** Messages of a person that were read during earlier work, and that the work beginning now answers. */
  readonly deferred?: readonly number[];
  /** The agent has been asked to finish. */
  readonly closing?: true;
  /** It was asked to finish while somebody still awaited an answer to a message that it had not read. */
  readonly unread?: true;
  readonly timedOut?: true;
  /** Names of the senders it waited for that have not written. */
  readonly missing?: readonly string[];
  /** A requested sender or topic that does not exist, and those that do. */
  readonly unknown?: { readonly name: string; readonly known: readonly string[]; readonly topic?: true };
};

/** Why a message will not be read. */
export type DeadReason = 'ended' | 'expired' | 'refused' | 'overflow' | 'unknown';

/** The log's record of a message that did not cross. */
export type DeadLetter = {
  readonly to: string;
  readonly reason: DeadReason;
  /** Default: `message`. */
  readonly type?: Mail['message_type'];
  readonly topic?: string;
  readonly correlation?: string | null;
};

/** `queued`: in the mailbox. `delivered`: handed to its recipient. `read`: shown to its model. `dead`: nobody will read it. */
export type MailState = 'queued' | 'delivered' | 'read' | 'dead';

/** One message to one recipient, with its state and the time of each state change. */
export type MailReport = {
  readonly id: string;
  readonly message_type: Mail['message_type'] | 'result' | 'context';
  /** The cells of sender and recipient; `to` is null if there is no such recipient. */
  readonly from: CrossingEnd;
  readonly to: CrossingEnd | null;
  /** Names of sender and recipient. */
  readonly agent_id: string | null;
  readonly recipient_id: string;
  /** Set for a broadcast. */
  readonly topic: string | null;
  /** The message it answers. */
  readonly correlation_id: string | null;
  /** The message that started the chain it belongs to; null if it did not cross, or is no message. */
  readonly chain: string | null;
  /** Size and hash of its text; the hash is null if it did not cross. */
  readonly bytes: number;
  readonly sha256: Hash | null;
  readonly state: MailState;
  /** Epoch milliseconds of each state; null: it has not been in it. */
  readonly queuedAt: number;
  readonly deliveredAt: number | null;
  readonly readAt: number | null;
  readonly deadAt: number | null;
  /** Why it is dead. */
  readonly reason: DeadReason | null;
};
