// Parses one team file on its own: all its problems in one go, or its content. No other file is read.
import { isName, nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import type { ParseYaml, Problem, TeamOptions } from '#contracts';
import type { ShapePath } from '#base/shapes';
import { readKeys } from './read-yaml-file.ts';
import type { ReportKeyProblem } from './read-yaml-file.ts';
import { teamShape } from './team-shape.ts';

/** `TeamOptions` with references to agents: paths relative to the file, or names to look up. */
export type TeamFile = Omit<TeamOptions, 'agents' | 'coordinator'> & {
  readonly path: string;
  /** The file has problems and contains only what could be read. Its agents can still be looked up. */
  readonly isBroken: boolean;
  /** An unreadable item leaves a gap in the list. */
  readonly agents: readonly (string | undefined)[];
  readonly coordinator?: FileCoordinator;
  /** As written, not checked. */
  readonly tasks?: Json;
  /** The line of a key or an item, from 1, or of the nearest key above it. */
  readonly line: (path: ShapePath) => number;
};

/** A reference to an agent, or the fields to create one. */
type FileCoordinator = {
  readonly agent?: string;
  readonly models?: readonly string[];
  readonly prompt?: string;
};

/** `file` is null if the text is not YAML. */
export type ParsedTeam = { readonly file: TeamFile | null; readonly problems: readonly Problem[] };

export const parseTeamFile = (
  path: string,
  text: string,
  { parseYaml }: { readonly parseYaml: ParseYaml },
): ParsedTeam => {
  const document = parseYaml(text.replace(/^\uFEFF/u, ''));
  if ('problem' in document) {
    const { line, message } = document.problem;
    return { file: null, problems: [{ file: path, line, key: null, message, nearest: null }] };
  }
  const line = (at: ShapePath): number => document.line(at);
  // Nothing is written for `tasks:`.
  const { tasks, ...rest } = document.value;
  const value: JsonObject = tasks === null ? rest : document.value;
  const read = readKeys(teamShape, value, { file: path, line }, { hints: agentOnlyHints });
  const { values } = read;
  checkConsistency(values, read.report);
  const name = (values['name'] as string | undefined) ?? teamNameFromPath(path);
  if (!Object.hasOwn(value, 'name') && !isName(name)) read.report(['name'], nameProblem);
  return { file: { agents: [], ...values, path, name, line, isBroken: read.count() > 0 }, problems: read.problems() };
};

/** Keys of agents that a team does not have. */
const agentOnlyHints: ReadonlyMap<string, string> = new Map(
  ['prompt', 'system', 'instructions', 'models', 'tools', 'limits', 'settings', 'usage', 'output', 'input'].map(
    (key) => [key, "It belongs in its agents' files."],
  ),
);

/** Checks names against the members. */
const checkConsistency = (values: Readonly<Record<string, unknown>>, report: ReportKeyProblem): void => {
  const agents = values['agents'] as readonly (string | undefined)[] | undefined;
  // With an unreadable member, it is unknown which names are missing.
  if (agents === undefined || agents.includes(undefined)) return;
  const names = agents.map((agent) => memberName(agent!));
  const checkMember = (name: string, at: ShapePath): void => {
    if (!names.includes(name))
      report(at, `${JSON.stringify(name)} is not in \`agents\`.`, () => nearestName(name, names));
  };
  const { capacity, messages } = values as Pick<TeamOptions, 'capacity' | 'messages'>;
  for (const name of Object.keys(capacity ?? {})) checkMember(name, ['capacity', name]);
  if (typeof messages !== 'object') return;
  for (const [name, others] of Object.entries(messages)) {
    checkMember(name, ['messages', name]);
    for (const [index, other] of (others ?? []).entries())
      if (other !== undefined) checkMember(other, ['messages', name, index]);
  }
};

/** The agent name in a path or a name. */
export const memberName = (reference: string): string =>
  (reference.split(/[/\\]/u).at(-1) ?? reference).replace(/\.ai$/u, '');

const teamNameFromPath = (path: string): string =>
  (path.split(/[/\\]/u).at(-1) ?? path).replace(/\.ya?ml$/u, '').replace(/\.team$/u, '');

const nameProblem =
  'The file name is not a valid team name: add a `name` of letters, digits, dot, dash and underscore, at most 64 characters.';
