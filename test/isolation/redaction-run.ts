// Runs the agents that say their secrets in a workspace, and searches for any form of them wherever people or programs can look.
// It does not use vitest, because a plain process runs it in planted copies.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storedRecords } from '../stored-text.ts';
import type { Cloister } from './fake-world.ts';
import { listenLoopback } from './loopback.ts';
import { answerSecrets, secretFiles, secretGoal } from './redaction-scene.ts';
import { secretsIn } from './secret-forms.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Where something was looked for, how many bytes there are, and which forms of a secret were found. */
export type SearchedPlace = { readonly place: string; readonly bytes: number; readonly found: readonly string[] };

export type Place = Omit<SearchedPlace, 'found'> & { readonly content: Uint8Array | string };

const search = (place: string, content: Uint8Array | string): SearchedPlace => ({
  place,
  bytes: content.length,
  found: secretsIn(content),
});

type Opened = Awaited<ReturnType<Cloister['openCloister']>>;

export type RedactionReport = {
  readonly searched: readonly SearchedPlace[];
  readonly auditOk: boolean;
  readonly events: readonly string[];
};

export const runSecrets = async ({ openCloister }: Cloister): Promise<RedactionReport> => {
  await using model = await listenLoopback(answerSecrets);
  await using folder = await temporaryFolder(secretFiles(model.url));
  await using work = await temporaryFolder();
  const workspace = join(work.path, 'workspace');
  const cloister = await openCloister({ workspace, agents: ['lead.ai', 'shaped.ai'], cwd: folder.path });
  const inRuns = [
    ...(await runAndSearch(cloister, 'lead', secretGoal)),
    ...(await runAndSearch(cloister, 'shaped', { question: secretGoal })),
  ];
  const read = await searchReports(cloister);
  await cloister.rebuild(undefined, { files: true });
  // While the store is open, the newest data is only in the write-ahead log.
  const open = await searchFiles(workspace, 'open');
  await cloister.close();
  const closed = await searchFiles(workspace, 'closed');
  return {
    searched: [...inRuns, ...read.searched, ...open, ...closed],
    auditOk: read.auditOk,
    events: read.events,
  };
};

const runAndSearch = async (
  cloister: Opened,
  agent: string,
  goal: string | object,
): Promise<readonly SearchedPlace[]> => {
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
    search(`${agent}: durable events`, JSON.stringify(durable)),
    ...Object.entries(live).map(([from, text]) =>
      search(`${agent}: live pieces of ${from.replace(/-[0-9a-f]{12}/u, '')}`, text),
    ),
    search(`${agent}: outcome`, JSON.stringify(outcome)),
    search(`${agent}: output`, outcome.output),
  ];
};

/** The output of `show`, `explain`, `audit` and `runs`. */
const searchReports = async (cloister: Opened): Promise<RedactionReport> => {
  const searched: SearchedPlace[] = [];
  const events = new Set<string>();
  let auditOk = true;
  const runs = await cloister.runs();
  searched.push(search('runs', JSON.stringify(runs)));
  for (const { run } of runs) {
    const report = await cloister.show(run);
    const audit = await cloister.audit(run);
    auditOk &&= audit.ok;
    for (const event of report.events) events.add(event.type);
    searched.push(search('show', JSON.stringify(report)), search('audit', JSON.stringify(audit)));
    for (const { cell, agent } of report.cells)
      searched.push(search(`explain ${agent}`, JSON.stringify(await cloister.explain(run, cell))));
  }
  return { searched, auditOk, events: [...events] };
};

export const searchFiles = async (folder: string, when: string): Promise<readonly SearchedPlace[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const searched = files.map(async (file) => {
    const name = file.slice(folder.length + 1).replaceAll(/[0-9a-f]{12}/gu, '…');
    const inName = search(`${when}: the name of ${name}`, file);
    const inFile = search(`${when}: ${name}`, await readFile(file));
    return { ...inFile, found: [...inName.found, ...inFile.found] };
  });
  return [search(`${when}: records`, storedRecords(folder)), ...(await Promise.all(searched))];
};
