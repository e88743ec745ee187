// Checks parsed frontmatter against its shape and brings flat keys and blocks into one form. Also used for config defaults.
import type { JsonObject } from '#base';
import type { ObjectForm, Shape, ShapePath } from '#base/shapes';
import type { Frontmatter, Limits, Problem } from '#contracts';
import { checkMailKeys } from './mail-keys.ts';
import { frontmatterShape, keyHints, tuningKeys } from './frontmatter-shape.ts';
import { readKeys } from './read-yaml-file.ts';
import type { FileLocation, ParsePorts, ReadKeys } from './read-yaml-file.ts';

export type ParsedFrontmatter = {
  /** Null if there are problems. */
  readonly frontmatter: Frontmatter | null;
  /** The part that could be read. */
  readonly read: Partial<Frontmatter>;
  readonly problems: readonly Problem[];
  /** Every key, with its path as written and the path under which it is stored. */
  readonly keys: readonly { readonly path: ShapePath; readonly into: ShapePath }[];
  /** Keys that have no effect. */
  readonly ignored: readonly Problem[];
};

export const parseFrontmatter = (given: JsonObject, where: FileLocation, ports: ParsePorts = {}): ParsedFrontmatter => {
  const value = Object.fromEntries(Object.entries(given).filter(([key]) => !tuningKeys.has(key)));
  const read = readTable(frontmatterShape, value, where, ports);
  const { gather, agents } = read.values as Partial<Frontmatter>;
  if (gather !== undefined && (agents ?? []).length === 0)
    read.report(['gather'], '`gather` needs at least one sub-agent in `agents`.');
  checkMailKeys(value, read.values, read.report);
  return { ...toResult(read), ignored: ignoredKeys(given, where) };
};

const ignoredKeys = (given: JsonObject, where: FileLocation): readonly Problem[] =>
  Object.keys(given).flatMap((key) => {
    const why = tuningKeys.get(key);
    if (why === undefined) return [];
    const message = `This key has no effect. ${why}`;
    return [{ file: where.file, line: where.line?.([key]) ?? null, key, message, nearest: null }];
  });

/** No key is required in defaults for agents. */
const defaultsShape: Shape & ObjectForm = { ...frontmatterShape, required: [] };

/** The same keys as defaults for agents. */
export const parseDefaults = (
  value: JsonObject,
  where: FileLocation,
  ports: ParsePorts = {},
): { readonly frontmatter: Partial<Frontmatter> | null; readonly problems: readonly Problem[] } => {
  const { read: _read, ...parsed } = toResult(readTable(defaultsShape, value, where, ports));
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

const readTable = (shape: Shape & ObjectForm, value: JsonObject, where: FileLocation, ports: ParsePorts): ReadKeys => {
  const read = readKeys(shape, value, where, { ...ports, hints: keyHints });
  const { timeout_ms: sessionMs, llmTimeout: requestMs } = (read.values['limits'] ?? {}) as Limits;
  if (sessionMs !== undefined && requestMs !== undefined && requestMs > sessionMs)
    read.report(
      read.keys.find(({ into }) => into.join('.') === 'limits.llmTimeout')!.path,
      `\`llmTimeout\` is ${requestMs} ms: expected at most \`timeout_ms\` (${sessionMs}).`,
    );
  return read;
};

// A test checks that the shape and the type agree.
const toResult = (read: ReadKeys): Omit<ParsedFrontmatter, 'ignored'> => ({
  frontmatter: read.count() === 0 ? (read.values as Frontmatter) : null,
  read: read.values,
  problems: read.problems(),
  keys: read.keys,
});
