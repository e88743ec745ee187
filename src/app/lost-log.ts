// Says when a workspace has lost its log: run folders are left, and not one run is known.
import { CloisterError } from '#base';
import type { Cloister } from '#contracts';

/** Null if it has not. Costs next to nothing in a workspace with runs. */
export const lostLogNotice = async (cloister: LostLogSource): Promise<string | null> => {
  try {
    if ((await cloister.runs({ most: 1 })).length > 0) return null;
    const folders = await cloister.storage.unknownFolders();
    if (folders.length === 0) return null;
    const count = folders.length === 1 ? '1 folder of a run' : `${folders.length} folders of runs`;
    return `${cloister.workspace} has ${count}, and its log knows no run: cloister.db and heads/ were deleted or replaced. Restore both from a backup. \`cloister audit --all\` names the folders.`;
  } catch (error) {
    // What is damaged or busy is reported by whatever reads it next.
    if (error instanceof CloisterError) return null;
    throw error;
  }
};

type LostLogSource = Pick<Cloister, 'runs' | 'storage' | 'workspace'>;
