// Resources that a resolver creates from the config: for all runs, or for one that was given values of its own.
import { CloisterError } from '#base';
import type { Agent, Problem, Redact } from '#contracts';
import {
  agentTexts,
  formatProblem,
  isMissingVariable,
  problemsError,
  redactProblems,
  secretProblems,
} from './problems.ts';
import type { UnlocatedProblem } from './required-config.ts';
import type { ResourceResolver } from './resource-resolver.ts';
import { withChildren } from './resources-from-code.ts';
import type { AgentResources } from './resources-from-code.ts';

/** Adds the file and line. */
export type LocateProblem = (agent: Agent, problem: UnlocatedProblem) => Problem;

export const resolvedResources = (
  agents: readonly Agent[],
  resolver: ResourceResolver,
  locate: LocateProblem,
): AgentResources => ({
  agents,
  redactFor: (agent, replaced) => resolver.redactFor(agent, replaced),
  contextTokens: (agent) => resolver.contextTokens(agent),
  passedOver: (agent) => resolver.passedOver(agent),
  resourcesFor: (agent, model, without) =>
    model === undefined ? resolver.resourcesFor(agent, without) : resolver.resourcesFor(withModel(agent, model)),
  modelsOf: (agent) => resolver.modelsOf(agent),
  prepare: async (agent, model, { allowMissingVariables = false } = {}) => {
    const found: Problem[] = [];
    await resolver.prepare(
      [{ ...withModel(agent, model), children: { ...agent.children, agents: [] } }],
      (_agent, { key, ...problem }) => found.push({ file: `model "${model}"`, line: null, key, ...problem }),
    );
    const problems = allowMissingVariables ? found.filter((problem) => !isMissingVariable(problem)) : found;
    if (problems.length === 0) return;
    const lines = redactProblems(problems, resolver.redactFor(null)).map(formatProblem);
    throw new CloisterError('fork_invalid', `\n${lines.join('\n')}\n`);
  },
  withEnv: (env) => {
    const ofRun = resolver.forRun(env);
    return {
      ...resolvedResources(agents, ofRun, locate),
      checkVariables: (agent) => {
        checkVariables(agent, ofRun, locate);
        checkDefinitions(agent, resolver.redactFor(null), ofRun.redactFor(null));
      },
    };
  },
  checkVariables: (agent) => checkVariables(agent, resolver, locate),
  ownVariables: (given) => resolver.ownVariables(given),
});

const withModel = (agent: Agent, model: string): Agent => ({
  ...agent,
  resources: { ...agent.resources, models: [model] },
});

const checkVariables = (agent: Agent, resolver: ResourceResolver, locate: LocateProblem): void => {
  const problems = [...withChildren([agent])].flatMap((one) =>
    resolver.problemsOf(one).map((problem) => locate(one, problem)),
  );
  if (problems.length === 0) return;
  throw problemsError(
    redactProblems(problems, resolver.redactFor(null)),
    problems.some(isMissingVariable) ? envHint : '',
  );
};

const envHint = 'To give values to one run alone, pass them in its options: { env: { NAME: value } }.';

/** Definitions are recorded as they are. `before`: what was checked when the agents were loaded. */
const checkDefinitions = (agent: Agent, before: Redact | null, redact: Redact | null): void => {
  if (redact === null) return;
  const texts = [...withChildren([agent])].map((one) => {
    const text = agentTexts(one);
    return [`agent "${one.name}"`, before?.text(text) ?? text] as const;
  });
  const problems = secretProblems(texts, redact);
  if (problems.length > 0) throw problemsError(problems);
};
