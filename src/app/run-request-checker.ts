// What is asked of whom, checked before anything is recorded or spent.
import type { JsonObject } from '#base';
import type { Agent, Budget, History, ResidentOptions, RunOptions, DialogMessage } from '#contracts';
import { assertAgent, checkRequest } from '#core/orchestration';
import type { AgentList } from './agent-list.ts';
import { withRequestedFormat, boundRequestSchemas, withRequestTools } from './requested-format.ts';
import { checkResident } from './check-resident.ts';
import { checkSchemas } from './check-schemas.ts';
import { refuseForTeam, refuseToTalk } from './check-team.ts';
import { checkOptions, runOptions, redactedContext, redactedDialog } from './conversations/check-options.ts';
import { entriesOf, historyFor } from './conversations/build-history.ts';
import type { Shared } from './run-world.ts';

export type ValidatedRequest = {
  readonly agent: Agent;
  readonly goal: string | null;
  readonly context: readonly string[];
  readonly said: readonly DialogMessage[];
};

/** What is told of a conversation at most: what a window may hold, and no more than so much in a log for each turn. */
const [bytesPerToken, historyBytesMax] = [4, 512 * 1024];

/** Each throws what is wrong. */
export class RunRequestChecker {
  readonly #shared: Shared;
  readonly #agents: AgentList;
  readonly #clean: (text: string) => string;

  constructor(shared: Shared, agents: AgentList, clean: (text: string) => string) {
    this.#shared = shared;
    this.#agents = agents;
    this.#clean = clean;
  }

  checkRun(agent: string | Agent, input: string | JsonObject, options: RunOptions): ValidatedRequest {
    checkOptions(options, runOptions);
    const { schemaProblem, boundSchemaTime } = this.#shared;
    const found = this.#found(agent);
    refuseForTeam(found, options);
    const asked = withRequestTools(withRequestedFormat(found, options, schemaProblem), options, schemaProblem);
    checkSchemas(asked, schemaProblem);
    boundRequestSchemas(asked, options, boundSchemaTime);
    return { agent: asked, goal: this.goalOf(asked, input, options.budget), ...this.#told(options) };
  }

  checkResident(agent: string | Agent, options: ResidentOptions): ValidatedRequest {
    const found = this.#found(agent);
    refuseToTalk(found);
    checkSchemas(found, this.#shared.schemaProblem);
    return { agent: found, goal: checkResident(found, options, this.#shared), ...this.#told(options) };
  }

  goalOf(agent: Agent, input: string | JsonObject, budget?: Budget): string {
    const { validate, equipped } = this.#shared;
    return checkRequest(agent, input, budget, { validate, equip: (one: Agent) => equipped.equip(one) });
  }

  /** What it is told besides its goal, where it takes no turn in a conversation. */
  historyFor({ agent, said, context }: ValidatedRequest): History | undefined {
    return historyFor({
      conversation: '',
      entries: entriesOf(agent, said),
      context,
      bytesMax: said.length === 0 ? 0 : this.historyBytes(agent),
    });
  }

  historyBytes(agent: Agent): number {
    return Math.min((this.#agents.windowOf(agent)?.tokens ?? Infinity) * bytesPerToken, historyBytesMax);
  }

  #found(agent: string | Agent): Agent {
    return typeof agent === 'string' ? this.#agents.get(agent) : assertAgent(agent, 'The agent');
  }

  #told({ context, history }: Pick<RunOptions, 'context' | 'history'>): Pick<ValidatedRequest, 'context' | 'said'> {
    return { context: redactedContext(context, this.#clean), said: redactedDialog(history, this.#clean) };
  }
}
