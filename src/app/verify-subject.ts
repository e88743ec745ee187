// Loads the agents to verify from files, modules or code, without keys, servers or providers.
import { existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { CloisterError } from '#base';
import { modelFacts } from '#adapters/models';
import type { Agent, ModelFacts } from '#contracts';
import type { Subject } from '#testkit';
import { withChildren, findAgent, isTeamFile, pathKind, problemsError, providerName } from '#app/agents';
import type { Configs, LaunchEnvironment, Registry } from '#app/agents';
import { FakeEnvironment } from './fake-environment.ts';
import { findRootAgent } from './find-root-agent.ts';

type VerifyTarget = {
  readonly agents: readonly (Agent | string)[];
  /** The name of the agent to verify; default: the only one that no other agent calls. */
  readonly agent?: string;
  /** Selects the agent defined in this file, whatever its name. */
  readonly file?: string;
};

export const loadSubject = async (target: VerifyTarget, configs: Configs): Promise<Subject> => {
  const { loadRegistry } = await import('./agents/registry.ts');
  const registry = await loadRegistry(target.agents, { configs, inspectOnly: true, offline: true });
  const { problems, moduleErrors, agents } = registry;
  if (problems.length === 1 && moduleErrors.length === 1) throw moduleErrors[0]!;
  if (problems.length > 0) throw problemsError(problems);
  const agent = agents.find(({ file }) => file !== null && file === target.file) ?? findRootAgent(agents, target.agent);
  const all = [...withChildren([agent])];
  const facts = await loadModelFacts(all, registry);
  const modules = target.agents.filter((one) => typeof one === 'string').filter((path) => /\.[cm]?[jt]s$/u.test(path));
  return {
    agent,
    notes: modules.map((path) => `${path} was loaded. Only its agents are verified, not what else its code does.`),
    factsOf: ({ file }, model) => facts.get(`${file} ${model}`) ?? {},
    toolsOf: ({ file }, server) => configs.forFile(file).resolved.servers[server]?.value.tools ?? null,
    environment: new FakeEnvironment(registry, all, configs.launch.env['PATH'] ?? ''),
  };
};

/** Whether this is an existing agent file, team file or module. */
export const isSubjectFile = (name: string, { cwd }: LaunchEnvironment): boolean =>
  /\.(?:ai|ya?ml|[cm]?[jt]s)$/u.test(name) && pathKind(resolve(cwd, name)) === 'file';

/** Accepts a file, a module, a folder, the name of an agent, or the name of an example of this package. */
export const findSubject = async (
  name: string,
  configs: Configs,
  examples: string,
): Promise<VerifyTarget & { readonly cwd: string }> => {
  const { cwd } = configs.launch;
  const path = resolve(cwd, name);
  if (isSubjectFile(name, configs.launch)) {
    const isFile = name.endsWith('.ai');
    const which = isFile ? { agent: basename(path, '.ai') } : isTeamFile(name) ? { file: path } : {};
    return { agents: [path], cwd, ...which };
  }
  const found = await findAgent(name, configs);
  if (found !== null) return { agents: [found], agent: name, cwd };
  const example = join(examples, name);
  if (/^[\w-]+$/u.test(name) && pathKind(example) === 'folder')
    return { ...exampleTarget(example, name), cwd: example };
  if (pathKind(path) === 'folder') return { agents: [path], cwd };
  throw new CloisterError(
    'agent_unknown',
    `No file, agent or example is named "${name.slice(0, 80)}". Examples: ${listExamples(examples).join(', ')}.`,
  );
};

const moduleNames = ['agents.ts', 'agents.js', 'agents.mjs'];
const teamName = 'team.yaml';

const exampleTarget = (folder: string, name: string): VerifyTarget => {
  if (existsSync(join(folder, teamName))) return { agents: [join(folder, teamName)] };
  if (readdirSync(folder).some((file) => file.endsWith('.ai'))) return { agents: [folder] };
  const module = moduleNames.find((file) => existsSync(join(folder, file)));
  if (module !== undefined) return { agents: [join(folder, module)] };
  throw new CloisterError(
    'agent_unknown',
    `The example "${name}" creates its agents at run time, so there is no file to verify.`,
  );
};

const listExamples = (folder: string): readonly string[] =>
  (pathKind(folder) === 'folder' ? readdirSync(folder) : []).filter((name) => {
    const files = pathKind(join(folder, name)) === 'folder' ? readdirSync(join(folder, name)) : [];
    return files.some((file) => file.endsWith('.ai') || file === teamName || moduleNames.includes(file));
  });

const loadModelFacts = async (
  agents: readonly Agent[],
  registry: Registry,
): Promise<ReadonlyMap<string, ModelFacts>> => {
  const facts = new Map<string, ModelFacts>();
  for (const agent of agents)
    for (const model of agent.resources.models) {
      if (typeof model !== 'string') continue;
      const provider = registry.configs.forFile(agent.file).resolved.providers[providerName(model)]?.value;
      const id = model.slice(model.indexOf('/') + 1);
      if (provider !== undefined)
        facts.set(`${agent.file} ${model}`, { ...(await modelFacts(provider.type, id)), ...provider.models?.[id] });
    }
  return facts;
};
