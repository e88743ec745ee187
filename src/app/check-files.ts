// The files of a run's cells against its log: what an agent wrote must lie there, and nothing else may.
//
//   F1. Nothing is repaired or made up here: what differs is named, by cell and path.
//   F2. What is made from the log (offloaded outputs) may be missing or stale: `rebuild` makes it again.
//   F3. A cell whose agent has no file tools has no files: what lies in its folder nobody sees, and it is not looked at.
//   F4. Only who owns the run may look: a running one changes meanwhile.
import { CloisterError, sha256 } from '#base';
import type { CellId, ErrorCode, RunId } from '#base';
import type { Frame, CellFolder, CellFolders } from '#contracts';
import { writtenFiles } from '#core/audit';
import type { CellFiles, WrittenFile } from '#core/audit';

export type FileProblem = {
  /** `unclear`: the log does not tell what was written; its path is empty. */
  readonly kind: 'missing' | 'changed' | 'foreign' | 'unclear';
  readonly cell: CellId;
  readonly path: string;
  readonly message: string;
};

/** Every file that is not what the log says, cell by cell in the order of their births, then by path. */
export const checkFiles = async (
  frames: readonly Frame[],
  workspaces: CellFolders,
  run: RunId,
): Promise<readonly FileProblem[]> => {
  const problems: FileProblem[] = [];
  for (const [cell, log] of writtenFiles(frames)) {
    if (!log.inSight) continue;
    const found = await problemsOf(log, openIfAny(workspaces, run, { cell, log }));
    problems.push(...found.sort(byPath).map((problem) => ({ ...problem, cell })));
  }
  return problems;
};

/** Writes the files that the log has into the workspaces of another run, or again into its own. Gives their number. */
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

const namedMax = 5;

/** What a person is told: the first few by name, and how many there are. */
export const fileProblemsText = (problems: readonly FileProblem[]): string => {
  const named = problems.slice(0, namedMax).map(({ kind, cell, path, message }) => {
    if (kind === 'unclear') return `${cell}: ${message}`;
    const name = JSON.stringify(path.length > 80 ? `${path.slice(0, 80)}…` : path);
    return `${kind} ${name} of ${cell}: ${message}`;
  });
  const more = problems.length - named.length;
  return `${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`;
};

type Place = { readonly cell: CellId; readonly log: CellFiles };

/** Undefined where no cell can have files; if the log has some all the same, that is the caller's error. */
const openIfAny = (workspaces: CellFolders, run: RunId, { cell, log }: Place): CellFolder | undefined => {
  try {
    return workspaces.open(run, cell);
  } catch (error) {
    if (hasCode(error, 'files_unsupported') && log.files.size === 0) return undefined;
    throw error;
  }
};

type Found = Omit<FileProblem, 'cell'>;

const byPath = (one: Found, other: Found): number => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0);

const problemsOf = async (log: CellFiles, workspace: CellFolder | undefined): Promise<Found[]> => {
  const found = log.problems.map((message): Found => ({ kind: 'unclear', path: '', message }));
  if (workspace === undefined) return found;
  const there = new Map((await workspace.list()).map(({ path, bytes }) => [path, bytes]));
  for (const [path, { op, bytes }] of log.files)
    if (!there.has(path))
      found.push({ kind: 'missing', path, message: `operation ${op} wrote ${bytes} bytes, and it is not there` });
  for (const [path, bytes] of there) {
    const newest = log.files.get(path);
    const allowed = [...(newest === undefined ? [] : [newest]), ...(log.maybe.get(path) ?? [])];
    if (await isOneOf(allowed, workspace, { path, bytes })) continue;
    if (newest !== undefined)
      found.push({
        kind: 'changed',
        path,
        message: `operation ${newest.op} wrote ${newest.bytes} bytes, and ${bytes === newest.bytes ? 'others' : `${bytes} others`} lie there`,
      });
    else if (!log.outputs.has(path))
      found.push({ kind: 'foreign', path, message: 'no write of this agent left it there' });
  }
  return found;
};

type Listed = { readonly path: string; readonly bytes: number };

/** Read only if its size could be right. */
const isOneOf = async (allowed: readonly WrittenFile[], workspace: CellFolder, file: Listed): Promise<boolean> => {
  if (allowed.every(({ bytes }) => bytes !== file.bytes)) return false;
  try {
    const { bytes } = await workspace.read(file.path);
    const hash = sha256(bytes);
    return allowed.some((one) => one.sha256 === hash);
  } catch (error) {
    // It was taken away since it was listed, or may not be read: either way it is not what was written.
    if (hasCode(error, 'file_missing') || hasCode(error, 'file_refused')) return false;
    throw error;
  }
};

const hasCode = (error: unknown, code: ErrorCode): boolean => error instanceof CloisterError && error.code === code;
