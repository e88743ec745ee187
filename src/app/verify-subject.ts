// What is to be verified, from files, modules or agents in code: read and looked up, without a key, a server or a provider.
import { existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { CloisterError } from '#base';
import { modelFacts } from '#adapters/models';
import type { Agent, ModelFacts } from '#contracts';
import type { Subject } from '#testkit';
import { withChildren } from './agents/resources-from-code.ts';
import { findAgent } from './agents/find-agent.ts';
import { isTeamFile, pathKind } from './agents/find-files.ts';
import { providerOf } from './agents/required-config.ts';
import type { LaunchEnvironment } from './agents/launch-environment.ts';
import { loadRegistry, problemsError } from './agents/registry.ts';
import type { Registry } from './agents/registry.ts';
import { FakeEnvironment } from './fake-environment.ts';
import { rootAmong } from './find-root-agent.ts';

export type VerifyTarget = {
  readonly agents: readonly (Agent | string)[];
  /** Which of them; else the one that no other calls. */
  readonly agent?: string;
  /** The one from this file, however it is called. */
  readonly file?: string;
};

export const loadSubject = async (asked: VerifyTarget, place: LaunchEnvironment): Promise<Subject> => {
  const registry = await loadRegistry(asked.agents, { place, looking: true, offline: true });
  const { problems, moduleErrors, agents } = registry;
  if (problems.length === 1 && moduleErrors.length === 1) throw moduleErrors[0]!;
  if (problems.length > 0) throw problemsError(problems);
  const agent = agents.find(({ file }) => file !== null && file === asked.file) ?? rootAmong(agents, asked.agent);
  const all = [...withChildren([agent])];
  const facts = await factsFor(all, registry);
  const modules = asked.agents.filter((one) => typeof one === 'string').filter((path) => /\.[cm]?[jt]s$/u.test(path));
  return {
    agent,
    notes: modules.map((path) => `${path} was loaded: what its code does besides defining agents is not covered.`),
    factsOf: ({ file }, model) => facts.get(`${file} ${model}`) ?? {},
    toolsOf: ({ file }, server) => registry.configs.of(file).resolved.servers[server]?.value.tools ?? null,
    environment: new FakeEnvironment(registry, all, place.env['PATH'] ?? ''),
  };
};

/** An agent file, a team file or a module that is there. */
export const isSubjectFile = (name: string, { cwd }: LaunchEnvironment): boolean =>
  /\.(?:ai|ya?ml|[cm]?[jt]s)$/u.test(name) && pathKind(resolve(cwd, name)) === 'file';

/** A file, a module or a folder; an agent by its name; else an example of this package. */
export const findSubject = async (
  name: string,
  place: LaunchEnvironment,
  examples: string,
): Promise<VerifyTarget & { readonly cwd: string }> => {
  const { cwd } = place;
  const path = resolve(cwd, name);
  if (isSubjectFile(name, place)) {
    const isFile = name.endsWith('.ai');
    const which = isFile ? { agent: basename(path, '.ai') } : isTeamFile(name) ? { file: path } : {};
    return { agents: [path], cwd, ...which };
  }
  const found = await findAgent(name, place);
  if (found !== null) return { agents: [found], agent: name, cwd };
  const example = join(examples, name);
  if (/^[\w-]+$/u.test(name) && pathKind(example) === 'folder') return { ...exampleIn(example, name), cwd: example };
  if (pathKind(path) === 'folder') return { agents: [path], cwd };
  throw new CloisterError(
    'agent_unknown',
    `There is no file, no agent and no example "${name.slice(0, 80)}". Examples: ${examplesIn(examples).join(', ')}.`,
  );
};

const moduleNames = ['agents.ts', 'agents.js', 'agents.mjs'];
const teamName = 'team.yaml';

const exampleIn = (folder: string, name: string): VerifyTarget => {
  if (existsSync(join(folder, teamName))) return { agents: [join(folder, teamName)] };
  if (readdirSync(folder).some((file) => file.endsWith('.ai'))) return { agents: [folder] };
  const module = moduleNames.find((file) => existsSync(join(folder, file)));
  if (module !== undefined) return { agents: [join(folder, module)] };
  throw new CloisterError(
    'agent_unknown',
    `The example "${name}" makes its agents while it runs: there is no file to verify.`,
  );
};

const examplesIn = (folder: string): readonly string[] =>
  (pathKind(folder) === 'folder' ? readdirSync(folder) : []).filter((name) => {
    const files = pathKind(join(folder, name)) === 'folder' ? readdirSync(join(folder, name)) : [];
    return files.some((file) => file.endsWith('.ai') || file === teamName || moduleNames.includes(file));
  });

const factsFor = async (agents: readonly Agent[], registry: Registry): Promise<ReadonlyMap<string, ModelFacts>> => {
  const facts = new Map<string, ModelFacts>();
  for (const agent of agents)
    for (const model of agent.models) {
      if (typeof model !== 'string') continue;
      const provider = registry.configs.of(agent.file).resolved.providers[providerOf(model)]?.value;
      const id = model.slice(model.indexOf('/') + 1);
      if (provider !== undefined)
        facts.set(`${agent.file} ${model}`, { ...(await modelFacts(provider.type, id)), ...provider.models?.[id] });
    }
  return facts;
};
