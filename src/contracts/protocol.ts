// What a run does with its agents in the form of the protocol: a projection of its log, not a second mechanism.
import type { CellId, ErrorCode } from '#base';

/** Matched by `correlation_id`, which is the child's id. */
export type ProtocolEvent = {
  /** `<cell>/<number of the frame in the run>`, with a letter. */
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

export type SpawnRequest = {
  readonly parent_id: CellId;
  readonly child_id: CellId;
  readonly agent_id: string;
  /** Empty: it waits for mail. */
  readonly goal: string;
  readonly tools: readonly string[];
  /** How long it may work on one piece of work. */
  readonly timeout_ms: number;
};

export type SpawnResult = {
  readonly parent_id: CellId;
  readonly child_id: CellId;
  /** Whether there is an answer, whole or in part. */
  readonly success: boolean;
  readonly result: string;
  readonly error: ErrorCode | null;
};
