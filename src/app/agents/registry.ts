// The registry: finds and reads agents, looks up what they name, and reports all problems together.
import { basename, resolve } from 'node:path';
import type { Agent, Model, Problem, Warning } from '#contracts';
import { schemaProblem } from '#adapters/schemas';
import { parseYaml } from '#adapters/yaml';
import { CloisterError } from '#base';
import { agentMarker, assertAgent, linkSpawns } from '#core/orchestration';
import { frontmatterTemplate } from '#core/registry';
import { buildAgents } from './build-agents.ts';
import type { BuiltAgents } from './build-agents.ts';
import type { AgentResources } from './resources-from-code.ts';
import { unlistedMarkProblems } from './check-marks.ts';
import type { Configs } from './configs.ts';
import { ResourceResolver } from './resource-resolver.ts';
import { findFiles } from './find-files.ts';
import { loadModule } from './load-module.ts';
import { buildTeams, memberFiles, readTeamFiles, teamLocation, teamTexts } from './load-team.ts';
import type { LinkedTeam } from './load-team.ts';
import { findRequiredConfig, runtimeTools } from './required-config.ts';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { agentTexts, isMissingVariable, problemsError, redactProblems, secretProblems } from './problems.ts';
import { resolvedResources } from './resolved-resources.ts';
import type { LocateProblem } from './resolved-resources.ts';
import { SkillReader } from './load-skills.ts';
import { readAgentFiles } from './read-agent-files.ts';
import type { AgentFiles, LinkedFile } from './read-agent-files.ts';
import { probeServers } from './probe-servers.ts';

export type Registry = {
  /** The requested agents, which contain their children. */
  readonly agents: readonly Agent[];
  readonly linked: ReadonlyMap<string, LinkedFile>;
  /** The files of the requested agents. */
  readonly roots: readonly string[];
  readonly teams: readonly LinkedTeam[];
  readonly configs: Configs;
  readonly resolver: ResourceResolver;
  readonly problems: readonly Problem[];
  /** Adds the file and line. */
  readonly locate: LocateProblem;
  readonly warnings: readonly Warning[];
  /** The errors behind those problems that a module threw. */
  readonly moduleErrors: readonly CloisterError[];
  /** An agent with the marks for approval of the config that applies to it. */
  readonly withMarks: (agent: Agent) => Agent;
};

type RegistryOptions = {
  readonly configs: Configs;
  /** For agents that name no model. */
  readonly models?: readonly Model[];
  /** Reads each file by itself and looks nothing up. */
  readonly syntaxOnly?: boolean;
  /** Inspects only: runs no modules that the config names. */
  readonly inspectOnly?: boolean;
  /** Variables may be missing, because nothing will be connected to. */
  readonly offline?: boolean;
  /** How many tasks teams work on in parallel; overrides what team files say. */
  readonly parallel?: number | undefined;
  /** The address of the store: it may hold a password. */
  readonly store?: string | undefined;
};

/** `given`: agents, or paths to agent files, team files, modules and folders. */
export const loadRegistry = async (given: readonly (Agent | string)[], options: RegistryOptions): Promise<Registry> => {
  const { configs, models = [], syntaxOnly = false, inspectOnly = false, offline = false, store } = options;
  const { launch } = configs;
  const paths = given.filter((one) => typeof one === 'string');
  const found = findFiles(paths, launch);
  configs.trust(paths.map((path) => resolve(launch.cwd, path)));
  if (!syntaxOnly) await configs.read([...found.files, ...found.teams]);
  const ports = {
    launch,
    parseYaml,
    checkSchema: schemaProblem,
    foldersFor: (path: string) => configs.forFile(path).folders,
    ...(syntaxOnly ? {} : { modelAliasesFor: (path: string) => configs.forFile(path).resolved.modelAliases }),
  };
  const { teams, problems: ofTeams } = readTeamFiles(found.teams, { given: found.files, follow: !syntaxOnly }, ports);
  const read = readAgentFiles([...new Set([...memberFiles(teams), ...found.files])], !syntaxOnly, ports);
  const problems: Problem[] = [...found.problems, ...ofTeams, ...read.problems];
  const resolver = new ResourceResolver(configs, { fallback: models, inspectOnly, offline, store });
  const moduleErrors: CloisterError[] = [];
  const warnings: Warning[] = [];
  const locate = problemLocator(read.linked, teams);
  const { linked } = read;
  const withMarks = agentMarker(({ file }) => configs.forFile(file).resolved.approve);
  const base = {
    withMarks,
    moduleErrors,
    warnings,
    linked,
    roots: found.files,
    teams,
    configs,
    resolver,
    problems,
    locate,
  };
  if (syntaxOnly) return { ...base, agents: [] };

  await configs.read([...read.linked.keys(), ...read.broken.keys()]);
  const skillReader = new SkillReader((path) => displayPath(path, launch));
  const built = buildAgents(read.linked, (path) => configs.forFile(path), skillReader);
  warnings.push(...built.warnings);
  const { teams: builtTeams, problems: unbuiltTeams } = buildTeams(teams, {
    agents: built.agents,
    defaultsOf: (path) => configs.forFile(path).defaults,
    depthOf: (path) => configs.forFile(path).resolved.spawns.depth,
    parallel: options.parallel,
  });
  problems.push(...configs.problems, ...built.problems, ...unbuiltTeams);
  const exported = await loadModules(found.modules, launch, (file, error) => {
    moduleErrors.push(error);
    problems.push({ file, line: null, key: null, message: error.failure.detail ?? error.message, nearest: null });
  });
  const teamOf = (path: string): Agent | undefined => builtTeams.find(({ file }) => file === path);
  const agents = linkAgents(
    [
      ...given.filter((one) => typeof one !== 'string').map((agent, index) => assertAgent(agent, `agents[${index}]`)),
      ...found.all.flatMap((path) => teamOf(path) ?? built.agents.get(path) ?? exported.get(path) ?? []),
    ],
    problems,
  ).map(withMarks);
  // A mistake in the config is reported once, not again for every entry that is missing because of it.
  if (configs.problems.length > 0) return { ...base, agents };
  await resolver.prepare([...agents, ...built.agents.values()], (agent, problem) =>
    problems.push(locate(agent, problem)),
  );
  problems.push(...unbuiltProblems(read, built.agents, configs), ...unlistedMarkProblems(linked.values(), configs));
  const redact = resolver.redactFor(null);
  problems.push(...(redact === null ? [] : secretProblems(recordedTexts(built, base), redact)));
  return { ...base, agents, problems: redactProblems(problems, redact) };
};

