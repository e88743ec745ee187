// Failures of work on whole runs: deleting, archiving, importing. They do not belong to the format of records: if the tool of an agent
// does such work and throws one of them, what is recorded is that the tool failed, with its words (`recordedFailure`).
import { errorEntry } from './error-entry.ts';
import type { ErrorEntry } from './error-entry.ts';

export const storageErrors = {
  engine_failed: errorEntry(
    'config',
    true,
    'The engine that calls workers cannot be used.',
    'Check the address in --engine and that it is reachable. No run is lost: `cloister engine reconcile` tells it again what is open.',
  ),
  run_left: errorEntry(
    'config',
    false,
    'This process let the run go before it ended.',
    'Nothing is lost: whoever drives it next continues it. Read it with `cloister show <run>`.',
  ),
  run_lost: errorEntry(
    'config',
    false,
    'Another process has taken this run over.',
    'It continues there. Read it with `cloister show <run>`.',
  ),
  store_unreachable: errorEntry(
    'config',
    true,
    'The database cannot be reached.',
    'Check that PostgreSQL is running, and the address, user, password and TLS settings.',
  ),
  store_schema: errorEntry(
    'config',
    false,
    'The database has no tables that this build can use.',
    'Do what the message says.',
  ),
  run_kept: errorEntry(
    'config',
    false,
    'The run was not deleted.',
    'Do what the message says, or use --force (in code: `force: true`).',
  ),
  archive_invalid: errorEntry(
    'config',
    false,
    'That file cannot be used as the archive of a run.',
    'Use an intact file that `cloister runs export` or `cloister runs archive` has written. Nothing was changed.',
  ),
} as const satisfies Record<string, ErrorEntry>;
