// Databases that a migration has kept: they hold what was in them then, also what was deleted since.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export const formerDatabases = async (workspace: string | null): Promise<readonly string[]> => {
  if (workspace === null) return [];
  try {
    const names = await readdir(workspace);
    return names.filter((name) => name.startsWith('cloister.db.format-')).map((name) => join(workspace, name));
  } catch {
    return [];
  }
};
