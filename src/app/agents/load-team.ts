// Loads teams from files: reads them, locates their members like any agent, and builds them after the members.
import { readFileSync, statSync } from 'node:fs';
import { agentNameFromPath, CloisterError } from '#base';
import type { Agent, Frontmatter, Problem, TeamOptions } from '#contracts';
import { buildAgent, buildTeam } from '#core/orchestration';
import { memberName, mergeDefaults, parseTeamFile } from '#core/registry';
import type { ParsedTeam, TeamFile } from '#core/registry';
import { taskProblems } from './load-tasks.ts';
import { locateAgent, addUnknownAgentProblem } from './read-agent-files.ts';
import type { AgentIndex, ReadPorts } from './read-agent-files.ts';
import { displayPath } from './launch-environment.ts';

/** A team file with the paths of the agents that it names. */
export type LinkedTeam = {
  readonly path: string;
  readonly file: TeamFile;
  readonly members: readonly string[];
  /** Null: no coordinator, or one that the team file itself defines. */
  readonly coordinator: string | null;
};

type TeamFiles = { readonly teams: readonly LinkedTeam[]; readonly problems: readonly Problem[] };

const bytesMax = 1_000_000;

/** `given`: agent files that can be referred to by name. With `follow` false, members are not located. */
export const readTeamFiles = (
  paths: readonly string[],
  { given, follow }: { readonly given: readonly string[]; readonly follow: boolean },
  ports: ReadPorts,
): TeamFiles => {
  const problems: Problem[] = [];
  const names = new Map(given.map((path) => [agentNameFromPath(path), path]));
  const agentIndex: AgentIndex = { names, folders: new Map(), problems, ports };
  const teams = paths.flatMap((path): readonly LinkedTeam[] => {
    const { file, problems: wrong } = readOne(path, ports);
    problems.push(...wrong);
    if (file === null) return [];
    const members = file.agents.map((agent) => memberName(agent ?? ''));
    const locations = { file: file.path, line: (index: number) => file.line(['tasks', index]) };
    if (members.length > 0) problems.push(...taskProblems(file.tasks, locations, members));
    return [follow ? linkTeam(path, file, agentIndex) : { path, file, members: [], coordinator: null }];
  });
  return { teams, problems };
};

const readOne = (path: string, ports: ReadPorts): ParsedTeam => {
  const display = displayPath(path, ports.launch);
  const broken = (message: string): ParsedTeam => ({
    file: null,
    problems: [{ file: display, line: null, key: null, message, nearest: null }],
  });
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return broken('Not a regular file.');
    if (stat.size > bytesMax)
      return broken(
        `The file has ${stat.size} bytes; the limit for team files is ${bytesMax}. Move the tasks to a JSON file.`,
      );
    return parseTeamFile(display, readFileSync(path, 'utf8'), ports);
  } catch (error) {
    return broken(
      `The file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}. Check its permissions.`,
    );
  }
};

const linkTeam = (path: string, file: TeamFile, agentIndex: AgentIndex): LinkedTeam => {
  const find = (name: string | undefined, key: string, index: number): readonly string[] => {
    if (name === undefined) return [];
    const found = locateAgent(name, path, agentIndex);
    if (found !== null) return [found];
    const lines = { [`${key}.${index}`]: file.line(index < 0 ? [key] : [key, index]) };
    addUnknownAgentProblem(name, { path, file: { path: file.path, lines }, key, index }, agentIndex);
    return [];
  };
  const { agent } = file.coordinator ?? {};
  return {
    path,
    file,
    members: file.agents.flatMap((name, index) => find(name, 'agents', index)),
    coordinator: agent === undefined ? null : (find(agent, 'coordinator', -1)[0] ?? null),
  };
};

type TeamBuildContext = {
  /** Agents by the path of their file. */
  readonly agents: ReadonlyMap<string, Agent>;
  defaultsOf(path: string): Partial<Frontmatter>;
  /** The operator's depth. */
  depthOf(path: string): number;
  /** Overrides `parallel` in the files. */
  readonly parallel: number | undefined;
};

