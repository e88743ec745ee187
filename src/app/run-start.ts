// How a run is started, or continued.
import type {
  Agent,
  Budget,
  ConversationRef,
  Frame,
  History,
  InheritedFiles,
  RunLog,
  RunOptions,
  Signal,
  StoredAttachment,
} from '#contracts';
import type { AgentResources } from '#app/agents';
import type { ResumableRun } from '#core/orchestration';

export type RunStart = (NewRun | ContinuedRun) & RunEnvironment;

/** What a run uses because of the values of variables that it was given. */
export type RunEnvironment = {
  readonly resources: AgentResources;
  /** The names of those that its agents use; undefined: none. */
  readonly ownVariables?: readonly string[] | undefined;
};

export type NewRun = {
  readonly agent: Agent;
  /** Null: the run starts by waiting for messages. */
  readonly goal: string | null;
  /** The root is a resident: it runs until it is asked to finish. */
  readonly resident?: { readonly topics: readonly string[] } | undefined;
  readonly budget?: Budget | undefined;
  /** The caller's own instructions. */
  readonly system?: readonly string[] | undefined;
  readonly history?: History | undefined;
  readonly attachments?: readonly StoredAttachment[] | undefined;
  /** The bytes of attached files. They are in the store before any frame names them. */
  readonly blobs?: readonly Uint8Array[] | undefined;
  readonly files?: InheritedFiles | undefined;
  readonly conversation?: ConversationRef | undefined;
  readonly caller?: string | undefined;
  /** Set if the request may come again: a hash of it. */
  readonly requestHash?: string | undefined;
  /** There must be no such run yet. */
  readonly isOnly?: boolean | undefined;
  /** Set if the run is already owned. */
  readonly log?: RunLog;
};

/** Of a run whose id was chosen by whoever requested it. */
export const onlyRun = (only: RunOptions['only']): Pick<NewRun, 'requestHash' | 'isOnly'> =>
  only === undefined ? {} : { isOnly: true, requestHash: only.requestHash };

export type ContinuedRun = ResumableRun & {
  readonly log: RunLog;
  readonly saved: boolean;
  /** All of its cells only waited, so it was not down. */
  readonly wasAtRest?: boolean;
  /** What was asked of the run while nobody owned it. */
  readonly signals?: readonly Signal[];
};

/** A resident accepts messages whatever its definition says. */
export const startsResident = (start: RunStart): boolean =>
  ('recorded' in start ? start.recorded.root.birth.spawned : start.resident) !== undefined;

/** Runs of conversations are autosaved. */
export const isAutosaved = (start: RunStart): boolean =>
  'recorded' in start ? start.saved : start.conversation !== undefined;

/** A run that somebody requested of a server: readers may come at any time, such as a page that is loaded again. */
export const mayGetReaders = (start: RunStart): boolean => {
  if (!('recorded' in start)) return start.caller !== undefined;
  const { record } = start.recorded.first;
  return record.type === 'open' && record.caller !== undefined;
};

/** The frames that the run continues from. */
export const pastFrames = (start: RunStart): readonly Frame[] => ('recorded' in start ? start.recorded.frames : []);
