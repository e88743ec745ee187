// A run as it is shown to people: who did what, what it used, how it ended.
import { CloisterError } from '#base';
import type { CellReport, Frame, RunReport } from '#contracts';
import { projectEvents } from './project-events.ts';
import { readFrame, startRecords } from './records.ts';
import type { CellRecords } from './records.ts';
import { spentOf, totalOf } from './tally.ts';

/** `frames` is one run in the order of its log; `state` is what its store knows of its owner. */
export const reportRun = (frames: readonly Frame[], state: 'running' | 'interrupted' | 'ended'): RunReport => {
  const records = startRecords();
  const fold = projectEvents();
  const events = frames.flatMap((frame) => {
    readFrame(records, frame);
    return fold.next(frame);
  });
  const { root } = records;
  const [first, last] = [frames[0], frames.at(-1)];
  if (root === undefined || first === undefined || last === undefined)
    throw new CloisterError('store_damaged', 'The log does not begin with the start of a run.');
  const cells = [...records.cells.values()].map((cell) => reportCell(cell, last.at));
  return {
    run: first.run,
    agent: root.birth.agent,
    goal: root.received.get(0)?.content ?? '',
    status: root.end?.outcome.status ?? (state === 'running' ? 'running' : 'interrupted'),
    output: root.end?.outcome.output ?? '',
    spent: reportCell(root, last.at).spent,
    startedAt: root.startedAt,
    endedAt: root.end?.at ?? null,
    cells,
    events,
  };
};

/** A cell that has not ended has used time up to the newest frame. */
const reportCell = (cell: CellRecords, now: number): CellReport => {
  const { birth, own, end, startedAt } = cell;
  const ms = (end?.at ?? now) - startedAt;
  const attempts = [...cell.operations.values()].flatMap(({ attempt }) => attempt ?? []);
  return {
    cell: birth.cell,
    parent: birth.parent,
    agent: birth.agent,
    depth: birth.depth,
    status: end?.outcome.status ?? null,
    turns: new Set(attempts.map(({ turn }) => turn)).size,
    spent: spentOf(totalOf(cell), ms),
    own: spentOf(own, ms),
    models: [...new Set(attempts.map(({ model }) => model))],
    outcome: end?.outcome ?? null,
  };
};
