// Spawn protocol events: a projection of a run's log, not a second mechanism.
import type { CellId, ErrorCode, LimitName } from '#base';

/** Matched by `correlation_id`, which is the child's id. */
export type ProtocolEvent = {
  /** `<cell>/<frame number>`, with a letter. */
  readonly id: string;
  readonly correlation_id: CellId;
  readonly at: number;
} & (
  | {
      readonly topic: 'agent.spawn' | 'agent.spawn.execute';
      readonly type: 'spawn_request';
      readonly payload: SpawnRequest;
    }
  | { readonly topic: 'agent.result'; readonly type: 'spawn_result'; readonly payload: SpawnResult }
);

type SpawnRequest = {
  readonly parent_id: CellId;
  readonly child_id: CellId;
  readonly agent_id: string;
  /** Empty if the agent waits for mail. */
  readonly goal: string;
  readonly tools: readonly string[];
  /** How long it may work on one request. */
  readonly timeout_ms: number;
};

type SpawnResult = {
  readonly parent_id: CellId;
  readonly child_id: CellId;
  /** Whether there is a complete or partial answer. */
  readonly success: boolean;
  readonly result: string;
  readonly error: ErrorCode | null;
  /** The limit that ended it; null if it ended for another reason. */
  readonly limit: LimitName | null;
};
