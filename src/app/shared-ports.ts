// What all runs of one Cloister share.
import type { RecordedBy, Semaphore } from '#base';
import type {
  CellFolders,
  Clock,
  Ids,
  IndeterminatePolicy,
  KeepRules,
  RunStartInfo,
  SharedRunPorts,
  Store,
  Validate,
} from '#contracts';
import type { AgentList } from './agent-list.ts';
import type { AgentResources } from '#app/agents';
import type { SchemaProblems } from './check-schemas.ts';
import type { ConversationSettings } from '#app/conversations';
import type { QuestionHandler } from './question-handler.ts';
import type { OpenPauses } from './run-reader.ts';
import type { ArchiveFolder, OperatorKey } from '#app/storage';
import type { StallMonitor } from './stall-monitor.ts';

export type SharedPorts = SchemaProblems & {
  readonly store: Store;
  readonly workspaces: CellFolders;
  readonly validate: Validate;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly lanes: ReadonlyMap<string, Semaphore>;
  readonly resources: AgentResources;
  /** Undefined when the agents are in code. */
  readonly startInfo: RunStartInfo | undefined;
  /** This build, and the format of the runs it starts. */
  readonly recordedBy: RecordedBy;
  /** What happens to calls that a crash has interrupted. Default: `continue`. */
  readonly indeterminate?: IndeterminatePolicy | undefined;
  /** How conversations and checkpoints are stored; by default without files. */
  readonly conversationSettings?: ConversationSettings;
  /** How long the tool servers of a cell that waits for people stay open. Default: 5 minutes. */
  readonly serverIdleMs?: number | undefined;
  readonly restAfterMs?: number | undefined;
  /** Answers the questions of runs in this process. */
  readonly onQuestion?: QuestionHandler | undefined;
  /** Both absent where there is no real time. */
  readonly stalls?: StallMonitor | undefined;
  readonly openPauses?: OpenPauses | undefined;
  /** The operator's key; null if there is none. Throws if it is not valid. */
  readonly operatorKey?: (() => OperatorKey | null) | undefined;
  /** How long recorded runs are kept; null if nothing says it. Throws if the config has problems. */
  readonly keep?: (() => KeepRules | null) | undefined;
  /** Where archives are. Default: a folder of the workspace, if it is on disk. */
  readonly archives?: ArchiveFolder | undefined;
};

/** `agents`: those that are registered, at any time. */
export const sharedRunPorts = (shared: SharedPorts, agents: AgentList): SharedRunPorts => {
  const { store, clock, ids, workspaces, validate, recordedBy, indeterminate, startInfo, lanes } = shared;
  return {
    clock,
    ids,
    workspaces,
    validate,
    recordedBy,
    indeterminate,
    started: startInfo,
    windowLimitFor: (agent) => agents.windowLimitFor(agent),
    groupTokens: (agent) => agents.groupTokens(agent),
    storeBlob: (bytes) => store.putBlob(bytes),
    readBlob: (ref) => store.getBlob(ref),
    lane: (name) => lanes.get(name),
  };
};
