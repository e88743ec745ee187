// People in Slack as callers. Nobody holds a token of theirs: only the Slack headend acts for them.
//
//   slack-people-by-name. Whatever finds a caller's rights by name finds theirs, also after a restart.
//   slack-groups-by-slack. Who is in a group of approvers is what Slack said last; before it has said anything, nobody is.
import { parseSlackCaller, slackAgents } from '#contracts';
import type { Clock, SlackApi, SlackConfig, TokenEntry } from '#contracts';

type CallerPorts = {
  readonly api: SlackApi;
  readonly config: SlackConfig;
  readonly clock: Clock;
  /** For the operator. */
  readonly log: (text: string) => void;
};

/** The hash of no token. */
const noTokenHash = 'f'.repeat(64);

export class SlackCallers {
  readonly #ports: CallerPorts;
  readonly #agents: readonly string[];
  readonly #approvers: ReadonlySet<string>;
  /** People by group. */
  readonly #groups: ReadonlyMap<string, { members: ReadonlySet<string>; problem: string | null }>;
  #stopTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(ports: CallerPorts) {
    const { approvers = [] } = ports.config;
    this.#ports = ports;
    this.#agents = [...new Set(slackAgents(ports.config).map(({ agent }) => agent))];
    this.#approvers = new Set(approvers.filter((one) => !one.startsWith(groupPrefix)));
    this.#groups = new Map(
      approvers
        .filter((one) => one.startsWith(groupPrefix))
        .map((one) => [one.slice(groupPrefix.length), { members: new Set<string>(), problem: null }]),
    );
  }

  /** Undefined for callers that are no people of this workspace. */
  entry(name: string): TokenEntry | undefined {
    const { team, people = {} } = this.#ports.config;
    const person = parseSlackCaller(name);
    if (person === null || person.team !== team) return undefined;
    const answers = this.#mayApprove(person.user) ? { answers: ['*'] } : {};
    return { name, sha256: noTokenHash, agents: this.#agents, ...people, ...answers };
  }

  #mayApprove(user: string): boolean {
    return this.#approvers.has(user) || [...this.#groups.values()].some(({ members }) => members.has(user));
  }

  /** Asks for the groups now, and from time to time. Never rejects. */
  async start(): Promise<void> {
    if (this.#groups.size === 0) return;
    await Promise.all([...this.#groups.keys()].map((group) => this.#refresh(group)));
    if (this.#isStopped) return;
    this.#stopTimer = this.#ports.clock.timer(refreshMs, () => void this.start());
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer?.();
  }

  async #refresh(name: string): Promise<void> {
    const group = this.#groups.get(name)!;
    const reply = await this.#ports.api.call('usergroups.users.list', { usergroup: name });
    // What was known stays until Slack can be reached again.
    if (reply.kind === 'limited' || reply.kind === 'unknown') return;
    const problem = reply.kind === 'refused' ? reply.error : null;
    const { users } = reply.kind === 'ok' ? reply.body : { users: [] };
    group.members = new Set(Array.isArray(users) ? users.filter((user) => typeof user === 'string') : []);
    if (problem !== null && problem !== group.problem)
      this.#ports.log(`Slack does not tell who is in the group ${name} of \`slack.approvers\`: ${problem}.`);
    group.problem = problem;
  }
}

const groupPrefix = 'group:';

const refreshMs = 600_000;
