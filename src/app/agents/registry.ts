// The registry: finds agents, reads them, looks up what they name, and tells everything that is wrong at once.
import { resolve } from 'node:path';
import type { Agent, Model, Problem, Redact } from '#contracts';
import { schemaProblem } from '#adapters/schemas';
import { parseYaml } from '#adapters/yaml';
import { CloisterError } from '#base';
import { assertAgent } from '#core/orchestration';
import { buildAgents } from './build-agents.ts';
import type { Built } from './build-agents.ts';
import type { AgentResources } from './agent-resources.ts';
import { Configs } from './configs.ts';
import { ResourceResolver } from './resource-resolver.ts';
import { findFiles } from './find-files.ts';
import { loadModule } from './load-module.ts';
import { buildTeams, memberFiles, readTeamFiles, teamPlace, textsOf } from './load-team.ts';
import type { LinkedTeam } from './load-team.ts';
import { needsOf, runtimeTools } from './required-config.ts';
import { shownPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { problemLine, problemsError } from './problems.ts';
import { readAgentFiles } from './read-agent-files.ts';
import type { AgentFiles, LinkedFile } from './read-agent-files.ts';
import { tryServers } from './probe-servers.ts';

export { problemsError } from './problems.ts';

export type Registry = {
  /** Those that were asked for; the agents below them come with them. */
  readonly agents: readonly Agent[];
  readonly linked: ReadonlyMap<string, LinkedFile>;
  /** The files of agents that were asked for. */
  readonly roots: readonly string[];
  readonly teams: readonly LinkedTeam[];
  readonly configs: Configs;
  readonly equipping: ResourceResolver;
  readonly problems: readonly Problem[];
  /** Those of the problems that a module threw. */
  readonly moduleErrors: readonly CloisterError[];
};

export type RegistryOptions = {
  readonly place: LaunchEnvironment;
  /** For agents that name no model. */
  readonly models?: readonly Model[];
  /** Stop after each file by itself: nothing is looked up. */
  readonly syntaxOnly?: boolean;
  /** Only look: no module of the operator's is run. */
  readonly looking?: boolean;
  /** Variables may be missing: nothing will be reached. */
  readonly offline?: boolean;
  /** How many tasks the teams of files work on at once, in the place of what the files say. */
  readonly parallel?: number | undefined;
};

/** `given`: agents, or paths of agent files, team files, modules and folders. */
export const loadRegistry = async (given: readonly (Agent | string)[], options: RegistryOptions): Promise<Registry> => {
  const { place, models = [], syntaxOnly = false, looking = false, offline = false } = options;
  const found = findFiles(
    given.filter((one) => typeof one === 'string'),
    place,
  );
  const paths = given.filter((one) => typeof one === 'string').map((path) => resolve(place.cwd, path));
  const configs = new Configs(place, paths);
  if (!syntaxOnly) await configs.read([...found.files, ...found.teams]);
  const ports = {
    place,
    parseYaml,
    checkSchema: schemaProblem,
    foldersFor: (path: string) => configs.of(path).folders,
  };
  const { teams, problems: ofTeams } = readTeamFiles(found.teams, { given: found.files, follow: !syntaxOnly }, ports);
  const read = readAgentFiles([...new Set([...memberFiles(teams), ...found.files])], !syntaxOnly, ports);
  const problems: Problem[] = [...found.problems, ...ofTeams, ...read.problems];
  const equipping = new ResourceResolver(configs, place, { fallback: models, looking, offline });
  const moduleErrors: CloisterError[] = [];
  const base = { moduleErrors, linked: read.linked, roots: found.files, teams, configs, equipping, problems };
  if (syntaxOnly) return { ...base, agents: [] };

  await configs.read([...read.linked.keys(), ...read.broken.keys()]);
  const built = buildAgents(read.linked, (path) => {
    const { defaults, resolved } = configs.of(path);
    return { defaults, caps: resolved.spawns };
  });
  const { teams: builtTeams, problems: unbuiltTeams } = buildTeams(teams, {
    agents: built.agents,
    defaultsOf: (path) => configs.of(path).defaults,
    parallel: options.parallel,
  });
  problems.push(...configs.problems, ...built.problems, ...unbuiltTeams);
  const exported = await modulesOf(found.modules, place, (file, error) => {
    moduleErrors.push(error);
    problems.push({ file, line: null, key: null, message: error.failure.detail ?? error.message, nearest: null });
  });
  const teamOf = (path: string): Agent | undefined => builtTeams.find(({ file }) => file === path);
  const agents = [
    ...given.filter((one) => typeof one !== 'string').map((agent, index) => assertAgent(agent, `agents[${index}]`)),
    ...found.all.flatMap((path) => teamOf(path) ?? built.agents.get(path) ?? exported.get(path) ?? []),
  ];
  // What the config does not hold because of a mistake in it is told once, as that mistake.
  if (configs.problems.length > 0) return { ...base, agents };
  await equipping.prepare([...agents, ...built.agents.values()], (agent, { key, ...told }) => {
    const file = agent.file === null ? undefined : read.linked.get(agent.file)?.file;
    const at = { file: file?.path ?? `agent "${agent.name}"`, line: file?.lines[key] ?? null, key };
    problems.push({ ...at, ...teamPlace(teams, agent.file), ...told });
  });
  problems.push(...unbuilt(read, built.agents, configs));
  const { redact } = equipping;
  const said = [
    ...[...built.agents.values()].map(
      ({ file, prompt, description, usage }) =>
        [read.linked.get(file!)!.file.path, JSON.stringify([prompt, description, usage])] as const,
    ),
    ...teams.map(({ file }) => [file.path, textsOf(file)] as const),
  ];
  problems.push(...(redact === null ? [] : holdingSecrets(said, redact)));
  return { ...base, agents, problems: withoutSecrets(problems, redact) };
};

const holdingSecrets = (said: readonly (readonly [file: string, text: string])[], redact: Redact): readonly Problem[] =>
  said
    .filter(([, text]) => redact.text(text) !== text)
    .map(([file]) => ({
      file,
      line: null,
      key: null,
      message: 'It holds the value of a secret: take it out; secrets belong into .ai-agent.env.',
      nearest: null,
    }));

/** What files name that could not be read or built: it is looked up all the same, so that all is told at once. */
const unbuilt = ({ linked, broken }: AgentFiles, built: Built['agents'], configs: Configs): readonly Problem[] => {
  const files = [
    ...[...linked.values()].filter(({ path }) => !built.has(path)).map(({ path, file }) => [path, file] as const),
    ...broken,
  ];
  return files.flatMap(([path, { path: file, frontmatter, lines }]) => {
    const { models = [], tools = [] } = frontmatter;
    const servers = tools.filter((tool: string | undefined) => tool !== undefined && !runtimeTools.includes(tool));
    const { problems } = needsOf({ models, servers }, configs.of(path).resolved);
    return problems.map(({ key, ...told }) => ({ file, line: lines[key] ?? null, key, ...told }));
  });
};

export const withoutSecrets = (problems: readonly Problem[], redact: Redact | null): readonly Problem[] =>
  redact === null ? problems : problems.map((problem) => ({ ...problem, message: redact.text(problem.message) }));

/** The same for running: throws all that is wrong in one error. */
export const openRegistry = async (
  given: readonly (Agent | string)[],
  { preconnect, ...options }: RegistryOptions & { readonly preconnect: boolean },
): Promise<AgentResources> => {
  const { agents, equipping, problems, moduleErrors } = await loadRegistry(given, options);
  if (problems.length === 1 && moduleErrors.length === 1) throw moduleErrors[0]!;
  if (problems.length > 0) throw problemsError(problems);
  if (preconnect) {
    const unreached = withoutSecrets(await tryServers(agents, equipping, options.place), equipping.redact);
    if (unreached.length > 0) throw problemsError(unreached);
  }
  return {
    agents,
    get redact() {
      return equipping.redact;
    },
    contextTokens: (agent) => equipping.contextTokens(agent),
    equip: (agent, model) => equipping.equip(model === undefined ? agent : { ...agent, models: [model] }),
    prepare: async (agent, model) => {
      const told: Problem[] = [];
      await equipping.prepare([{ ...agent, models: [model], agents: [] }], (_agent, { key, ...problem }) =>
        told.push({ file: `model "${model}"`, line: null, key, ...problem }),
      );
      if (told.length === 0) return;
      const lines = withoutSecrets(told, equipping.redact).map(problemLine);
      throw new CloisterError('fork_invalid', `\n${lines.join('\n')}\n`);
    },
  };
};

const modulesOf = async (
  paths: readonly string[],
  place: LaunchEnvironment,
  tell: (file: string, error: CloisterError) => void,
): Promise<ReadonlyMap<string, readonly Agent[]>> => {
  const agents = new Map<string, readonly Agent[]>();
  for (const path of paths) {
    const shown = shownPath(path, place);
    try {
      agents.set(path, await loadModule(path, shown));
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      tell(shown, error);
    }
  }
  return agents;
};
