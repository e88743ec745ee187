// Compares what is kept beside the log of a run with the log: the files of its cells, and its row in the list of runs.
//
//   storage-audit-between-equal-logs. A run that has not ended may write meanwhile. What differs counts only if the log was as long
//       after the comparison as before it: every write is in the log before it is done.
//   storage-audit-on-disk. What is only in memory, such as an archive that is read, has nothing beside its log.
//   storage-audit-derived-may-miss. Copies of long outputs are made from the log, for people. They may be missing or cut, never
//       different.
import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { CloisterError, isSameJson, sha256 } from '#base';
import type { CellId, Json, RunId } from '#base';
import type { AuditProblem, CellFolders, Frame, FrameSource, RunSummary, Store } from '#contracts';
import { foldFacts, noFacts } from '#adapters/stores';
import type { RunFacts } from '#adapters/stores';
import { followWrittenFiles } from '#core/audit';
import type { CellFiles } from '#core/audit';
import { checkCellFiles } from './check-files.ts';
import type { FileProblem } from './check-files.ts';

type StorageProblemCode =
  | `file-${FileProblem['kind'] | 'unreadable'}`
  /** The list of runs says something else about a run than its log. */
  | 'list-differs';

type StorageAuditPorts = { readonly store: Store; readonly folders: CellFolders };

/** One reading of the log, from its beginning. */
type Reading = {
  next(frame: Frame): void;
  /** What does not fit the frames; null if the run has gone on meanwhile. */
  finish(): Promise<readonly AuditProblem[] | null>;
};

type StorageAudit = {
  /** The given frames; whoever reads them to the end reads for this audit, too. */
  readonly frames: FrameSource;
  /** What does not fit them. */
  problems(): Promise<readonly AuditProblem[]>;
};

/** How often a run that goes on meanwhile is compared again. */
const triesMax = 3;

export const openStorageAudit = (run: RunId, ports: StorageAuditPorts, frames: FrameSource): StorageAudit => {
  let last: Reading | undefined;
  async function* read(): AsyncGenerator<Frame, void, undefined> {
    last = undefined;
    const reading = startReading(run, ports);
    for await (const frame of frames) {
      reading.next(frame);
      yield frame;
    }
    last = reading;
  }
  return {
    frames: { [Symbol.asyncIterator]: read },
    async problems() {
      for (let tries = 0; ports.store.path !== null && tries < triesMax; tries++) {
        if (last === undefined) for await (const _ of read());
        const problems = await last?.finish();
        if (problems != null) return problems;
        last = undefined;
      }
      return [];
    },
  };
};

const startReading = (run: RunId, ports: StorageAuditPorts): Reading => {
  const files = followWrittenFiles();
  let facts = noFacts;
  let frames = 0;
  /** Records that no run writes are reported with the log, and nothing follows from them. */
  let isReadable = true;
  return {
    next(frame) {
      frames++;
      files.next(frame);
      try {
        facts = foldFacts(facts, frame);
      } catch {
        isReadable = false;
      }
    },
    async finish() {
      if (!isReadable) return [];
      const cells = files.cells();
      const folders = await cellFolders(run, ports.store);
      const found = [
        ...(await listProblems(run, facts, ports.store)),
        ...folders.filter((name) => !cells.has(name as CellId)).map((name) => strangeFolder(run, name)),
      ];
      const present = new Set<string>(folders);
      for (const [cell, log] of cells)
        if (present.has(cell) || !isEmpty(log)) found.push(...(await cellProblems(run, { cell, log }, ports)));
      const isSteady = facts.endedAt !== null || found.length === 0;
      return isSteady || (await ports.store.hashPrefix(run)).frames === frames ? found : null;
    },
  };
};

const problem = (code: StorageProblemCode, where: string, message: string): AuditProblem => ({ code, where, message });

const rebuildHint = 'rebuild the run: cloister rebuild';

// The row in the list of runs.

/** What the list says about a run besides the state of its owner. */
const listedKeys = [
  'agent',
  'goal',
  'startedAt',
  'endedAt',
  'status',
  'cells',
  'caller',
  'spent',
  'recordedBy',
] as const satisfies readonly (keyof RunFacts & keyof RunSummary)[];

