// What the Slack headend is given.
import type { AgentService, Caller, Clock, Inbox, SlackConfig } from '#contracts';
import type { SlackApi } from './slack-api.ts';

export type SlackHeadendPorts = {
  readonly service: AgentService;
  readonly api: SlackApi;
  readonly inbox: Inbox;
  readonly config: SlackConfig;
  readonly clock: Clock;
  /** Counts a request. Throws `rate_exceeded`. */
  readonly admit: (caller: Caller) => void;
  /** Removes secrets. */
  readonly redact: (text: string) => string;
  /** For the operator: a failure that no person in Slack is told in full. */
  readonly log: (text: string) => void;
};
