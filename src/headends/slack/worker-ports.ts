// What the workers of threads are given.
import type { AgentService, Caller, Clock, InboxItem, SlackConfig } from '#contracts';
import type { BoundedMap } from './bounded-map.ts';
import type { AppIdentity } from './parse-delivery.ts';
import type { TurnPorts } from './turn-runner.ts';

export type ThreadWorkerPorts = TurnPorts & {
  readonly service: AgentService;
  readonly config: SlackConfig;
  readonly clock: Clock;
  readonly identity: () => AppIdentity | undefined;
  readonly callerOf: (team: string, user: string) => Caller;
  readonly owners: BoundedMap<string, string>;
  /** Stores a request of another queue. */
  readonly store: (queue: string, item: InboxItem) => Promise<void>;
  readonly log: (text: string) => void;
};
