// Decodes who owns a run: a row of a table, or a line of a heads file.
import type { RunOwner } from './processes.ts';

/** As stored; nothing about it is trusted. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** Null if nobody is named. */
export const decodeOwner = ({ pid, host, started, since, instance }: StoredRow): RunOwner | null =>
  typeof pid !== 'number'
    ? null
    : {
        pid,
        host: textOr(host, ''),
        started: textOr(started, ''),
        since: wholeOr(since, 0),
        instance: textOr(instance, ''),
      };

export const textOr = <T>(value: unknown, other: T): string | T => (typeof value === 'string' ? value : other);

export const wholeOr = <T>(value: unknown, other: T): number | T =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : other;
