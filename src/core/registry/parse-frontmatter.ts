// Checks parsed frontmatter against the field table and brings flat keys and blocks into one form. Also used for config defaults.
import type { JsonObject } from '#base';
import type { Frontmatter, Limits, Problem } from '#contracts';
import { checkMailKeys } from './check-mail-keys.ts';
import type { BlockKind } from './field-kinds.ts';
import { frontmatterFields, requiredKeys } from './fields.ts';
import type { FieldPath, ValueReader } from './field-values.ts';
import { emptyValues, missingKeys, readBlock } from './parse-fields.ts';
import type { ParsedValues } from './parse-fields.ts';

/** Where a frontmatter is written, for reporting problems. */
export type FileLocation = {
  readonly file: string;
  /** The line of a key, from 1; JSON has no lines. */
  line?(path: FieldPath): number;
  /** The line to report for a missing key. */
  readonly startLine?: number;
  /** The path of keys that contains it, such as `['defaults']`. */
  readonly under?: readonly string[];
};

export type ParsePorts = Pick<ValueReader, 'checkSchema'>;

export type ParsedFrontmatter = {
  /** Null if there are problems. */
  readonly frontmatter: Frontmatter | null;
  /** The part that could be read. */
  readonly read: Partial<Frontmatter>;
  readonly problems: readonly Problem[];
  /** Every key, with its path as written and the path under which it is stored. */
  readonly keys: readonly { readonly path: FieldPath; readonly into: FieldPath }[];
};

export const parseFrontmatter = (value: JsonObject, where: FileLocation, ports: ParsePorts = {}): ParsedFrontmatter => {
  const read = readTable(value, where, ports);
  for (const key of missingKeys({ required: requiredKeys }, value)) read.missing(key);
  const { gather, agents } = read.target.values as Partial<Frontmatter>;
  if (gather !== undefined && (agents ?? []).length === 0)
    read.report(['gather'], '`gather` needs at least one sub-agent in `agents`.');
  checkMailKeys(value, read.target.values, read.report);
  return toResult(read);
};

/** The same keys as defaults for agents; none is required. */
export const parseDefaults = (
  value: JsonObject,
  where: FileLocation,
  ports: ParsePorts = {},
): { readonly frontmatter: Partial<Frontmatter> | null; readonly problems: readonly Problem[] } => {
  const { read: _read, ...parsed } = toResult(readTable(value, where, ports));
  return parsed;
};

/**
 * The values of a file, with config defaults for keys it does not set. A default that contradicts the file is dropped: an
 * `llmTimeout` above `timeout_ms`, or `gather` without sub-agents.
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
  const { timeout_ms: sessionMs, llmTimeout: requestMs, ...rest } = { ...config, ...own };
  const fits = sessionMs === undefined || requestMs === undefined || requestMs <= sessionMs;
  return {
    ...rest,
    ...(sessionMs === undefined || !(fits || own.timeout_ms !== undefined) ? {} : { timeout_ms: sessionMs }),
    ...(requestMs === undefined || !(fits || own.llmTimeout !== undefined) ? {} : { llmTimeout: requestMs }),
  };
};

const frontmatterBlock: BlockKind = { is: 'block', fields: frontmatterFields, required: requiredKeys };
const topKeys: ReadonlySet<string> = new Set(frontmatterFields.map(({ key }) => key));
const problemsMax = 100;

type ReadState = {
  readonly target: ParsedValues;
  readonly problems: Problem[];
  readonly keys: { readonly path: FieldPath; readonly into: FieldPath }[];
  readonly report: ValueReader['report'];
  missing(key: string): void;
  count(): number;
  readonly file: string;
};

const readTable = (value: JsonObject, where: FileLocation, ports: ParsePorts): ReadState => {
  const target = emptyValues();
  const problems: Problem[] = [];
  const keys: { path: FieldPath; into: FieldPath }[] = [];
  const dotted = (path: FieldPath): string => [...(where.under ?? []), ...path].join('.');
  let found = 0;
  const add = (line: number | null, key: string, message: string, suggest: string | null): void => {
    problems.push({ file: where.file, line, key, message, nearest: suggest });
  };
  const report: ValueReader['report'] = (path, message, suggest) => {
    found += 1;
    if (found <= problemsMax) add(where.line?.(path) ?? null, dotted(path), message, suggest?.() ?? null);
  };
  const missing = (key: string): void => {
    found += 1;
    const { description } = frontmatterFields.find((field) => field.key === key)!;
    const expected = description.charAt(0).toLowerCase() + description.slice(1);
    add(where.startLine ?? null, dotted([key]), `The key \`${key}\` is missing: ${expected}`, null);
  };
  readBlock(frontmatterBlock, value, [], target, {
    ...ports,
    report,
    topKeys,
    recordKey: (path, into) => void keys.push({ path, into }),
    lineOf: (path) => where.line?.(path) ?? null,
  });
  checkTimeouts(target, report);
  return { target, problems, keys, report, missing, count: () => found, file: where.file };
};

const checkTimeouts = ({ values, origins }: ParsedValues, report: ValueReader['report']): void => {
  const { timeout_ms: sessionMs, llmTimeout: requestMs } = (values['limits'] ?? {}) as Limits;
  if (sessionMs !== undefined && requestMs !== undefined && requestMs > sessionMs)
    report(
      origins.get('limits.llmTimeout')!,
      `\`llmTimeout\` is ${requestMs} ms: expected at most \`timeout_ms\` (${sessionMs}).`,
    );
};

const toResult = (reading: ReadState) => {
  const { target, problems, keys, file } = reading;
  const found = reading.count();
  const further = found - problems.length;
  const all = problems.sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
  if (further > 0)
    all.push({ file, line: null, key: null, message: `There are ${further} more problems.`, nearest: null });
  // A test checks that the field table and the type agree.
  return {
    frontmatter: found === 0 ? (target.values as Frontmatter) : null,
    read: target.values as Partial<Frontmatter>,
    problems: all,
    keys,
  };
};
