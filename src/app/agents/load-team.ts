// Teams from files: read, their members found like any agent, and built when those are.
import { basename } from 'node:path';
import { readFileSync, statSync } from 'node:fs';
import { CloisterError } from '#base';
import type { Agent, Frontmatter, Problem, TeamOptions } from '#contracts';
import { agentFrom, teamFrom } from '#core/orchestration';
import { memberName, mergeDefaults, parseTeamFile } from '#core/registry';
import type { ParsedTeam, TeamFile } from '#core/registry';
import { taskProblems } from './load-tasks.ts';
import { locate, unknownAgentProblem } from './read-agent-files.ts';
import type { AgentIndex, ReadPorts } from './read-agent-files.ts';
import { shownPath } from './launch-environment.ts';

/** A team's file with the paths of the agents that it names. */
export type LinkedTeam = {
  readonly path: string;
  readonly file: TeamFile;
  readonly members: readonly string[];
  /** Null: it has none, or one that is made of what the file says. */
  readonly coordinator: string | null;
};

export type TeamFiles = { readonly teams: readonly LinkedTeam[]; readonly problems: readonly Problem[] };

const bytesMax = 1_000_000;

/** `given`: the agent files that may be meant by their names. Stops after each file by itself when `follow` is false. */
export const readTeamFiles = (
  paths: readonly string[],
  { given, follow }: { readonly given: readonly string[]; readonly follow: boolean },
  ports: ReadPorts,
): TeamFiles => {
  const problems: Problem[] = [];
  const names = new Map(given.map((path) => [basename(path, '.ai'), path]));
  const known: AgentIndex = { names, folders: new Map(), problems, ports };
  const teams = paths.flatMap((path): readonly LinkedTeam[] => {
    const { file, problems: wrong } = readOne(path, ports);
    problems.push(...wrong);
    if (file === null) return [];
    const members = file.agents.map((agent) => memberName(agent ?? ''));
    const places = { file: file.path, line: (place: number) => file.line(['tasks', place]) };
    if (members.length > 0) problems.push(...taskProblems(file.tasks, places, members));
    return [follow ? linked(path, file, known) : { path, file, members: [], coordinator: null }];
  });
  return { teams, problems };
};

const readOne = (path: string, ports: ReadPorts): ParsedTeam => {
  const shown = shownPath(path, ports.place);
  const broken = (message: string): ParsedTeam => ({
    file: null,
    problems: [{ file: shown, line: null, key: null, message, nearest: null }],
  });
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return broken('It is not a regular file; put one in its place.');
    if (stat.size > bytesMax)
      return broken(
        `It has ${stat.size} bytes; a team file may have ${bytesMax}. Move the tasks out of it, into JSON.`,
      );
    return parseTeamFile(shown, readFileSync(path, 'utf8'), ports);
  } catch (error) {
    return broken(`It cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}. Check its permissions.`);
  }
};

const linked = (path: string, file: TeamFile, known: AgentIndex): LinkedTeam => {
  const find = (name: string | undefined, key: string, index: number): readonly string[] => {
    if (name === undefined) return [];
    const found = locate(name, path, known);
    if (found !== null) return [found];
    const lines = { [`${key}.${index}`]: file.line(index < 0 ? [key] : [key, index]) };
    unknownAgentProblem(name, { path, file: { path: file.path, lines }, key, index }, known);
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
  /** The agents of files, by path. */
  readonly agents: ReadonlyMap<string, Agent>;
  defaultsOf(path: string): Partial<Frontmatter>;
  /** In the place of what the files say. */
  readonly parallel: number | undefined;
};

export type BuiltTeams = { readonly teams: readonly Agent[]; readonly problems: readonly Problem[] };

/** A team of which an agent could not be found or built is left out: what is wrong with that was told. */
export const buildTeams = (teams: readonly LinkedTeam[], ground: TeamBuildContext): BuiltTeams => {
  const problems: Problem[] = [];
  const built = teams.flatMap((team): readonly Agent[] => {
    try {
      return build(team, ground);
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      problems.push(problemOf(team.file, error.failure.detail ?? error.message));
      return [];
    }
  });
  return { teams: built, problems };
};

const build = ({ path, file, members, coordinator }: LinkedTeam, ground: TeamBuildContext): readonly Agent[] => {
  const found = members.flatMap((member) => ground.agents.get(member) ?? []);
  const leads = file.coordinator === undefined ? [] : leadOf(path, file, { coordinator, ground });
  if (file.isBroken || found.length < file.agents.length || (file.coordinator !== undefined && leads.length === 0))
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
    ...(ground.parallel === undefined ? {} : { parallel: ground.parallel }),
    agents: found,
    ...(leads[0] === undefined ? {} : { coordinator: leads[0] }),
  };
  return [teamFrom(options, path)];
};

type Leading = { readonly coordinator: string | null; readonly ground: TeamBuildContext };

/** The agent that is named, or one with these models and words, and what the config says for all agents. */
const leadOf = (path: string, file: TeamFile, { coordinator, ground }: Leading): readonly Agent[] => {
  const { agent, models, prompt = coordinatorPrompt } = file.coordinator!;
  if (agent !== undefined) return coordinator === null ? [] : [ground.agents.get(coordinator) ?? []].flat();
  const own: Frontmatter = {
    description: 'Plans what a team does, and answers from its results.',
    usage: 'a goal',
    output: { format: 'text' },
    ...(models === undefined ? {} : { models }),
  };
  const { gather: _gather, agents: _agents, spawns: _spawns, ...rest } = mergeDefaults(own, ground.defaultsOf(path));
  return [agentFrom({ ...rest, name: 'coordinator', prompt }, path)];
};

const coordinatorPrompt =
  'You coordinate a team. When you are asked for a plan, make it as small as the goal allows, and give each task to the member whose description fits it best. When you are asked for the answer, give it from the results alone.';

/** `Team "x", plan.depth: expected …`: the key that it is about is in the words. */
const problemOf = (file: TeamFile, words: string): Problem => {
  const [, key = null, message = words] = /^Team ".{0,80}?", ([\w.-]{1,120}): (.*)$/su.exec(words) ?? [];
  return {
    file: file.path,
    line: key === null ? null : file.line(key.split('.')),
    key,
    message: message.charAt(0).toUpperCase() + message.slice(1),
    nearest: null,
  };
};

/** Where a problem of a team's own coordinator is told. */
export const teamPlace = (
  teams: readonly LinkedTeam[],
  path: string | null,
): Pick<Problem, 'file' | 'line'> | undefined => {
  const team = teams.find((one) => one.path === path);
  return team === undefined ? undefined : { file: team.file.path, line: team.file.line(['coordinator']) };
};

/** The texts of a team's own, for which nobody else looks. */
export const textsOf = ({ description = '', coordinator, tasks = null }: TeamFile): string =>
  JSON.stringify([description, coordinator?.prompt ?? '', tasks]);

/** Files of agents that teams name. */
export const memberFiles = (teams: readonly LinkedTeam[]): readonly string[] =>
  teams.flatMap(({ members, coordinator }) => (coordinator === null ? members : [...members, coordinator]));
