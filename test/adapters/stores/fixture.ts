// Shared by the SQLite tests: folders, stores and other processes, all cleaned up after each test.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openSqliteStore } from '#adapters/stores';
import type { LogStore } from '#testing/adapters/stores';
import type { RunId } from '#base';
import { compileCache } from '../../compile-cache.ts';
import { framesOf, newRun } from '../../conformance/store.ts';
import { cleanUpAfter } from '../../cleanup.ts';
import { scratchFolder } from '../../scratch-folder.ts';

let root: string | null = null;
const opened: LogStore[] = [];
const started: ChildProcess[] = [];

cleanUpAfter('test', async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const store of opened.splice(0)) await store.close();
});
cleanUpAfter('file', () => {
  if (root !== null) rmSync(root, { recursive: true });
  root = null;
});

export const newFolder = (): string =>
  join((root ??= mkdtempSync(join(scratchFolder(), 'cloister-store-'))), randomUUID());

export const openStore = async (
  folder = newFolder(),
  options: Parameters<typeof openSqliteStore>[1] = {},
): Promise<LogStore> => {
  const store = await openSqliteStore(folder, options);
  opened.push(store);
  return store;
};

/** A run with an opening and some steps, released. */
export const writeRun = async (store: LogStore, steps = 3, text?: string): Promise<RunId> => {
  const run = newRun();
  const log = await store.acquireRun(run);
  const make = framesOf(run);
  log.append(make.open());
  for (let step = 0; step < steps; step++) log.append(make.step(text));
  await log.close();
  return run;
};

export type OtherProcess = {
  readonly pid: number;
  /** The next line it prints; undefined after the last. */
  line(): Promise<string | undefined>;
  /** Kills it without warning, and waits until it has ended. */
  kill(): Promise<void>;
  /** Its exit code. */
  ended(): Promise<number | null>;
};

/** Runs `other-process.ts`. */
export const startProcess = (...args: string[]): OtherProcess => {
  const script = fileURLToPath(new URL('other-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--conditions=cloister-source', script, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: compileCache(),
  });
  started.push(child);
  const exit = once(child, 'exit') as Promise<[number | null]>;
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid ?? 0,
    line: async () => (await lines.next()).value,
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
    ended: async () => (await exit)[0],
  };
};
