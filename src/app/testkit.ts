// What users test with: `import { expectIsolated, rehearse } from 'cloister/testkit'`.
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
import { namesAny, withChildren } from './agents/resources-from-code.ts';
import type { CloisterOptions } from './cloister-options.ts';
import { resolveAgentResources } from './resolve-resources.ts';
import { rootAmong } from './find-root-agent.ts';
import { systemPlace } from './system-world.ts';

/** Agents that work together, as they are handed to `openCloister`. */
export type Workflow = Pick<CloisterOptions, 'agents' | 'config' | 'cwd' | 'env' | 'models'> & {
  /** Which of them is asked; default: the only one that no other calls. */
  readonly agent?: string;
  /** What it is asked; default: something drawn, or `Go.` where words will do. */
  readonly input?: string | JsonObject;
};

export type VerifyIsolationOptions = IsolationOptions & {
  /** Run the agents' own tools instead of stand-ins: to find state that they share. */
  readonly realTools?: boolean;
};

/** Runs pairs that differ in what one cell keeps to itself, and tells whether any other cell could see it. */
export const verifyIsolation = async (
  workflow: Workflow,
  options: VerifyIsolationOptions = {},
): Promise<IsolationReport> => {
  const { realTools = false, ...rest } = options;
  const { input } = workflow;
  const subject = await subjectOf(workflow);
  return checkIsolation({ ...subject, realTools, ...(input === undefined ? {} : { input }) }, rest);
};

/** The same; throws an AssertionError that says where to look. */
export const expectIsolated = async (
  workflow: Workflow,
  options: VerifyIsolationOptions = {},
): Promise<IsolationReport> => assertIsolated(await verifyIsolation(workflow, options));

/** Agents in code that bring everything along need no config, and none is read for them. */
const subjectOf = async (workflow: Workflow): Promise<Subject> => {
  const { agents, agent, cwd, env, config } = workflow;
  const inCode = agents
    .filter((one) => typeof one !== 'string')
    .map((one, index) => assertAgent(one, `agents[${index}]`));
  if (inCode.length === agents.length && ![...withChildren(inCode)].some(namesAny))
    return { agent: rootAmong(inCode, agent) };
  const { loadSubject } = await import('./verify-subject.ts');
  const place = { ...systemPlace(), ...omitUndefined({ cwd, env, config }) };
  return loadSubject({ agents, ...(agent === undefined ? {} : { agent }) }, place);
};

/** Made for each run: rehearsals and tools remember what they were asked. */
export type MakeWorkflow = (world: FakeWorld) => Workflow | Promise<Workflow>;

/**
 * Crashes the workflow after every record of its run and goes on from there: nothing that was settled happens again, and the
 * answer is the same. Throws an AssertionError that says after which record it was not.
 */
export const expectResumable = async (
  workflow: Workflow | MakeWorkflow,
  options: ResumableOptions = {},
): Promise<ResumableReport> =>
  checkResumable(
    async (world) => rehearsed(typeof workflow === 'function' ? await workflow(world) : workflow),
    options,
  );

const rehearsed = async (workflow: Workflow): Promise<RehearsedWorkflow> => {
  const { agent, input, ...given } = workflow;
  const equipped = await resolveAgentResources(given);
  const { agents, redact } = equipped;
  return { agent: rootAmong(agents, agent), input: input ?? 'Go.', equip: (one) => equipped.equip(one), redact };
};

export {
  agentLine,
  agentNameIn,
  countingIds,
  fakeWorld,
  faultyModel,
  faultyTool,
  readScript,
  rehearse,
  ScriptError,
  unscriptedText,
  virtualClock,
} from '#testkit';
export type {
  FakeWorld,
  ScriptedFault,
  FaultPlan,
  FaultyModel,
  FaultyTool,
  IsolationOptions,
  IsolationReport,
  ScriptLine,
  FaultLog,
  ModelFault,
  Rehearsal,
  RehearsalOptions,
  RequestView,
  ResumableOptions,
  ResumableReport,
  Script,
  ScriptedCall,
  ScriptedReply,
  ScriptedUsage,
  ScriptWithSettings,
  ToolFault,
  ToolResultView,
  VirtualClock,
  When,
} from '#testkit';
