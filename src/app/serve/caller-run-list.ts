// Lists the runs of one caller, filtered and page by page.
//
//   run-list-of-caller. Every filter, count and page is over the runs of this caller.
//   run-list-reads-bounded. The logs of the runs on the page are read, and of a filter that needs more, a limited number for each page.
import { CloisterError, omitUndefined } from '#base';
import type { Caller, Cloister, ListedRun, RunPage, RunListQuery, RunSummary } from '#contracts';
import { activeRunSummary, conversationOfRun, conversationsOfRuns, ownerOf } from './caller-runs.ts';
import type { ActiveRunMap } from './caller-runs.ts';
import type { RunFactsReader } from './run-facts.ts';
import type { ActiveRun } from './served-run.ts';

type RunListPorts = {
  readonly cloister: Pick<Cloister, 'runs' | 'conversations'>;
  readonly live: ActiveRunMap;
  readonly facts: RunFactsReader;
};

/** How many logs are read to fill one page, and how many runs are looked at. */
const [logsMax, runsMax] = [300, 10_000];

export const listCallerRuns = async (ports: RunListPorts, reader: Caller, query: RunListQuery): Promise<RunPage> => {
  const { cloister, live, facts } = ports;
  const found: RunSummary[] = [];
  let [next, logs, seen]: [string | null, number, number] = [null, 0, 0];
  for await (const one of summaries(ports, reader, query)) {
    if (++seen > runsMax) return { runs: await listed(ports, reader, found), next };
    if (!fits(one, query)) {
      next = one.run;
      continue;
    }
    const summary = await withState(one, live.get(one.run), cloister);
    if (query.state !== undefined && summary.state !== query.state && summary.status !== query.state) {
      next = one.run;
      continue;
    }
    if (query.refused !== undefined) {
      logs += 1;
      if (logs > logsMax) return { runs: await listed(ports, reader, found), next };
      const isMet = (await facts.read(summary)).refused > 0 === query.refused;
      if (!isMet) {
        next = one.run;
        continue;
      }
    }
    if (found.length === query.most) return { runs: await listed(ports, reader, found), next: found.at(-1)!.run };
    found.push(summary);
    next = one.run;
  }
  return { runs: await listed(ports, reader, found), next: null };
};

/** Newest first, in pieces, so that no more is read than the page needs. */
async function* summaries(
  { cloister, live }: RunListPorts,
  reader: Caller,
  { before: from, most }: RunListQuery,
): AsyncGenerator<RunSummary> {
  const caller = ownerOf(reader);
  // Before reading the list: a run that is listed meanwhile is then in at least one of the two.
  const active = live
    .values()
    .filter((one) => caller === undefined || one.caller.name === caller)
    .map(activeRunSummary);
  // probe: run-list-by-caller
  const asked = omitUndefined({ caller });
  let before = from;
  const listedFirst = new Set<string>();
  if (from === undefined || active.some(({ run }) => run === from)) {
    const recorded = await cloister.runs({ ...asked, runs: active.map(({ run }) => run) });
    const known = new Set(recorded.map(({ run }) => run));
    const unrecorded = active.filter(({ run }) => !known.has(run)).toReversed();
    const index = unrecorded.findIndex(({ run }) => run === from);
    for (const { run } of unrecorded) listedFirst.add(run);
    yield* unrecorded.slice(index + 1);
    // What is not recorded yet is newer than everything that is.
    if (index >= 0) before = undefined;
  }
  if (before !== undefined && (await cloister.runs({ ...asked, run: before })).length === 0)
    throw new CloisterError('request_invalid', 'before: you have no run with this id.');
  for (let size = most + 1; ; size = pieceRuns) {
    const piece = await cloister.runs({ ...asked, before, most: size });
    yield* piece.filter(({ run }) => !listedFirst.has(run));
    before = piece.at(-1)?.run;
    if (piece.length < size) return;
  }
}

/** The first piece is as long as the page. */
const pieceRuns = 500;

const fits = ({ agent, goal, run }: RunSummary, query: RunListQuery): boolean => {
  if (query.agent !== undefined && agent !== query.agent) return false;
  const text = query.text?.toLowerCase() ?? '';
  return text === '' || [goal, agent, run].some((one) => one.toLowerCase().includes(text));
};

/** A run of this process knows whether it waits; of another one, its log is read. */
const withState = async (
  summary: RunSummary,
  active: ActiveRun | undefined,
  cloister: Pick<Cloister, 'runs'>,
): Promise<RunSummary> => {
  if (summary.endedAt !== null || summary.state === 'damaged') return summary;
  if (active !== undefined) return { ...summary, state: active.session.waitsForPeople ? 'waiting' : 'running' };
  const [now = summary] = await cloister.runs({ run: summary.run, waiting: true });
  return now;
};

const listed = async (
  { cloister, facts }: RunListPorts,
  reader: Caller,
  runs: readonly RunSummary[],
): Promise<readonly ListedRun[]> => {
  if (runs.length === 0) return [];
  const conversations = await conversationsOfRuns(cloister);
  const all: ListedRun[] = [];
  for (const summary of runs) {
    const conversation = conversationOfRun(conversations.get(summary.run), summary, reader);
    all.push({ ...summary, ...(await facts.read(summary)), conversation });
  }
  return all;
};