const problemLocator =
  (linked: Registry['linked'], teams: readonly LinkedTeam[]): LocateProblem =>
  (agent, { key, ...problem }) => {
    const file = agent.file === null ? undefined : linked.get(agent.file)?.file;
    const at = { file: file?.path ?? `agent "${agent.name}"`, line: file?.lines[key] ?? null, key };
    return { ...at, ...teamLocation(teams, agent.file), ...problem };
  };

/** The texts that runs record, by file. */
const recordedTexts = (
  { agents }: BuiltAgents,
  { linked, teams }: Pick<Registry, 'linked' | 'teams'>,
): readonly (readonly [file: string, text: string])[] => [
  ...[...agents.values()].map((agent) => [linked.get(agent.file!)!.file.path, agentTexts(agent)] as const),
  ...teams.map(({ file }) => [file.path, teamTexts(file)] as const),
];

/** With the agents that those in code only name. */
const linkAgents = (agents: readonly Agent[], problems: Problem[]): readonly Agent[] =>
  linkSpawns(agents, {
    known: agents,
    report: ({ name }, message) =>
      void problems.push({ file: `agent "${name}"`, line: null, key: null, message, nearest: null }),
  });

/** Also looks up what invalid and unbuilt files name, so that all problems are reported together. */
const unbuiltProblems = (
  { linked, broken }: AgentFiles,
  built: BuiltAgents['agents'],
  configs: Configs,
): readonly Problem[] => {
  const files = [
    ...[...linked.values()].filter(({ path }) => !built.has(path)).map(({ path, file }) => [path, file] as const),
    ...broken,
  ];
  return files.flatMap(([path, { path: file, frontmatter, lines }]) => {
    const { models = [], tools = [] } = frontmatter;
    const servers = tools.filter((tool: string | undefined) => tool !== undefined && !runtimeTools.includes(tool));
    const { resolved, unusedMcpFile } = configs.forFile(path);
    const { problems } = findRequiredConfig({ models, servers }, resolved, unusedMcpFile);
    return problems.map(({ key, ...problem }) => ({ file, line: lines[key] ?? null, key, ...problem }));
  });
};

type OpenOptions = RegistryOptions & {
  /** Connects once to every server. */
  readonly preconnect: boolean;
  /** Runs can bring values for variables, so those that are missing are reported when a run starts. */
  readonly runsBringEnv: boolean;
};

/** Loads agents for running. Throws all problems in one error. */
export const openRegistry = async (
  given: readonly (Agent | string)[],
  { preconnect, runsBringEnv, ...options }: OpenOptions,
): Promise<AgentResources> => {
  const { agents, resolver, moduleErrors, locate, withMarks, ...registry } = await loadRegistry(given, options);
  const mayWait = runsBringEnv && !preconnect;
  const problems = mayWait ? registry.problems.filter((one) => !isMissingVariable(one)) : registry.problems;
  if (problems.length === 1 && moduleErrors.length === 1) throw moduleErrors[0]!;
  if (problems.length > 0) throw problemsError(problems);
  if (preconnect) {
    const { problems: unreached } = await probeServers(agents, resolver, options.configs);
    if (unreached.length > 0) throw problemsError(unreached);
  }
  const isComplete = registry.problems.length === 0;
  return {
    ...resolvedResources(agents, resolver, locate),
    withMarks,
    template: ({ file }) => templateOf(file === null ? undefined : registry.linked.get(file), options.configs),
    // Of ten thousand runs, most have no values of their own: nothing need be checked again for them.
    ...(isComplete ? { checkVariables: () => undefined } : {}),
  };
};

/** Those who read it may not know the folders of this machine, so it names files of the config without them. */
const templateOf = (linked: LinkedFile | undefined, configs: Configs): string | null => {
  if (linked === undefined) return null;
  const { defaults, resolved } = configs.forFile(linked.path);
  const configSources = Object.fromEntries(
    Object.entries(resolved.defaultSources).map(([key, source]) => [key, basename(source)]),
  );
  return frontmatterTemplate({ own: linked.file.frontmatter, config: defaults, configSources });
};

const loadModules = async (
  paths: readonly string[],
  launch: LaunchEnvironment,
  report: (file: string, error: CloisterError) => void,
): Promise<ReadonlyMap<string, readonly Agent[]>> => {
  const agents = new Map<string, readonly Agent[]>();
  for (const path of paths) {
    const display = displayPath(path, launch);
    try {
      agents.set(path, await loadModule(path, display));
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      report(display, error);
    }
  }
  return agents;
};
