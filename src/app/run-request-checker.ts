// Checks requests for runs before anything is recorded or spent.
import { CloisterError, omitUndefined } from '#base';
import type { JsonObject } from '#base';
import { checkOptions } from '#base/shapes';
import type {
  Agent,
  Budget,
  History,
  RequestedRunOptions,
  ResidentOptions,
  RunOptions,
  StoredAttachment,
  StoredDialogMessage,
} from '#contracts';
import { checkRequest, checkRunBudget } from '#core/orchestration';
import type { AgentList } from './agent-list.ts';
import { checkRequestSchemaSizes, withRequestedFormat, withRequestTools, checkSchemas } from './check-schemas.ts';
import { checkContextSize, checkTopic, redactTexts, redactDialog, runOptions } from './check-run-command.ts';
import { attachedTextBytes, checkModelsTake, readAttachments } from './read-attachments.ts';
import { refuseTeamOptions, refuseTeamConversation } from './check-team.ts';
import { buildHistory, dialogEntries } from '#app/conversations';
import type { AgentResources } from '#app/agents';
import { environmentFor, resourcesWithEnv } from './run-environment.ts';
import type { NewRun, RunEnvironment } from './run-start.ts';
import type { SharedPorts } from './shared-ports.ts';

export type ValidatedRequest = {
  readonly environment: RunEnvironment;
  readonly agent: Agent;
  readonly goal: string | null;
  readonly context: readonly string[];
  readonly system: readonly string[];
  readonly dialog: readonly StoredDialogMessage[];
  /** Files that come with the goal. */
  readonly attachments: readonly StoredAttachment[];
  /** The bytes of all attached files, those of the dialog too. */
  readonly blobs: readonly Uint8Array[];
};

/** Absent if there are none, as in most requests. */
export const filesOf = ({ attachments, blobs }: ValidatedRequest): Pick<NewRun, 'attachments' | 'blobs'> => ({
  ...(attachments.length === 0 ? {} : { attachments }),
  ...(blobs.length === 0 ? {} : { blobs }),
});

/** The history of a turn is limited by the size of the window, and by an upper bound that keeps logs small. */
const [bytesPerToken, historyBytesMax] = [4, 512 * 1024];

export class RunRequestChecker {
  readonly #shared: SharedPorts;
  readonly #agents: AgentList;

  constructor(shared: SharedPorts, agents: AgentList) {
    this.#shared = shared;
    this.#agents = agents;
  }

  checkRun(agent: string | Agent, input: string | JsonObject, options: RunOptions): ValidatedRequest {
    checkOptions(options, runOptions);
    const found = this.#resolveAgent(agent);
    refuseTeamOptions(found, options);
    checkRequestSchemaSizes(options);
    const { schemaProblem, toolSchemaProblem } = this.#shared;
    const adapted = withRequestTools(withRequestedFormat(found, options, schemaProblem), options, toolSchemaProblem);
    checkSchemas(adapted, this.#shared);
    const environment = this.#environment(adapted, options.env);
    const { resources } = environment;
    return {
      environment,
      agent: adapted,
      goal: this.checkGoal(adapted, input, { budget: options.budget, resources }),
      ...checkContext(adapted, options, resources),
    };
  }

  checkResident(agent: string | Agent, options: ResidentOptions): ValidatedRequest {
    const found = this.#resolveAgent(agent);
    refuseTeamConversation(found);
    checkSchemas(found, this.#shared);
    checkOptions(options, { ...runOptions, message: 'any', topics: 'texts' });
    for (const topic of options.topics ?? [])
      checkTopic(topic, found.permissions.topics.hear, `called "${found.name}" may subscribe to`);
    const environment = this.#environment(found, options.env);
    const { resources } = environment;
    const goal = this.#checkFirstMessage(found, options, resources);
    if (goal === null && (options.attachments ?? []).length > 0)
      throw new CloisterError('attachment_refused', 'attachments: files come with a first message; set `message`.');
    return { environment, agent: found, goal, ...checkContext(found, options, resources) };
  }

  /** For a run that another process begins. */
  checkRequested(agent: string, input: string | JsonObject | null, options: RequestedRunOptions): void {
    const { resident, topics, only: _only, ...given } = options;
    if (resident !== true) return void this.checkRun(agent, input ?? '', given);
    const { schema: _schema, format: _format, tools: _tools, ...more } = given;
    const message = input === null ? {} : { message: input };
    this.checkResident(agent, { ...more, ...message, ...omitUndefined({ topics }) });
  }

  #environment(agent: Agent, env: RunOptions['env']): RunEnvironment {
    return environmentFor(resourcesWithEnv(this.#shared.resources, env), agent);
  }

  /** Returns the goal as it crosses; null when the agent starts by waiting for messages. */
  #checkFirstMessage(agent: Agent, { message, budget }: ResidentOptions, resources: AgentResources): string | null {
    if (message !== undefined) return this.checkGoal(agent, message, { budget, resources });
    // Messages are text, whatever input format the agent's goals have.
    const asText: Agent = { ...agent, signature: { ...agent.signature, input: { format: 'text' } } };
    this.checkGoal(asText, 'mail', { budget, resources });
    return null;
  }

  checkGoal(
    agent: Agent,
    input: string | JsonObject,
    { budget, resources }: { readonly budget?: Budget | undefined; readonly resources: AgentResources },
  ): string {
    const { validate } = this.#shared;
    return checkRequest(agent, input, budget, { validate, modelsOf: (one: Agent) => resources.modelsOf(one) });
  }

  checkBudget(agent: Agent, budget: Budget, resources: AgentResources): void {
    checkRunBudget(agent, budget, { modelsOf: (one) => resources.modelsOf(one) });
  }

  /** The history for a run that is not a turn of a conversation. */
  historyFor({ agent, dialog, context }: ValidatedRequest): History | undefined {
    return buildHistory({
      conversation: '',
      agent: agent.name,
      entries: dialogEntries(agent, dialog),
      context,
      bytesMax: dialog.length === 0 ? 0 : this.historyBytes(agent),
    });
  }

  historyBytes(agent: Agent): number {
    return Math.min((this.#agents.windowLimitFor(agent)?.tokens ?? Infinity) * bytesPerToken, historyBytesMax);
  }

  #resolveAgent(agent: string | Agent): Agent {
    return this.#agents.resolve(agent);
  }
}

const checkContext = (
  agent: Agent,
  { context, system, history, attachments = [] }: Pick<RunOptions, 'context' | 'system' | 'history' | 'attachments'>,
  resources: AgentResources,
): Pick<ValidatedRequest, 'context' | 'system' | 'dialog' | 'attachments' | 'blobs'> => {
  const redact = (text: string): string => resources.redactFor(agent)?.text(text) ?? text;
  const own = readAttachments('attachments', attachments, redact);
  const { dialog, blobs } = redactDialog(history, redact);
  if (own.attachments.length > 0) {
    checkModelsTake(agent.name, resources.modelsOf(agent), own.attachments);
    checkContextSize('attachments', attachedTextBytes(own.attachments));
  }
  return {
    context: redactTexts('context', context, redact),
    system: redactTexts('system', system, redact),
    dialog,
    attachments: own.attachments,
    blobs: [...own.blobs, ...blobs],
  };
};
