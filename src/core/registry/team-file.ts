// One team file by itself: all that is wrong with it at once, or what it says. Nothing is looked up.
import { isName, nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import type { ParseYaml, Problem, TeamOptions } from '#contracts';
import type { FieldPath } from './field-values.ts';
import { emptyTarget, readBlock } from './parse-fields.ts';
import { tasksField, teamFields, teamTable } from './team-fields.ts';

/** `TeamOptions` with agents as they are named: a path from the file, or a name to look up. */
export type TeamFile = Omit<TeamOptions, 'agents' | 'coordinator'> & {
  readonly path: string;
  /** Something is wrong with it: it is as much of it as could be read. What it names can be looked up all the same. */
  readonly isBroken: boolean;
  /** What could not be read of the list leaves a gap in it. */
  readonly agents: readonly (string | undefined)[];
  readonly coordinator?: FileCoordinator;
  /** As they are written, not looked at. */
  readonly tasks?: Json;
  /** The line of a key or an item, from 1, or of the nearest one above it. */
  readonly line: (path: FieldPath) => number;
};

/** An agent, or what one is made of. */
export type FileCoordinator = {
  readonly agent?: string;
  readonly models?: readonly string[];
  readonly prompt?: string;
};

/** Null: it is not even YAML. */
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
  const report = (at: FieldPath, message: string, meant?: () => string | null): void => {
    found += 1;
    if (found <= problemsMax)
      problems.push({ file: path, line: line(at), key: at.join('.'), message, nearest: meant?.() ?? null });
  };
  const values = readKeys(value, report, line);
  checkTogether(value, values, report);
  const name = (values['name'] as string | undefined) ?? nameOf(path);
  if (!Object.hasOwn(value, 'name') && !isName(name)) report(['name'], nameMissing);

  problems.sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
  if (found > problemsMax)
    problems.push({
      file: path,
      line: null,
      key: null,
      message: `There are ${found - problemsMax} further problems.`,
      nearest: null,
    });
  const tasks = value['tasks'] === undefined || value['tasks'] === null ? {} : { tasks: value['tasks'] };
  return {
    file: { agents: [], ...values, ...tasks, path, name, line, isBroken: found > 0 },
    problems,
  };
};

type Report = (path: FieldPath, message: string, meant?: () => string | null) => void;

const knownKeys: ReadonlySet<string> = new Set([...teamFields, tasksField].map(({ key }) => key));

/** Keys of agents, which a team does not have. */
const ofMembers: ReadonlySet<string> = new Set([
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
    report(['agents'], 'A team needs somebody: expected at least one agent.');
    delete (rest as Record<string, Json>)['agents'];
  }
  for (const key of Object.keys(rest))
    if (ofMembers.has(key)) {
      report([key], `There is no key \`${key}\` here: it belongs into the files of its agents.`);
      delete (rest as Record<string, Json>)[key];
    }
  const target = emptyTarget();
  readBlock(teamTable(rest), rest, [], target, { report, topKeys: knownKeys, note: () => undefined, lineOf: line });
  return target.values;
};

/** What two keys say of one thing, and members that are not there, as far as names tell. */
const checkTogether = (value: JsonObject, values: Readonly<Record<string, unknown>>, report: Report): void => {
  if (!Object.hasOwn(value, 'agents'))
    report(['agents'], 'The key `agents` is missing: the members, as paths of `.ai` files from this one, or names.');
  if (Object.hasOwn(value, 'backOff') && Object.hasOwn(value, 'backOffMs'))
    report(['backOffMs'], 'It says the same as `backOff`: keep one.');
  const agents = values['agents'] as readonly (string | undefined)[] | undefined;
  // What could not be read leaves a gap: then nobody can say who is not there.
  if (agents === undefined || agents.includes(undefined)) return;
  const names = agents.map((agent) => memberName(agent!));
  const isMember = (name: string, at: FieldPath): void => {
    if (!names.includes(name))
      report(at, `${JSON.stringify(name)} is none of those in \`agents\`.`, () => nearestName(name, names));
  };
  const { capacity, messages } = values as Pick<TeamOptions, 'capacity' | 'messages'>;
  for (const name of Object.keys(capacity ?? {})) isMember(name, ['capacity', name]);
  if (typeof messages !== 'object') return;
  for (const [name, others] of Object.entries(messages)) {
    isMember(name, ['messages', name]);
    for (const [index, other] of (others ?? []).entries())
      if (other !== undefined) isMember(other, ['messages', name, index]);
  }
};

/** The name of the agent that a path or a name stands for. */
export const memberName = (reference: string): string =>
  (reference.split(/[/\\]/u).at(-1) ?? reference).replace(/\.ai$/u, '');

const nameOf = (path: string): string =>
  (path.split(/[/\\]/u).at(-1) ?? path).replace(/\.ya?ml$/u, '').replace(/\.team$/u, '');

const nameMissing =
  'The file’s name cannot be the team’s: give it a `name` of letters, digits, dot, dash and underscore, at most 64 characters.';
