// What conversations and checkpoints are kept with.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type {
  Agent,
  WorkspaceEntry,
  Clock,
  ConversationRef,
  Frame,
  Ids,
  Retention,
  RunLog,
  RunSession,
  Store,
} from '#contracts';
import { foldWorkspaceLog } from './workspace-state.ts';
import type { WorkspaceState } from './workspace-state.ts';
import type { ExportFolder } from './export-folder.ts';
import type { EntryReader } from './entry-reader.ts';

export type ConversationPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly reader: EntryReader;
  /** Null in memory-only mode. */
  readonly files: ExportFolder | null;
  readonly defaultAgent: string | null;
  readonly retention: Retention;
  /** Those that were handed over, and those below them. */
  agent(name: string): Agent | undefined;
  /** Of those that were handed over. */
  agentNames(): readonly string[];
  /** Throws `agent_unknown`, unless no agents are here at all: who only looks has none. */
  checkAgent(name: string): void;
  redact(text: string): string;
  /** When all that was recorded of a run of this process is durable. */
  durable(run: RunId): Promise<void>;
  /** When all that saves itself is saved. */
  settled(): Promise<void>;
};

/** How a run goes on from a cut. */
export type ContinueRun = {
  /** Throws why it cannot, with the agents that are here. */
  check(frames: readonly Frame[]): Promise<void>;
  /** Writes down what it begins with, and starts it. */
  start(run: RunId, log: RunLog, begun: ContinuedRun): Promise<RunSession>;
};

export type ContinuedRun = {
  readonly frames: readonly Frame[];
  readonly conversation: ConversationRef | null;
};

type KnownBook = { readonly count: number; readonly last: WorkspaceEntry | undefined; readonly state: WorkspaceState };

/** What was read stays as it is: only the pages since then are read on. */
const known = new WeakMap<Store, KnownBook>();

export const readWorkspaceLog = async (store: Store): Promise<WorkspaceState> => {
  const pages = await store.readWorkspaceLog();
  const before = known.get(store);
  const goesOn = before !== undefined && pages[before.count - 1] === before.last;
  const state = goesOn ? foldWorkspaceLog(pages.slice(before.count), before.state) : foldWorkspaceLog(pages);
  known.set(store, { count: pages.length, last: pages.at(-1), state });
  return state;
};

const triesMax = 100;

/** Looks at the book and decides; when others have written meanwhile, once more. */
export const retryOnConflict = async <T>(store: Store, decide: (state: WorkspaceState) => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries++)
    try {
      return await decide(await readWorkspaceLog(store));
    } catch (error) {
      const moved = error instanceof CloisterError && error.code === 'book_moved';
      if (!moved || tries >= triesMax) throw error;
    }
};
