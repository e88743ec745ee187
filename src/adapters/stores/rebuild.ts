import { resolve } from 'node:path';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { openReader } from './reader.ts';
import { projectSteps, writeStepFile } from './step-files.ts';

/** Writes a run's step files and offloaded outputs again, from its log. Gives the number of files. */
export const rebuild = async (folder: string, run: RunId): Promise<number> => {
  const path = resolve(folder);
  const reader = openReader(path, 10_000);
  try {
    const { frames, problems } = reader.inspect(run);
    if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
    const files = projectSteps(frames);
    for (const file of files) {
      const content = typeof file.content === 'string' ? file.content : reader.blob(file.content.ref);
      if (writeStepFile(path, run, { ...file, content })) continue;
      throw new CloisterError('store_failed', `${file.cell}/${file.folder}/${file.name}`);
    }
    return files.length;
  } finally {
    reader.close();
  }
};
