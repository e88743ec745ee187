// Parses one team file on its own: all its problems in one go, or its content. No other file is read.
import { isName, nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import type { ParseYaml, Problem, TeamOptions } from '#contracts';
import type { FieldPath } from './field-values.ts';
import { emptyValues, readBlock } from './parse-fields.ts';
import { tasksField, teamFields, teamTable } from './team-fields.ts';

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
  readonly line: (path: FieldPath) => number;
};

/** A reference to an agent, or the fields to create one. */
export type FileCoordinator = {
  readonly agent?: string;
  readonly models?: readonly string[];
  readonly prompt?: string;
};

/** `file` is null if the text is not YAML. */
export type ParsedTeam = { readonly file: TeamFile | null; readonly problems: readonly Problem[] };

const problemsMax = 100;

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
  const { value } = document;
  const line = (at: FieldPath): number => document.line(at);
  const problems: Problem[] = [];
  let found = 0;
  const report = (at: FieldPath, message: string, suggest?: () => string | null): void => {
    found += 1;
    if (found <= problemsMax)
      problems.push({ file: path, line: line(at), key: at.join('.'), message, nearest: suggest?.() ?? null });
  };
  const values = readKeys(value, report, line);
  checkConsistency(value, values, report);
  const name = (values['name'] as string | undefined) ?? teamNameFromPath(path);
  if (!Object.hasOwn(value, 'name') && !isName(name)) report(['name'], nameProblem);

  problems.sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
  if (found > problemsMax)
    problems.push({
      file: path,
      line: null,
      key: null,
      message: `There are ${found - problemsMax} more problems.`,
      nearest: null,
    });
  const tasks = value['tasks'] === undefined || value['tasks'] === null ? {} : { tasks: value['tasks'] };
  return {
    file: { agents: [], ...values, ...tasks, path, name, line, isBroken: found > 0 },
    problems,
  };
};

type Report = (path: FieldPath, message: string, suggest?: () => string | null) => void;

const knownKeys: ReadonlySet<string> = new Set([...teamFields, tasksField].map(({ key }) => key));

/** Keys of agents that a team does not have. */
const agentOnlyKeys: ReadonlySet<string> = new Set([
  'prompt',
  'system',
  'instructions',
  'models',
  'tools',
  'limits',
  'settings',
  'usage',
  'output',
  'input',
]);

const readKeys = (
  value: JsonObject,
  report: Report,
  line: (path: FieldPath) => number,
): Readonly<Record<string, unknown>> => {
  const { tasks: _tasks, ...rest } = value;
  const { agents } = value;
  if (Array.isArray(agents) && agents.length === 0) {
    report(['agents'], 'A team needs at least one agent.');
    delete (rest as Record<string, Json>)['agents'];
  }
  for (const key of Object.keys(rest))
    if (agentOnlyKeys.has(key)) {
      report([key], `Unknown key \`${key}\`: it belongs in its agents' files.`);
      delete (rest as Record<string, Json>)[key];
    }
  const target = emptyValues();
  readBlock(teamTable(rest), rest, [], target, {
    report,
    topKeys: knownKeys,
    recordKey: () => undefined,
    lineOf: line,
  });
  return target.values;
};

/** Checks keys against each other, and names against the members. */
const checkConsistency = (value: JsonObject, values: Readonly<Record<string, unknown>>, report: Report): void => {
  if (!Object.hasOwn(value, 'agents'))
    report(
      ['agents'],
      'The key `agents` is missing: list the members, as paths of `.ai` files relative to this one, or names.',
    );
  if (Object.hasOwn(value, 'backOff') && Object.hasOwn(value, 'backOffMs'))
    report(['backOffMs'], '`backOffMs` is an alias of `backOff`: keep one.');
  const agents = values['agents'] as readonly (string | undefined)[] | undefined;
  // With an unreadable member, it is unknown which names are missing.
  if (agents === undefined || agents.includes(undefined)) return;
  const names = agents.map((agent) => memberName(agent!));
  const checkMember = (name: string, at: FieldPath): void => {
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