type BuiltTeams = { readonly teams: readonly Agent[]; readonly problems: readonly Problem[] };

/** Leaves out teams with an agent that was not found or built: that problem is already reported. */
export const buildTeams = (teams: readonly LinkedTeam[], context: TeamBuildContext): BuiltTeams => {
  const problems: Problem[] = [];
  const built = teams.flatMap((team): readonly Agent[] => {
    try {
      return build(team, context);
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      problems.push(teamProblem(team.file, error.failure.detail ?? error.message));
      return [];
    }
  });
  return { teams: built, problems };
};

const build = ({ path, file, members, coordinator }: LinkedTeam, context: TeamBuildContext): readonly Agent[] => {
  const found = members.flatMap((member) => context.agents.get(member) ?? []);
  const coordinators = file.coordinator === undefined ? [] : buildCoordinator(path, file, { coordinator, context });
  if (
    file.isBroken ||
    found.length < file.agents.length ||
    (file.coordinator !== undefined && coordinators.length === 0)
  )
    return [];
  const {
    path: _path,
    isBroken: _isBroken,
    agents: _agents,
    coordinator: _coordinator,
    tasks: _tasks,
    line: _line,
    ...rest
  } = file;
  const options: TeamOptions = {
    ...rest,
    ...(context.parallel === undefined ? {} : { parallel: context.parallel }),
    agents: found,
    ...(coordinators[0] === undefined ? {} : { coordinator: coordinators[0] }),
  };
  return [buildTeam(options, path, { depth: context.depthOf(path) })];
};

type CoordinatorContext = { readonly coordinator: string | null; readonly context: TeamBuildContext };

/** The named agent; otherwise one made from these models and prompt, with the config defaults. */
const buildCoordinator = (
  path: string,
  file: TeamFile,
  { coordinator, context }: CoordinatorContext,
): readonly Agent[] => {
  const { agent, models, prompt = coordinatorPrompt } = file.coordinator!;
  if (agent !== undefined) return coordinator === null ? [] : [context.agents.get(coordinator) ?? []].flat();
  const own: Frontmatter = {
    description: 'Plans the work of a team and answers from its results.',
    usage: 'a goal',
    output: { format: 'text' },
    ...(models === undefined ? {} : { models }),
  };
  const defaults = context.defaultsOf(path);
  const { gather: _gather, agents: _agents, spawns: _spawns, skills: _skills, ...rest } = mergeDefaults(own, defaults);
  return [buildAgent({ ...rest, name: 'coordinator', prompt }, path)];
};

const coordinatorPrompt =
  'You coordinate a team. When asked for a plan, keep it as small as the goal allows, and assign each task to the member whose description fits it best. When asked for the answer, base it on the results alone.';

/** The message names the key that it is about: `Team "x", plan.depth: expected …`. */
const teamProblem = (file: TeamFile, detail: string): Problem => {
  const [, key = null, message = detail] = /^Team ".{0,80}?", ([\w.-]{1,120}): (.*)$/su.exec(detail) ?? [];
  return {
    file: file.path,
    line: key === null ? null : file.line(key.split('.')),
    key,
    message: message.charAt(0).toUpperCase() + message.slice(1),
    nearest: null,
  };
};

/** Where to report a problem of a coordinator that the team file defines. */
export const teamLocation = (
  teams: readonly LinkedTeam[],
  path: string | null,
): Pick<Problem, 'file' | 'line'> | undefined => {
  const team = teams.find((one) => one.path === path);
  return team === undefined ? undefined : { file: team.file.path, line: team.file.line(['coordinator']) };
};

/** The texts in the team file itself; its agents' texts are checked separately. */
export const teamTexts = ({ description = '', coordinator, tasks = null }: TeamFile): string =>
  JSON.stringify([description, coordinator?.prompt ?? '', tasks]);

/** The agent files that teams name. */
export const memberFiles = (teams: readonly LinkedTeam[]): readonly string[] =>
  teams.flatMap(({ members, coordinator }) => (coordinator === null ? members : [...members, coordinator]));
