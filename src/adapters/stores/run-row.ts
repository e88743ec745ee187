// Decodes a row of the list of runs. The row is derived from the log, so what cannot be read in it counts as unknown: `audit` names it,
// and `rebuild` writes it again.
import { isObject } from '#base';
import type { RunId } from '#base';
import type { Spent, Status } from '#contracts';
import { decodeOwner, textOr, wholeOr } from './decode-owner.ts';
import type { StoredRow } from './decode-owner.ts';
import type { RunRow } from './log-rows.ts';

export const decodeRunRow = (row: StoredRow): RunRow => ({
  run: String(row['run']) as RunId,
  agent: textOr(row['agent'], ''),
  goal: textOr(row['goal'], ''),
  startedAt: wholeOr(row['started_at'], 0),
  endedAt: wholeOr(row['ended_at'], null),
  status: isStatus(row['status']) ? row['status'] : null,
  cells: wholeOr(row['cells'], 0),
  caller: textOr(row['caller'], null),
  spent: decodeSpent(row['spent']),
  recordedBy: decodeRecordedBy(row),
  owner: decodeOwner(row),
});

const statuses = {
  completed: true,
  partial: true,
  failed: true,
  cancelled: true,
  limit: true,
  budget: true,
  timeout: true,
} as const satisfies Record<Status, true>;

const isStatus = (value: unknown): value is Status => typeof value === 'string' && Object.hasOwn(statuses, value);

const spentKeys = [
  'inputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'outputTokens',
  'ms',
  'steps',
  'spawns',
  'uncertain',
] as const satisfies readonly (keyof Spent)[];

const decodeSpent = (text: unknown): Spent | null => {
  try {
    const value: unknown = JSON.parse(textOr(text, 'null'));
    if (!isObject(value) || !spentKeys.every((key) => typeof value[key] === 'number')) return null;
    return value['usd'] === null || typeof value['usd'] === 'number' ? (value as unknown as Spent) : null;
  } catch {
    return null;
  }
};

const decodeRecordedBy = ({ format, build }: StoredRow): RunRow['recordedBy'] =>
  typeof format === 'number' && typeof build === 'string' ? { format, build } : null;
