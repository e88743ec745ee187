/**
 * The test kit: `import { expectIsolated, rehearse } from 'cloister/testkit'`. Models that follow a script, faults, a clock for tests, a fake
 * Slack, and checks that agents are isolated and can be resumed.
 * @module cloister/testkit
 */
import { omitUndefined } from '#base';
import type { JsonObject } from '#base';
import { assertAgent } from '#core/orchestration';
import { assertIsolated, checkIsolation, checkResumable } from '#testkit';
import type {
  FakeWorld,
  IsolationOptions,
  IsolationReport,
  RehearsedWorkflow,
  ResumableOptions,
  ResumableReport,
  Subject,
} from '#testkit';
import { Configs, needsConfig, withChildren } from '#app/agents';
import type { CloisterOptions } from './cloister-options.ts';
import { resolveAgentResources } from './resolve-resources.ts';
import { findRootAgent } from './find-root-agent.ts';
import { systemLaunchEnvironment } from './system-world.ts';

/** Agents that work together, as passed to `openCloister`. */
export type Workflow = Pick<CloisterOptions, 'agents' | 'config' | 'cwd' | 'env' | 'models'> & {
  /** The name of the root agent; default: the only one that no other agent calls. */
  readonly agent?: string;
  /** Its input; default: random input, or `Go.` where any text will do. */
  readonly input?: string | JsonObject;
};

/** The options of `verifyIsolation` and `expectIsolated`. */
export type VerifyIsolationOptions = IsolationOptions & {
  /** Run the agents' own tools instead of stand-ins, to find state that the tools share. */
  readonly realTools?: boolean;
};

/** Runs pairs that differ only in one cell's private content, and reports whether any other cell could see the difference. */
export const verifyIsolation = async (
  workflow: Workflow,
  options: VerifyIsolationOptions = {},
): Promise<IsolationReport> => comparePairs('verifyIsolation', workflow, options);

/** `call`: the function that a user calls to run the same pairs again. */
const comparePairs = async (
  call: 'verifyIsolation' | 'expectIsolated',
  workflow: Workflow,
  { realTools = false, ...rest }: VerifyIsolationOptions,
): Promise<IsolationReport> => {
  const { input } = workflow;
  const subject = await loadWorkflowSubject(workflow);
  const more = realTools ? ', realTools: true' : '';
  return checkIsolation(
    { ...subject, realTools, ...(input === undefined ? {} : { input }) },
    { ...rest, again: (seed, pairs) => `await ${call}(workflow, { seed: ${seed}, pairs: ${pairs}${more} })` },
  );
};

/** Like `verifyIsolation`, but throws an AssertionError that says where to look. */
export const expectIsolated = async (
  workflow: Workflow,
  options: VerifyIsolationOptions = {},
): Promise<IsolationReport> => assertIsolated(await comparePairs('expectIsolated', workflow, options));

/** Agents in code that bring their models and tools need no config, so none is read for them. */
const loadWorkflowSubject = async (workflow: Workflow): Promise<Subject> => {
  const { agents, agent, cwd, env, config } = workflow;
  const inCode = agents
    .filter((one) => typeof one !== 'string')
    .map((one, index) => assertAgent(one, `agents[${index}]`));
  if (inCode.length === agents.length && ![...withChildren(inCode)].some(needsConfig))
    return { agent: findRootAgent(inCode, agent) };
  const { loadSubject } = await import('./verify-subject.ts');
  const launch = { ...systemLaunchEnvironment(), ...omitUndefined({ cwd, env, config }) };
  return loadSubject({ agents, ...(agent === undefined ? {} : { agent }) }, new Configs(launch));
};

/** Called for each run, because rehearsals and tools remember their requests. */
export type MakeWorkflow = (world: FakeWorld) => Workflow | Promise<Workflow>;

/**
 * Crashes the workflow after every record of its run and resumes it: nothing that has settled may happen again, and the answer
 * must be the same. Throws an AssertionError that names the record after which this failed.
 */
export const expectResumable = async (
  workflow: Workflow | MakeWorkflow,
  options: ResumableOptions = {},
): Promise<ResumableReport> =>
  checkResumable(
    async (world) => prepareWorkflow(typeof workflow === 'function' ? await workflow(world) : workflow),
    options,
  );

const prepareWorkflow = async (workflow: Workflow): Promise<RehearsedWorkflow> => {
  const { agent, input, ...given } = workflow;
  const resources = await resolveAgentResources(given);
  const { agents } = resources;
  return {
    agent: findRootAgent(agents, agent),
    input: input ?? 'Go.',
    equip: (one) => resources.resourcesFor(one),
    redactFor: (one, models) => resources.redactFor(one, models),
  };
};

export {
  agentLine,
  agentNameIn,
  connectReceiver,
  countingIds,
  FakeSlack,
  fakeSlackApi,
  fakeWorld,
  faultyModel,
  faultyTool,
  listenSlack,
  postSlackRequest,
  readScript,
  rehearse,
  ScriptError,
  signSlackRequest,
  unscriptedText,
  virtualClock,
} from '#testkit';
export type {
  FakeSlackOptions,
  FakeWorld,
  FaultLog,
  FaultPlan,
  FaultyModel,
  FaultyTool,
  IsolationOptions,
  IsolationReport,
  ModelFault,
  PersonMessage,
  Rehearsal,
  RehearsalOptions,
  RequestView,
  ResumableOptions,
  ResumableReport,
  Script,
  ScriptedCall,
  ScriptedFault,
  ScriptedReply,
  ScriptedUsage,
  ScriptLine,
  ScriptWithSettings,
  SlackCall,
  SlackCard,
  SlackEnvelope,
  SlackFault,
  SlackFaultRule,
  SlackLimits,
  SlackMessage,
  SlackHttpRequest,
  SlackSent,
  SlackServer,
  SlackSession,
  SlackView,
  ToolFault,
  ToolResultView,
  VirtualClock,
  When,
} from '#testkit';
export type { SlackApi, SlackDelivery, SlackReceiver, SlackReply } from '#contracts';
