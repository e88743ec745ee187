// A workspace with a run that can be made as a crash leaves it: only its first record was written.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { openCloister } from 'cloister';
import type { Agent } from 'cloister';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';
import { gatedAgent } from './gated-agent.ts';

export const workspaceToCrash = async (
  caller: string | undefined,
): Promise<{ readonly workspace: string; readonly agents: Agent[]; readonly run: string; crash(): void }> => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  const { agent, gate } = gatedAgent('lead');
  gate.open();
  const cloister = await openCloister({ workspace, agents: [agent] });
  const { run } = await cloister.run('lead', 'Go.', caller === undefined ? {} : { caller }).outcome;
  await cloister.close();
  const crash = (): void => {
    using database = new DatabaseSync(join(workspace, 'cloister.db'));
    database.exec(`DELETE FROM frames WHERE no > 0;
      UPDATE runs SET ended_at = NULL, status = NULL, spent = NULL, frames = 1,
        head = (SELECT hash FROM frames WHERE frames.run = runs.run AND no = 0)`);
  };
  return { workspace, agents: [agent], run, crash };
};
