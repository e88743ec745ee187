// Runs the agents that say their secrets, on a workspace, and looks for any form of them wherever people or programs can look.
// No vitest here: it is planted too, and then a plain process runs it.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cloister } from './fake-world.ts';
import { listenLoopback } from './loopback.ts';
import { answerSecrets, secretFiles, secretGoal } from './redaction-scene.ts';
import { secretsIn } from './secret-forms.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Where something was looked for, how many bytes there are, and which forms of a secret were found. */
export type Looked = { readonly place: string; readonly bytes: number; readonly found: readonly string[] };

export type Place = Omit<Looked, 'found'> & { readonly content: Uint8Array | string };

const look = (place: string, content: Uint8Array | string): Looked => ({
  place,
  bytes: content.length,
  found: secretsIn(content),
});

type Opened = Awaited<ReturnType<Cloister['openCloister']>>;

export type Ran = { readonly looked: readonly Looked[]; readonly auditOk: boolean; readonly events: readonly string[] };

export const runSecrets = async ({ openCloister }: Cloister): Promise<Ran> => {
  await using model = await listenLoopback(answerSecrets);
  await using folder = await temporaryFolder(secretFiles(model.url));
  await using work = await temporaryFolder();
  const workspace = join(work.path, 'workspace');
  const cloister = await openCloister({ workspace, agents: ['lead.ai', 'shaped.ai'], cwd: folder.path });
  const told = [
    ...(await follow(cloister, 'lead', secretGoal)),
    ...(await follow(cloister, 'shaped', { question: secretGoal })),
  ];
  const read = await readBack(cloister);
  // While it is open, what was written last is in the write-ahead log alone.
  const open = await lookInFiles(workspace, 'open');
  await cloister.close();
  const closed = await lookInFiles(workspace, 'closed');
  return {
    looked: [...told, ...read.looked, ...open, ...closed],
    auditOk: read.auditOk,
    events: read.events,
  };
};

const follow = async (cloister: Opened, agent: string, goal: string | object): Promise<readonly Looked[]> => {
  const session = cloister.run(agent, goal as string);
  const live: Record<string, string> = {};
  const durable: unknown[] = [];
  for await (const event of session)
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
      const { type, cell, text } = event;
      live[`${cell} ${type}`] = (live[`${cell} ${type}`] ?? '') + text;
    } else durable.push(event);
  const outcome = await session.outcome;
  return [
    look(`${agent}: durable events`, JSON.stringify(durable)),
    ...Object.entries(live).map(([from, text]) =>
      look(`${agent}: live pieces of ${from.replace(/-[0-9a-f]{12}/u, '')}`, text),
    ),
    look(`${agent}: outcome`, JSON.stringify(outcome)),
    look(`${agent}: output`, outcome.output),
  ];
};

/** As `show`, `explain`, `audit` and `runs` tell it. */
const readBack = async (cloister: Opened): Promise<Ran> => {
  const looked: Looked[] = [];
  const events = new Set<string>();
  let auditOk = true;
  const runs = await cloister.runs();
  looked.push(look('runs', JSON.stringify(runs)));
  for (const { run } of runs) {
    const report = await cloister.show(run);
    const audit = await cloister.audit(run);
    auditOk &&= audit.ok;
    for (const event of report.events) events.add(event.type);
    looked.push(look('show', JSON.stringify(report)), look('audit', JSON.stringify(audit)));
    for (const { cell, agent } of report.cells)
      looked.push(look(`explain ${agent}`, JSON.stringify(await cloister.explain(run, cell))));
  }
  return { looked, auditOk, events: [...events] };
};

export const lookInFiles = async (folder: string, when: string): Promise<readonly Looked[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.map(async (file) => {
      const name = file.slice(folder.length + 1).replaceAll(/[0-9a-f]{12}/gu, '…');
      const inName = look(`${when}: the name of ${name}`, file);
      const inFile = look(`${when}: ${name}`, await readFile(file));
      return { ...inFile, found: [...inName.found, ...inFile.found] };
    }),
  );
};
