// Says when a workspace has lost its log: something of runs is left, and not one run is known. Where agents have written no file and
// nothing was exported, nothing is left: then only a seal outside the workspace shows what was there.
import { readdir } from 'node:fs/promises';
import { CloisterError } from '#base';
import type { Cloister } from '#contracts';

/** Null if it has not. Costs next to nothing in a workspace with runs. */
export const lostLogNotice = async (cloister: LostLogSource): Promise<string | null> => {
  try {
    if ((await cloister.runs({ most: 1 })).length > 0) return null;
    const folders = await cloister.storage.unknownFolders();
    const advice = 'cloister.db and heads/ were deleted or replaced. Restore both from a backup.';
    if (folders.length > 0) {
      const count = folders.length === 1 ? '1 folder of a run' : `${folders.length} folders of runs`;
      return `${cloister.workspace} has ${count}, and its log knows no run: ${advice} \`cloister audit --all\` names the folders.`;
    }
    const exported = await exportFolders(cloister.workspace);
    return exported.length === 0 ? null : `${cloister.workspace} has ${exported.join(' and ')}/ and no log: ${advice}`;
  } catch (error) {
    // What is damaged or busy is reported by whatever reads it next.
    if (error instanceof CloisterError) return null;
    throw error;
  }
};

/** What is made from logs stays when the log goes. */
const exportFolders = async (workspace: string | null): Promise<readonly string[]> => {
  const names = workspace === null ? [] : await readdir(workspace).catch(() => []);
  return names.includes('cloister.db') ? [] : ['archive', 'conversations'].filter((name) => names.includes(name));
};

type LostLogSource = Pick<Cloister, 'runs' | 'storage' | 'workspace'>;
