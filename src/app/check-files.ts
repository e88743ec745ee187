// Compares the files of a run's cells with its log: what an agent wrote must be there, and nothing else may be.
//
//   check-files-repairs-nothing. Every difference is reported by cell and path.
//   check-files-derived-may-miss. Files derived from the log (offloaded outputs) may be missing or stale: `rebuild` recreates
//       them.
//   check-files-needs-file-tools. A cell whose agent has no file tools has no files. Nobody sees what is in its folder, so the
//       folder is not checked.
//   check-files-owner-only. Only the owner of the run may check: the files of a running run change meanwhile.
import { CloisterError, sha256 } from '#base';
import type { CellId, ErrorCode, RunId } from '#base';
import type { Frame, CellFolder, CellFolders } from '#contracts';
import { writtenFiles } from '#core/audit';
import type { CellFiles, WrittenFile } from '#core/audit';

export type FileProblem = {
  /** `unclear`: the log does not say what was written; the path is empty. */
  readonly kind: 'missing' | 'changed' | 'foreign' | 'unclear';
  readonly cell: CellId;
  readonly path: string;
  readonly message: string;
};

/** Every file that differs from the log, by cell in the order of creation, then by path. */
export const checkFiles = async (
  frames: readonly Frame[],
  workspaces: CellFolders,
  run: RunId,
): Promise<readonly FileProblem[]> => {
  const problems: FileProblem[] = [];
  for (const [cell, log] of writtenFiles(frames)) {
    if (!log.hasFileTools) continue;
    problems.push(...(await checkCellFiles({ cell, log }, workspaces, run)));
  }
  return problems;
};

/** Those of one cell, by path, whatever tools its agent has. */
export const checkCellFiles = async (
  { cell, log }: CellLog,
  workspaces: CellFolders,
  run: RunId,
): Promise<readonly FileProblem[]> => {
  const found = await findProblems(log, openFolderIfAny(workspaces, run, { cell, log }));
  return found.sort(byPath).map((problem) => ({ ...problem, cell }));
};

/** Whether every file of the run on this machine is one that its agents wrote, now or earlier: the run was moved here, perhaps again. */
export const areOnlyOlder = async (frames: readonly Frame[], workspaces: CellFolders, run: RunId): Promise<boolean> => {
  for (const [cell, log] of writtenFiles(frames)) {
    const folder = log.hasFileTools ? openFolderIfAny(workspaces, run, { cell, log }) : undefined;
    for (const { path, bytes } of (await folder?.list()) ?? []) {
      if (log.outputs.has(path)) continue;
      if (!(await matchesAny(log.written(path), folder!, { path, bytes }))) return false;
    }
    if (log.problems.length > 0) return false;
  }
  return true;
};

/** Writes the files in the log to the cell folders of another run, or again to its own. Returns how many. */
export const restoreFiles = async (frames: readonly Frame[], workspaces: CellFolders, run: RunId): Promise<number> => {
  let count = 0;
  for (const [cell, { files }] of writtenFiles(frames)) {
    if (files.size === 0) continue;
    const workspace = workspaces.open(run, cell);
    for (const [path, { content }] of files) await workspace.write(path, Buffer.from(content));
    count += files.size;
  }
  return count;
};

const shownMax = 5;

/** Names the first few problems and counts the rest. */
export const fileProblemsText = (problems: readonly FileProblem[]): string => {
  const named = problems.slice(0, shownMax).map(({ kind, cell, path, message }) => {
    if (kind === 'unclear') return `${cell}: ${message}`;
    const name = JSON.stringify(path.length > 80 ? `${path.slice(0, 80)}…` : path);
    return `${kind} ${name} of ${cell}: ${message}`;
  });
  const more = problems.length - named.length;
  return `${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`;
};

type CellLog = { readonly cell: CellId; readonly log: CellFiles };

/** Undefined where cells cannot have files; if the log has some nevertheless, the error goes to the caller. */
const openFolderIfAny = (workspaces: CellFolders, run: RunId, { cell, log }: CellLog): CellFolder | undefined => {
  try {
    return workspaces.open(run, cell);
  } catch (error) {
    if (hasCode(error, 'files_unsupported') && log.files.size === 0) return undefined;
    throw error;
  }
};

type ProblemInCell = Omit<FileProblem, 'cell'>;

const byPath = (one: ProblemInCell, other: ProblemInCell): number =>
  one.path < other.path ? -1 : one.path > other.path ? 1 : 0;

const findProblems = async (log: CellFiles, workspace: CellFolder | undefined): Promise<ProblemInCell[]> => {
  const found = log.problems.map((message): ProblemInCell => ({ kind: 'unclear', path: '', message }));
  if (workspace === undefined) return found;
  const onDisk = new Map((await workspace.list()).map(({ path, bytes }) => [path, bytes]));
  for (const [path, { op, bytes }] of log.files)
    if (!onDisk.has(path))
      found.push({ kind: 'missing', path, message: `operation ${op} wrote ${bytes} bytes, but the file is missing` });
  for (const [path, bytes] of onDisk) {
    const newest = log.files.get(path);
    const allowed = [...(newest === undefined ? [] : [newest]), ...(log.possible.get(path) ?? [])];
    if (await matchesAny(allowed, workspace, { path, bytes })) continue;
    if (newest !== undefined)
      found.push({
        kind: 'changed',
        path,
        message: `operation ${newest.op} wrote ${newest.bytes} bytes, but the file has ${bytes === newest.bytes ? 'different content' : `${bytes}`}`,
      });
    else if (!log.outputs.has(path)) found.push({ kind: 'foreign', path, message: 'this agent did not write it' });
  }
  return found;
};

type ListedFile = { readonly path: string; readonly bytes: number };

/** Reads the file only if its size matches. */
const matchesAny = async (
  allowed: readonly WrittenFile[],
  workspace: CellFolder,
  file: ListedFile,
): Promise<boolean> => {
  if (allowed.every(({ bytes }) => bytes !== file.bytes)) return false;
  try {
    const { bytes } = await workspace.read(file.path);
    const hash = sha256(bytes);
    return allowed.some((one) => one.sha256 === hash);
  } catch (error) {
    // The file was removed after it was listed, or cannot be read: either way it is not what was written.
    if (hasCode(error, 'file_missing') || hasCode(error, 'file_refused')) return false;
    throw error;
  }
};

const hasCode = (error: unknown, code: ErrorCode): boolean => error instanceof CloisterError && error.code === code;
