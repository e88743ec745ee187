// Checks a token file: who may use a server, and what for. A problem never shows a value.
import { isObject, nearestName } from '#base';
import type { Json } from '#base';
import type { Problem } from '#contracts';
import { z } from 'zod';
import { matchSchema } from './match-schema.ts';
import type { ReportMismatch } from './match-schema.ts';
import { parseJson } from './parse-json.ts';

const amount = z.number().nonnegative();
const wholeAmount = z.int().nonnegative();

const entrySchema = z.strictObject({
  name: z.string().min(1),
  sha256: z.string().regex(/^[\da-f]{64}$/u, 'Expected 64 hex digits, as printed by `cloister token`.'),
  agents: z.array(z.string()).optional(),
  budget: z
    .strictObject({
      tokens: wholeAmount.optional(),
      usd: amount.optional(),
      ms: wholeAmount.optional(),
      spawns: wholeAmount.optional(),
      memory: wholeAmount.optional(),
    })
    .optional(),
  allowance: z
    .strictObject({ tokens: wholeAmount.optional(), usd: amount.optional(), per: z.enum(['hour', 'day', 'month']) })
    .optional(),
  requestsPerMinute: z.int().positive().optional(),
  running: z.int().positive().optional(),
  operator: z.boolean().optional(),
  expires: z.iso.datetime({ offset: true, error: 'Expected a time such as 2027-01-31T00:00:00Z.' }).optional(),
});

export type TokenFileEntry = z.infer<typeof entrySchema>;

const keys = ['tokens', '$schema'];

export type CheckedTokens = {
  readonly entries: readonly TokenFileEntry[];
  readonly problems: readonly Problem[];
  /** Creates a further problem, for a caller that knows what is served. */
  problem(this: void, path: readonly PropertyKey[], message: string): Problem;
};

export const parseTokenFile = (file: string, text: string): CheckedTokens => {
  const problems: Problem[] = [];
  const document = parseJson(text);
  if ('problem' in document) {
    const { line, message } = document.problem;
    const broken = { file, line, key: null, message, nearest: null };
    return { entries: [], problems: [broken], problem: () => broken };
  }
  const problem = (path: readonly PropertyKey[], message: string, meant: string | null = null): Problem => ({
    file,
    line: document.line(path),
    key: formatPath(path),
    message,
    nearest: meant,
  });
  const report: ReportMismatch = (...args) => void problems.push(problem(...args));
  const { value } = document;
  if (!isObject(value) || !Array.isArray(value['tokens'])) {
    report([], 'Expected { "tokens": [ … ] }.');
    return { entries: [], problems, problem };
  }
  for (const key of Object.keys(value))
    if (!keys.includes(key)) report([key], 'Unknown key; expected tokens.', nearestName(key, keys));
  const entries = (value['tokens'] as readonly Json[]).flatMap(
    (entry, place) => matchSchema(entrySchema, entry, ['tokens', String(place)], report) ?? [],
  );
  return { entries, problems, problem };
};

/** Formats a path as in code: `tokens[0].budget.usd`. */
const formatPath = (path: readonly PropertyKey[]): string | null =>
  path.length === 0
    ? null
    : path
        .map((part) => (/^\d+$/u.test(String(part)) ? `[${String(part)}]` : `.${String(part)}`))
        .join('')
        .slice(1);
