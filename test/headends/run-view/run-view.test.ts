// The view that the command line and the page share, on simulated runs.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { DurableEvent, Frame, RunReport } from '#contracts';
import { projectEvents, reportRun } from '#core/events';
import { applyEvent, newRunView } from '#headends/run-view';
import type { RunView } from '#headends/run-view';
import { runSeed } from '../../../sim/index.ts';

const seeds = Array.from({ length: 14 }, (_, index) => 300 + index);

const simulated = async (): Promise<readonly (readonly Frame[])[]> => {
  const logs: (readonly Frame[])[] = [];
  for (const seed of seeds) {
    const { history } = await runSeed(seed, { keepHistory: true });
    for (const { frames } of history!.runs) if (frames.length > 0) logs.push(frames);
  }
  return logs;
};

const logs = simulated();

const eventsOf = (frames: readonly Frame[]): readonly DurableEvent[] => {
  const fold = projectEvents('answers', false);
  return frames.flatMap((frame) => fold.next(frame));
};

/** As a page gets them: over a wire. */
const viewOf = (events: readonly DurableEvent[]): RunView => {
  const view = newRunView();
  for (const event of JSON.parse(JSON.stringify(events)) as readonly DurableEvent[]) applyEvent(view, event);
  return view;
};

/** What a report of the run says of each cell, as far as the view has it too. */
const reportedCells = ({ cells }: RunReport) =>
  cells.map(({ cell, parent, agent, status, waitedMs, figures: { own } }) => ({
    cell,
    parent,
    agent,
    status,
    // A wait that goes on lasts up to now, which only the report has.
    waitedMs: status === null ? null : waitedMs,
    requests: own.requests.calls,
    failed: own.requests.failed,
    inputTokens: own.byModel.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    outputTokens: own.byModel.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    calls: own.tools.calls,
    callBytes: own.tools.bytesOut,
  }));

const viewedCells = ({ cells }: RunView) =>
  [...cells.values()].map(({ cell, parent, agent, status, wait, requests, calls, ...figures }) => ({
    cell,
    parent,
    agent,
    status,
    waitedMs: status === null ? null : wait.waitedMs,
    requests: requests.filter(({ ok }) => ok !== null).length,
    failed: requests.filter(({ ok }) => ok === false).length,
    inputTokens: figures.inputTokens,
    outputTokens: figures.outputTokens,
    calls: calls.filter(({ ok }) => ok !== null).length,
    callBytes: calls.reduce((sum, { bytesOut }) => sum + bytesOut, 0),
  }));

// invariant: view-events-only
test('the view of a run says of every cell what its report says', async () => {
  let [cells, requests, calls] = [0, 0, 0];
  for (const frames of await logs) {
    const viewed = viewedCells(viewOf(eventsOf(frames)));
    const reported = reportedCells(await reportRun(frames, 'interrupted', { sees: 'answers' }));
    expect(viewed).toEqual(reported);
    cells += viewed.length;
    for (const cell of viewed) [requests, calls] = [requests + cell.requests, calls + cell.calls];
  }
  expect([cells > 40, requests > 80, calls > 20]).toEqual([true, true, true]);
});

test('the view has every decision about a crossing that the ledgers have, once', async () => {
  let [crossed, refused] = [0, 0];
  for (const frames of await logs) {
    const { crossings } = viewOf(eventsOf(frames));
    // A crossing from outside, or to it, is in one ledger; others are in the ledgers of both ends.
    const granted = crossings.filter((one) => one.refused === null);
    expect(new Set(crossings.map(({ id }) => id)).size).toBe(crossings.length);
    expect(granted.every(({ grant, sha256 }) => grant !== null && sha256 !== null)).toBe(true);
    crossed += granted.length;
    refused += crossings.length - granted.length;
  }
  expect([crossed > 100, refused > 0]).toEqual([true, true]);
});

// invariant: view-everywhere
test('what browsers load of src is types and the view', () => {
  const own = globSync('src/headends/run-view/*.ts').map((file) => [file, readFileSync(file, 'utf8')] as const);
  const page = globSync('web/src/**/*.{ts,tsx}').map((file) => [file, readFileSync(file, 'utf8')] as const);
  const values = (text: string): readonly string[] =>
    [...text.matchAll(/^import (?!type\b)[^'";]*?(?:from )?'(#[^']+)'/gmu)].map(([, name]) => name!);
  expect(own.flatMap(([, text]) => values(text))).toEqual([]);
  expect([...new Set(page.flatMap(([, text]) => values(text)))]).toEqual(['#headends/run-view']);
  expect(page.length).toBeGreaterThan(15);
});
