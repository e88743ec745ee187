// The dependencies of conversations and checkpoints, and optimistic updates of the workspace log.
import { CloisterError, unknownAgentError } from '#base';
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
  RunOptions,
  RunSession,
  Store,
} from '#contracts';
import type { EntryReader } from './entry-reader.ts';
import type { ExportFolder } from './export-folder.ts';
import { withoutDeleted } from './without-deleted.ts';
import { foldWorkspaceLog } from './workspace-state.ts';
import type { WorkspaceState } from './workspace-state.ts';

export type ConversationPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly reader: EntryReader;
  /** Null in memory-only mode. */
  readonly files: ExportFolder | null;
  readonly defaultAgent: string | null;
  readonly retention: Retention;
  /** Finds a loaded agent or one of its children. */
  agent(name: string): Agent | undefined;
  /** The names of the loaded agents. */
  agentNames(): readonly string[];
  /** Throws `agent_unknown`, unless no agents are loaded at all: a Cloister that only inspects a workspace has none. */
  checkAgent(name: string): void;
  redact(text: string): string;
  /** Resolves when everything recorded so far by a run of this process is durable. */
  durable(run: RunId): Promise<void>;
  /** Resolves when all pending autosaves are done. */
  settled(): Promise<void>;
};

/** Continues a run from a cut. */
export type ContinueRun = {
  /** Throws if the run cannot continue with the loaded agents and these values of variables. */
  check(frames: readonly Frame[], env: RunOptions['env']): Promise<RunContinuation>;
};

export type RunContinuation = {
  /** Writes the first frames, and starts the run. */
  start(run: RunId, log: RunLog, conversation: ConversationRef | null): Promise<RunSession>;
};

type CachedState = {
  readonly count: number;
  readonly last: WorkspaceEntry | undefined;
  readonly state: WorkspaceState;
  /** Without what was deleted. */
  readonly visible: WorkspaceState;
};

/** Entries never change, so only those appended since the last read are folded. */
const cache = new WeakMap<Store, CachedState>();

export const readWorkspaceState = async (store: Store): Promise<WorkspaceState> => (await readStates(store)).visible;

/** With what follows from runs that were deleted. */
export const readWholeState = async (store: Store): Promise<WorkspaceState> => (await readStates(store)).state;

const readStates = async (store: Store): Promise<CachedState> => {
  const entries = await store.readWorkspaceLog();
  const before = cache.get(store);
  const isExtended = before !== undefined && entries[before.count - 1] === before.last;
  const state = isExtended ? foldWorkspaceLog(entries.slice(before.count), before.state) : foldWorkspaceLog(entries);
  const visible = isExtended && state === before.state ? before.visible : withoutDeleted(state);
  const read = { count: entries.length, last: entries.at(-1), state, visible };
  cache.set(store, read);
  return read;
};

const triesMax = 100;

/** Decides on the current workspace log; retries when another process appended to it meanwhile. */
export const retryOnConflict = async <T>(store: Store, decide: (state: WorkspaceState) => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries++)
    try {
      return await decide(await readWorkspaceState(store));
    } catch (error) {
      const isConflict = error instanceof CloisterError && error.code === 'book_moved';
      if (!isConflict || tries >= triesMax) throw error;
    }
};

// The known agents: loaded ones, those in the workspace log, and those that have run.
/** Throws `agent_unknown`, with the closest known name. */
export const checkAgentKnown = async (
  agent: string,
  state: WorkspaceState,
  ports: ConversationPorts,
): Promise<void> => {
  const known = new Set([...ports.agentNames(), ...agentNamesIn(state)]);
  if (known.has(agent) || ports.agent(agent) !== undefined) return;
  for (const run of await ports.store.list()) if (run.agent !== '') known.add(run.agent);
  if (!known.has(agent)) throw unknownAgentError(agent, [...known], 'No agent has run in this workspace yet.');
};

const agentNamesIn = ({ conversations, checkpoints }: WorkspaceState): readonly string[] => [
  ...[...conversations.values()].flatMap(({ ref, attached, nodes }) => [
    ref.agent,
    ...attached,
    ...[...nodes.values()].map(({ agent }) => agent),
  ]),
  ...[...checkpoints.values()].map(({ agent }) => agent),
];
