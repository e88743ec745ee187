// The frontmatter as data, checked against the table: flat keys and blocks alike, in one form. Config defaults too.
import type { JsonObject } from '#base';
import type { Frontmatter, Limits, Problem } from '#contracts';
import { checkMailKeys } from './check-mail-keys.ts';
import type { BlockKind } from './field-kinds.ts';
import { fields, requiredKeys } from './fields.ts';
import type { FieldPath, ValueReader } from './field-values.ts';
import { emptyTarget, missingKeys, readBlock } from './parse-fields.ts';
import type { Target } from './parse-fields.ts';

/** Where a frontmatter stands, for the problems found in it. */
export type FileLocation = {
  readonly file: string;
  /** The line of a key, from 1; none for JSON. */
  line?(path: FieldPath): number;
  /** The line to point at for a key that is missing. */
  readonly startLine?: number;
  /** The keys above it: `['defaults']`. */
  readonly under?: readonly string[];
};

export type ParsePorts = Pick<ValueReader, 'checkSchema'>;

export type ParsedFrontmatter = {
  /** Null when there are problems. */
  readonly frontmatter: Frontmatter | null;
  /** What could be read of it. */
  readonly read: Partial<Frontmatter>;
  readonly problems: readonly Problem[];
  /** Every key that was given: as written, and as it is kept when that is another place. */
  readonly keys: readonly { readonly path: FieldPath; readonly into: FieldPath }[];
};

export const parseFrontmatter = (value: JsonObject, where: FileLocation, ports: ParsePorts = {}): ParsedFrontmatter => {
  const read = readAll(value, where, ports);
  for (const key of missingKeys({ required: requiredKeys }, value)) read.missing(key);
  const { gather, agents } = read.target.values as Partial<Frontmatter>;
  if (gather !== undefined && (agents ?? []).length === 0)
    read.report(['gather'], '`gather` needs at least one sub-agent in `agents`.');
  checkMailKeys(value, read.target.values, read.report);
  return finish(read);
};

/** The same keys as defaults for agents that leave them out; none is required. */
export const parseDefaults = (
  value: JsonObject,
  where: FileLocation,
  ports: ParsePorts = {},
): { readonly frontmatter: Partial<Frontmatter> | null; readonly problems: readonly Problem[] } => {
  const { read: _read, ...parsed } = finish(readAll(value, where, ports));
  return parsed;
};

/**
 * What a file says, and what the config says for the keys that it leaves out. A default that contradicts the file is
 * left out: a `llmTimeout` above `timeout_ms`, or `gather` without sub-agents.
 */
export const mergeDefaults = (own: Frontmatter, config: Partial<Frontmatter>): Frontmatter => {
  const { gather, ...merged } = { ...config, ...own };
  const limits = mergeLimits(own.limits ?? {}, config.limits ?? {});
  const settings = { ...config.settings, ...own.settings };
  const budget = { ...config.budget, ...own.budget };
  return {
    ...merged,
    ...(gather === undefined || (merged.agents ?? []).length === 0 ? {} : { gather }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
  };
};

const mergeLimits = (own: Limits, config: Limits): Limits => {
  const { timeout_ms: whole, llmTimeout: one, ...rest } = { ...config, ...own };
  const fits = whole === undefined || one === undefined || one <= whole;
  return {
    ...rest,
    ...(whole === undefined || !(fits || own.timeout_ms !== undefined) ? {} : { timeout_ms: whole }),
    ...(one === undefined || !(fits || own.llmTimeout !== undefined) ? {} : { llmTimeout: one }),
  };
};

const table: BlockKind = { is: 'block', fields, required: requiredKeys };
const topKeys: ReadonlySet<string> = new Set(fields.map(({ key }) => key));
const problemsMax = 100;

type Reading = {
  readonly target: Target;
  readonly problems: Problem[];
  readonly keys: { readonly path: FieldPath; readonly into: FieldPath }[];
  readonly report: ValueReader['report'];
  missing(key: string): void;
  count(): number;
  readonly file: string;
};

const readAll = (value: JsonObject, where: FileLocation, ports: ParsePorts): Reading => {
  const target = emptyTarget();
  const problems: Problem[] = [];
  const keys: { path: FieldPath; into: FieldPath }[] = [];
  const dotted = (path: FieldPath): string => [...(where.under ?? []), ...path].join('.');
  let found = 0;
  const add = (line: number | null, key: string, message: string, meant: string | null): void => {
    problems.push({ file: where.file, line, key, message, nearest: meant });
  };
  const report: ValueReader['report'] = (path, message, meant) => {
    found += 1;
    if (found <= problemsMax) add(where.line?.(path) ?? null, dotted(path), message, meant?.() ?? null);
  };
  const missing = (key: string): void => {
    found += 1;
    const { description } = fields.find((field) => field.key === key)!;
    const expected = description.charAt(0).toLowerCase() + description.slice(1);
    add(where.startLine ?? null, dotted([key]), `The key \`${key}\` is missing: ${expected}`, null);
  };
  readBlock(table, value, [], target, {
    ...ports,
    report,
    topKeys,
    note: (path, into) => void keys.push({ path, into }),
    lineOf: (path) => where.line?.(path) ?? null,
  });
  checkTimeouts(target, report);
  return { target, problems, keys, report, missing, count: () => found, file: where.file };
};

const checkTimeouts = ({ values, origins }: Target, report: ValueReader['report']): void => {
  const { timeout_ms: whole, llmTimeout: one } = (values['limits'] ?? {}) as Limits;
  if (whole !== undefined && one !== undefined && one > whole)
    report(
      origins.get('limits.llmTimeout')!,
      `One request may take ${one} ms: expected at most timeout_ms (${whole}).`,
    );
};

const finish = (reading: Reading) => {
  const { target, problems, keys, file } = reading;
  const found = reading.count();
  const further = found - problems.length;
  const all = problems.sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
  if (further > 0)
    all.push({ file, line: null, key: null, message: `There are ${further} further problems.`, nearest: null });
  // The table and the type say the same: a test holds them together.
  return {
    frontmatter: found === 0 ? (target.values as Frontmatter) : null,
    read: target.values as Partial<Frontmatter>,
    problems: all,
    keys,
  };
};
