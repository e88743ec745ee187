// Audits what a workspace holds besides its runs: the workspace log, the signals, and what belongs to no run.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { AuditProblem, Leftover, Store, WorkspaceAudit } from '#contracts';
import { tombstonesIn } from './seals.ts';

export const auditWorkspace = async (store: Store): Promise<WorkspaceAudit> => {
  const problems = [
    ...(await logProblems(store)),
    ...(await problemsOf('signal-damaged', 'signals', async () => void (await store.signals()))),
    ...(await folderProblems(store)),
  ];
  const all = await store.leftovers();
  return { ok: problems.length === 0, problems, leftovers: all.filter((one) => !isQueue(one)) };
};

/** What headends have accepted waits under names of their own (see `StoreInbox`). */
const isQueue = ({ kind, name }: Leftover): boolean => kind !== 'blob' && name.startsWith('inbox.');

/** The error of the catalogue with which it rejects, as a problem. */
const problemsOf = async (code: string, where: string, work: () => Promise<void>): Promise<readonly AuditProblem[]> => {
  try {
    await work();
    return [];
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    return [{ code, where, message: error.message }];
  }
};

/** What the workspace log says was deleted must be known as deleted, or a run of that name could begin again. */
const logProblems = async (store: Store): Promise<readonly AuditProblem[]> => {
  const problems: AuditProblem[] = [];
  const unread = await problemsOf('workspace-log', 'workspace log', async () => {
    for (const run of tombstonesIn(await store.readWorkspaceLog()).keys())
      problems.push(...(await tombstoneProblems(store, run)));
  });
  return [...unread, ...problems];
};

const tombstoneProblems = async (store: Store, run: RunId): Promise<readonly AuditProblem[]> => {
  const where = `run ${run}`;
  const lost = 'the workspace log says that it was deleted, and the database does not';
  return problemsOf('tombstone-lost', where, async () => {
    if ((await store.tombstone(run)) === null) throw new CloisterError('store_damaged', lost);
  });
};

const folderProblems = async (store: Store): Promise<readonly AuditProblem[]> => {
  const problems: AuditProblem[] = [];
  for (const name of await store.strayFolders()) {
    const isDeleted = (await store.tombstone(name as RunId).catch(() => null)) !== null;
    const message = isDeleted
      ? 'it belongs to a run that was deleted'
      : 'no run of the log has that name: its records were deleted, or are in another database';
    problems.push({ code: 'folder-stray', where: `folder runs/${name}`, message });
  }
  return problems;
};