const listProblems = async (run: RunId, facts: RunFacts, store: Store): Promise<readonly AuditProblem[]> => {
  const [listed] = await store.list({ runs: [run] });
  // What was lost is reported with the log.
  if (listed === undefined || listed.state === 'damaged') return [];
  const different = listedKeys.filter((key) => !isSameJson(facts[key] as Json, listed[key] as Json));
  if (different.length === 0) return [];
  const keys = different.flatMap((key) => (key === 'spent' ? spentKeys(facts, listed) : [key])).join(', ');
  return [problem('list-differs', 'list of runs', `it says otherwise than the log: ${keys}; ${rebuildHint}`)];
};

/** `spent.ms` rather than `spent`, if both have figures. */
const spentKeys = ({ spent }: RunFacts, listed: Pick<RunSummary, 'spent'>): readonly string[] => {
  if (spent === null || listed.spent === null) return ['spent'];
  const keys = new Set([...Object.keys(spent), ...Object.keys(listed.spent)]) as Set<keyof typeof spent>;
  return [...keys].filter((key) => spent[key] !== listed.spent?.[key]).map((key) => `spent.${key}`);
};

// The folder of the run.

/** The names in it, sorted. */
const cellFolders = async (run: RunId, { path }: Store): Promise<readonly string[]> => {
  const entries = await readdir(join(path ?? '', 'runs', run), { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
  return folders.map(({ name }) => name).sort();
};

const strangeFolder = (run: RunId, name: string): AuditProblem =>
  problem('file-foreign', `folder runs/${run}`, `${JSON.stringify(name)} belongs to no cell of the run`);

const isEmpty = ({ files, possible, outputs, problems }: CellFiles): boolean =>
  files.size + possible.size + outputs.size + problems.length === 0;

type CellLog = { readonly cell: CellId; readonly log: CellFiles };

const cellProblems = async (
  run: RunId,
  one: CellLog,
  { store, folders }: StorageAuditPorts,
): Promise<readonly AuditProblem[]> => {
  const where = `cell ${one.cell}`;
  try {
    const found = await checkCellFiles(one, folders, run);
    const files = found.map(({ kind, path, message }) =>
      problem(`file-${kind}`, where, kind === 'unclear' ? message : `${JSON.stringify(path)}: ${message}`),
    );
    return [...files, ...(await copyProblems(run, one, { store, folders }))];
  } catch (error) {
    // Where cells cannot have files, there is nothing to compare.
    if (!(error instanceof CloisterError) || error.code === 'files_unsupported') return [];
    return [problem('file-unreadable', where, `its files cannot be read: ${error.message}`)];
  }
};

/** The copies of its long outputs. What it was called by has priority: an agent may write a file of the same name. */
const copyProblems = async (
  run: RunId,
  { cell, log }: CellLog,
  { store, folders }: StorageAuditPorts,
): Promise<readonly AuditProblem[]> => {
  const problems: AuditProblem[] = [];
  for (const [name, ref] of log.outputs) {
    if (log.files.has(name) || log.possible.has(name)) continue;
    const copy = await readCopy(folders, run, { cell, name });
    if (copy === undefined || sha256(copy) === ref) continue;
    const original = await store.getBlob(ref).catch(() => undefined);
    // What is lost in the store is reported there. A copy that is being written, or was when a process died, is its beginning.
    if (original === undefined || Buffer.compare(original.subarray(0, copy.length), copy) === 0) continue;
    const message = `${JSON.stringify(name)}: the copy of this output is not what its tool returned; ${rebuildHint}`;
    problems.push(problem('file-changed', `cell ${cell}`, message));
  }
  return problems;
};

const readCopy = async (
  folders: CellFolders,
  run: RunId,
  { cell, name }: { readonly cell: CellId; readonly name: string },
): Promise<Uint8Array | undefined> => {
  try {
    return (await folders.open(run, cell).read(name)).bytes;
  } catch (error) {
    if (error instanceof CloisterError && (error.code === 'file_missing' || error.code === 'file_refused'))
      return undefined;
    throw error;
  }
};
