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

/** How many logs are read to fill one page. */
const logsMax = 300;

export const listCallerRuns = async (ports: RunListPorts, reader: Caller, query: RunListQuery): Promise<RunPage> => {
  const { cloister, live, facts } = ports;
  const all = await summaries(ports, reader, query);
  const from = query.before === undefined ? 0 : 1 + indexOfRun(all, query.before);
  const found: RunSummary[] = [];
  let [next, logs]: [string | null, number] = [null, 0];
  for (const one of all.slice(from)) {
    if (!fits(one, query)) continue;
    const summary = await withState(one, live.get(one.run), cloister);
    if (query.state !== undefined && summary.state !== query.state && summary.status !== query.state) continue;
    if (query.refused !== undefined) {
      logs += 1;
      if (logs > logsMax) return { runs: await listed(ports, reader, found), next };
      const isMet = (await facts.read(summary)).refused > 0 === query.refused;
      if (!isMet) {
        next = one.run;
        continue;
      }
    }
    if (found.length === query.most) return { runs: await listed(ports, reader, found), next };
    found.push(summary);
    next = one.run;
  }
  return { runs: await listed(ports, reader, found), next: null };
};

/** Newest first. Without filters, no more than the page needs. */
const summaries = async (
  { cloister, live }: RunListPorts,
  reader: Caller,
  { before, agent, state, text, refused, most: pageSize }: RunListQuery,
): Promise<readonly RunSummary[]> => {
  const caller = ownerOf(reader);
  // Before reading the log: a run that ends meanwhile is then in at least one of the two lists.
  const active = live
    .values()
    .filter((one) => caller === undefined || one.caller.name === caller)
    .map(activeRunSummary);
  const isWhole = [before, agent, state, text, refused].every((filter) => filter === undefined);
  const most = isWhole ? pageSize + 1 : undefined;
  // probe: run-list-by-caller
  const recorded = await cloister.runs({ ...omitUndefined({ caller }), most });
  const known = new Set(recorded.map(({ run }) => run));
  return [...active.filter(({ run }) => !known.has(run)).toReversed(), ...recorded].sort(
    (one, other) => other.startedAt - one.startedAt,
  );
};

const indexOfRun = (all: readonly RunSummary[], run: string): number => {
  const index = all.findIndex((one) => one.run === run);
  if (index === -1) throw new CloisterError('request_invalid', 'before: you have no run with this id.');
  return index;
};

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
