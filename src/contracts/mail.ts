// Mail between cells: what crosses, what a spawned agent is known by, and what people see of it.
import type { CellId, Hash } from '#base';
import type { CrossingEnd } from './crossing.ts';

/** The content of a `message` or `broadcast` crossing: a line of JSON, then the text. All but `text` is set by the runtime. */
export type Mail = {
  readonly id: string;
  readonly message_type: 'message' | 'answer' | 'broadcast';
  /** Who sent it, by the name that it is known by; null: the person or program that asked for the run. */
  readonly agent_id: string | null;
  readonly recipient_id: string;
  readonly topic?: string;
  /** The message that it answers. */
  readonly correlation_id: string | null;
  readonly at: number;
  /** Not read by then, it is not read at all. */
  readonly expires_at?: number;
  /** How many messages led to it, itself included. */
  readonly hops: number;
  readonly text: string;
};

/** Messages of one cell's window that were chosen for another: the content of a `message` crossing that is given, as JSON. */
export type RoutedMessages = {
  readonly agent_id: string;
  readonly recipient_id: string;
  readonly message_type: 'context';
  readonly parts: readonly { readonly category: string; readonly text: string }[];
};

/** What a spawned agent is known by. */
export type SpawnIdentity = {
  /** `<workflow>:<agent>`, or the agent's name alone; with something more for a twin. */
  readonly name: string;
  readonly workflow: string | null;
  readonly topics: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
};

/** What an agent may spawn, from its definition. */
export type SpawnRules = {
  /** Their definitions: what a model asks for is looked up by name among them. `self` is the agent itself. */
  readonly agents: readonly string[];
  readonly self: boolean;
  readonly children: number;
  readonly perMinute: number;
  readonly depth: number;
  readonly share: readonly ('system' | 'context')[];
  /** Null: it may describe no agents of its own. */
  readonly templates: { readonly tools: readonly string[] } | null;
  readonly pool: Readonly<Record<string, number>>;
  readonly graceMs: number;
};

export type TopicRules = { readonly hear: readonly string[]; readonly say: readonly string[] };

/** Which mail an agent waits for: from its box, from its topics, or from anywhere. */
export type MailFilter = {
  readonly box: 'mail' | 'topics' | 'any';
  /** Only from these; with `all`, at least one from each. */
  readonly from?: readonly CellId[];
  /** What they are called, in the same order. */
  readonly names?: readonly string[];
  readonly topics?: readonly string[];
  readonly all?: boolean;
  readonly max: number;
};

/** The settled value of a receive: entries of the cell's ledger, in the order in which they came. */
export type ReceiveResult = {
  readonly messages: readonly number[];
  /** Those that came too late. */
  readonly expired?: readonly number[];
  /** It is asked to come to an end. */
  readonly closing?: true;
  readonly timedOut?: true;
  /** Names of those that it waited for and that have not written. */
  readonly missing?: readonly string[];
  /** A sender that it named and that is not there, and those who are. */
  readonly unknown?: { readonly name: string; readonly known: readonly string[]; readonly topic?: true };
};

/** Why a message will not be read. */
export type DeadReason = 'ended' | 'expired' | 'refused' | 'overflow' | 'unknown';

/** What became of a message that did not cross, as the log keeps it. */
export type DeadLetter = {
  readonly to: string;
  readonly reason: DeadReason;
  /** A plain message unless it says otherwise. */
  readonly type?: Mail['message_type'];
  readonly topic?: string;
  readonly correlation?: string | null;
};

export type MailState = 'queued' | 'delivered' | 'read' | 'dead';

/** One message to one recipient, with its states and when it came to each. */
export type MailReport = {
  readonly id: string;
  readonly message_type: Mail['message_type'] | 'result' | 'context';
  readonly from: CrossingEnd;
  readonly to: CrossingEnd | null;
  /** By the names that they are known by. */
  readonly agent_id: string | null;
  readonly recipient_id: string;
  readonly topic: string | null;
  readonly correlation_id: string | null;
  readonly hops: number;
  readonly bytes: number;
  readonly sha256: Hash | null;
  readonly state: MailState;
  readonly queuedAt: number;
  readonly deliveredAt: number | null;
  readonly readAt: number | null;
  readonly deadAt: number | null;
  readonly reason: DeadReason | null;
};
