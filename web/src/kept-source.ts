// The run that was written into this file: what the server would have answered, by path.
import type { JsonObject } from '#base';
import { SourceProblem } from './source.ts';
import type { EventPage, Me, RunFacts, RunRow, Source } from './source.ts';

/** `answers`: the bodies of GET requests, by what follows `/v1/runs/<run>` in their path. Of a picture, its bytes as `{ base64 }`. */
export type KeptRun = {
  readonly run: string;
  readonly version: string;
  readonly answers: Readonly<Record<string, unknown>>;
};

export const readKeptRun = (): KeptRun => JSON.parse(document.getElementById('kept-run')!.textContent) as KeptRun;

export const openKeptSource = ({ run: id, version, answers }: KeptRun): Source => {
  const find = async <T>(path: string): Promise<T> => {
    if (!(path in answers))
      throw new SourceProblem(
        'not_kept',
        'This file does not hold it.',
        'Open the run in the studio of its workspace.',
      );
    return answers[path] as T;
  };
  const below = (path: string): string => path.replace(`/runs/${encodeURIComponent(id)}`, '');
  const refuse = async (): Promise<never> => {
    throw new SourceProblem('not_kept', 'This is a copy of one run: nothing can be started or changed here.');
  };
  const rowOf = ({ run, agent, goal, status, startedAt, endedAt, cells, spent }: RunFacts): RunRow => ({
    run: run as RunRow['run'],
    agent,
    goal,
    status,
    state: status,
    startedAt,
    endedAt,
    spent,
    cells: cells.length,
    crossings: 0,
    refused: 0,
    fork: null,
    conversation: null,
  });
  return {
    me: async (): Promise<Me> => ({
      name: 'file',
      operator: false,
      sees: 'contents',
      watchOnly: true,
      agents: 0,
      version,
      workspace: null,
      budget: null,
      allowance: null,
    }),
    runs: async () => ({ runs: [rowOf(await find<RunFacts>(''))], more: false }),
    run: () => find(''),
    eventPage: async (_run, { after, details }) => {
      const { events } = await find<EventPage>('/events');
      const from = after === undefined ? 0 : events.findIndex(({ id: one }) => one === after) + 1;
      return { events: details === true || from > 0 ? events.slice(from) : events, next: null };
    },
    follow: async () => undefined,
    transcript: async (_run, { cell, full } = {}) => {
      const all = await find<{ run: never; cells: { cell: string }[] }>(
        full === true ? '/transcript?full=true' : '/transcript',
      );
      return { ...all, cells: all.cells.filter((one) => cell === undefined || one.cell === cell) as never };
    },
    explain: (_run, cell) => find(`/explain?cell=${encodeURIComponent(cell)}`),
    audit: () => find('/audit'),
    windows: async () => (await find<{ windows: never[] }>('/windows')).windows,
    ledger: async () => (await find<{ cells: never[] }>('/ledger')).cells,
    tasks: async () => (await find<{ tasks: never[] }>('/tasks')).tasks,
    mail: async () => (await find<{ mail: never[] }>('/mail')).mail,
    get: <T>(path: string): Promise<T> => find<T>(below(path)),
    bytes: async (path) => {
      const { base64 } = await find<{ readonly base64: string }>(below(path));
      return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0)).buffer;
    },
    send: (_method: string, _path: string, _body?: JsonObject) => refuse(),
  };
};
