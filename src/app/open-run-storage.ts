// The life of the runs of one Cloister.
import type { RunStorage } from '#contracts';
import type { ConversationService } from '#app/conversations';
import { archiveFolder, Archives, formerDatabases, LocalRunStorage } from '#app/storage';
import { openArchivedRun } from './open-archive.ts';
import type { Runs } from './runs.ts';
import type { SharedPorts } from './shared-ports.ts';

export const openRunStorage = (
  { store, clock, resources, operatorKey, workspaces, archives, keep, openPauses }: SharedPorts,
  { copies }: ConversationService,
  runs: Runs,
): RunStorage =>
  new LocalRunStorage({
    store,
    clock,
    copies,
    archives: new Archives({
      store,
      workspaces,
      folder: archives ?? (store.path === null ? null : archiveFolder(store.path)),
      openArchive: openArchivedRun,
    }),
    key: () => operatorKey?.() ?? null,
    keep: () => keep?.() ?? null,
    openPauses,
    redact: (text) => resources.redactFor(null)?.text(text) ?? text,
    durable: (run) => runs.durable(run),
    otherFiles: () => formerDatabases(store.path),
  });
