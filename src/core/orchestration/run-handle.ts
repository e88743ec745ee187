// What a caller can do with a run in progress.
import type { CellId } from '#base';
import type {
  LiveAgent,
  MessageTarget,
  Outcome,
  OutsideSpawn,
  RouteChoice,
  StartedAgent,
  TeamMessage,
} from '#contracts';
import type { SharedMemory, TaskQueue } from '#core/tasks';

/** A run in progress. `outcome` rejects only if the run could not be recorded. */
export type RunHandle = {
  readonly cell: CellId;
  readonly outcome: Promise<Outcome>;
  cancel(): void;
  /** Adds text to the root cell, as CONTEXT. Throws `cell_ended`. */
  addContext(text: string): void;
  /** Sends a live child what has changed in the shared context. Returns the number of messages. Throws `cell_ended`. */
  refreshShare(child: string): number;
  /** Sends a message to one agent of the run (the root by default), or publishes it on a topic. Returns its id. */
  send(text: string, target?: MessageTarget): string;
  /** Sends chosen messages of one cell's window to other cells. Returns how many crossed. */
  route(from: string, to: readonly string[], choice: RouteChoice): number;
  /** The live agents of the run. */
  members(): readonly LiveAgent[];
  /** Starts an agent under a live one, within that one's `spawns`. */
  spawn(request: OutsideSpawn): Promise<StartedAgent>;
  /** From now on, messages published on the topic are sent outside too. */
  forwardTopic(topic: string): void;
  /** Records that messages to the outside were handed out. Once the run has ended, nothing more is recorded. */
  recordDelivered(messages: readonly string[]): void;
  /** Asks one agent of the run (the root by default) to shut down. An agent other than the root is stopped after a grace period. */
  finish(name?: string): void;
  /** Adds tasks to a team. Throws if they are invalid or the team accepts no more. */
  addTasks(specs: unknown): Promise<void>;
  /** Messages that wait for a member of a team. */
  messagesFor(assignee: string): readonly TeamMessage[];
  /** The tasks of a team and the coordinator's memory; null if the root is not a team. */
  readonly team: { readonly queue: TaskQueue; readonly memory: SharedMemory } | null;
};
