// The registry: finds agents, reads them, looks up what they name, and tells everything that is wrong at once.
import { resolve } from 'node:path';
import type { Agent, Model, Problem, Redact } from '#contracts';
import { schemaProblem } from '#adapters/schemas';
import { parseYaml } from '#adapters/yaml';
import { CloisterError } from '#base';
import { assertAgent } from '#core/orchestration';
import { buildAgents } from './build-agents.ts';
import type { Built } from './build-agents.ts';
import type { Equipped } from './equipped.ts';
import { Configs } from './configs.ts';
import { Equipping } from './equipping.ts';
import { findFiles } from './find-files.ts';
import { loadModule } from './load-module.ts';
import { needsOf, runtimeTools } from './needs.ts';
import { shownPath } from './place.ts';
import type { Place } from './place.ts';
import { readAgentFiles } from './read-agent-files.ts';
import type { AgentFiles, LinkedFile } from './read-agent-files.ts';
import { tryServers } from './try-servers.ts';

export type Registry = {
  /** Those that were asked for; the agents below them come with them. */
  readonly agents: readonly Agent[];
  readonly linked: ReadonlyMap<string, LinkedFile>;
  /** The files that were asked for. */
  readonly roots: readonly string[];
  readonly configs: Configs;
  readonly equipping: Equipping;
  readonly problems: readonly Problem[];
  /** Those of the problems that a module threw. */
  readonly moduleErrors: readonly CloisterError[];
};

export type RegistryOptions = {
  readonly place: Place;
  /** For agents that name no model. */
  readonly models?: readonly Model[];
  /** Stop after each file by itself: nothing is looked up. */
  readonly syntaxOnly?: boolean;
  /** Only look: no module of the operator's is run. */
  readonly looking?: boolean;
  /** Variables may be missing: nothing will be reached. */
  readonly offline?: boolean;
};

/** `given`: agents, or paths of agent files, modules and folders. */
export const loadRegistry = async (given: readonly (Agent | string)[], options: RegistryOptions): Promise<Registry> => {
  const { place, models = [], syntaxOnly = false, looking = false, offline = false } = options;
  const found = findFiles(
    given.filter((one) => typeof one === 'string'),
    place,
  );
  const paths = given.filter((one) => typeof one === 'string').map((path) => resolve(place.cwd, path));
  const configs = new Configs(place, paths);
  if (!syntaxOnly) await configs.read(found.files);
  const read = readAgentFiles(found.files, !syntaxOnly, {
    place,
    parseYaml,
    checkSchema: schemaProblem,
    foldersFor: (path) => configs.of(path).folders,
  });
  const problems: Problem[] = [...found.problems, ...read.problems];
  const equipping = new Equipping(configs, place, { fallback: models, looking, offline });
  const moduleErrors: CloisterError[] = [];
  const base = { moduleErrors, linked: read.linked, roots: found.files, configs, equipping, problems };
  if (syntaxOnly) return { ...base, agents: [] };

  await configs.read([...read.linked.keys(), ...read.broken.keys()]);
  const built = buildAgents(read.linked, (path) => {
    const { defaults, resolved } = configs.of(path);
    return { defaults, caps: resolved.spawns };
  });
  problems.push(...configs.problems, ...built.problems);
  const agents = [
    ...given.filter((one) => typeof one !== 'string').map((agent, index) => assertAgent(agent, `agents[${index}]`)),
    ...found.files.flatMap((path) => built.agents.get(path) ?? []),
    ...(await modulesOf(found.modules, place, (file, error) => {
      moduleErrors.push(error);
      problems.push({ file, line: null, key: null, message: error.failure.detail ?? error.message, nearest: null });
    })),
  ];
  // What the config does not hold because of a mistake in it is told once, as that mistake.
  if (configs.problems.length > 0) return { ...base, agents };
  await equipping.prepare([...agents, ...built.agents.values()], (agent, { key, ...told }) => {
    const file = agent.file === null ? undefined : read.linked.get(agent.file)?.file;
    problems.push({ file: file?.path ?? `agent "${agent.name}"`, line: file?.lines[key] ?? null, key, ...told });
  });
  problems.push(...unbuilt(read, built.agents, configs));
  const { redact } = equipping;
  for (const agent of redact === null ? [] : built.agents.values()) {
    const said = JSON.stringify([agent.prompt, agent.description, agent.usage]);
    if (redact!.text(said) !== said)
      problems.push({
        file: read.linked.get(agent.file!)!.file.path,
        line: null,
        key: null,
        message: 'It holds the value of a secret: take it out; secrets belong into .ai-agent.env.',
        nearest: null,
      });
  }
  return { ...base, agents, problems: withoutSecrets(problems, redact) };
};

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
): Promise<Equipped> => {
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
  place: Place,
  tell: (file: string, error: CloisterError) => void,
): Promise<readonly Agent[]> => {
  const agents: Agent[] = [];
  for (const path of paths) {
    const shown = shownPath(path, place);
    try {
      agents.push(...(await loadModule(path, shown)));
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      tell(shown, error);
    }
  }
  return agents;
};

/** All of them in one error, each on a line of its own. */
export const problemsError = (problems: readonly Problem[]): CloisterError => {
  const lines = problems.slice(0, shownMax).map(problemLine);
  if (problems.length > shownMax)
    lines.push(`… and ${problems.length - shownMax} more; \`cloister check\` lists them.`);
  // Nothing is wrong with the files when only keys are missing.
  const code = problems.every(({ message }) => message.startsWith('Missing:')) ? 'env_missing' : 'agent_file_invalid';
  return new CloisterError(code, `\n${lines.join('\n')}\n`);
};

const shownMax = 50;

const problemLine = ({ file, line, key, message, nearest }: Problem): string =>
  `  ${file}${line === null ? '' : `:${line}`}${key === null ? '' : ` ${key}:`} ${message}${nearest === null ? '' : ` Did you mean "${nearest}"?`}`;
