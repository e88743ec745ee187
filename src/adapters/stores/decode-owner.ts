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
        host: textOrNone(host),
        started: textOrNone(started),
        since: typeof since === 'number' && Number.isSafeInteger(since) ? since : 0,
        instance: textOrNone(instance),
      };

const textOrNone = (value: unknown): string => (typeof value === 'string' ? value : '');
