// A run as it is shown to people: who did what, what it used, how it ended.
import { CloisterError, readTeamGoal, describeTeamGoal } from '#base';
import type { CellId } from '#base';
import type { CellReport, DurableEvent, Figures, Frame, History, RunReport, RunSummary } from '#contracts';
import { addCounts, countEvent, figuresOf, noCounts } from './figures.ts';
import type { Counts } from './figures.ts';
import { projectEvents } from './project-events.ts';
import { readFrame, startRecords } from './records.ts';
import type { CellRecords, RunRecords } from './records.ts';
import { spentOf, totalOf } from './tally.ts';

/** `frames` is one run in the order of its log; `state` is what its store knows of its owner. */
export const reportRun = (frames: readonly Frame[], state: RunSummary['state']): RunReport => {
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
  const counted = countCells([...records.cells.values()], events);
  const workedMs = workedBetween(frames);
  const cells = [...records.cells.values()].map((cell) =>
    reportCell(cell, workedMs(cell.startedAt, cell.end?.at ?? last.at), counted),
  );
  return {
    run: first.run,
    agent: root.birth.agent,
    goal: goalOf(root, records),
    caller: callerOf(frames),
    history: historyOf(root),
    status: root.end?.outcome.status ?? (state === 'running' ? 'running' : 'interrupted'),
    output: root.end?.outcome.output ?? '',
    spent: spentOf(totalOf(root), workedMs(root.startedAt, root.end?.at ?? last.at)),
    startedAt: root.startedAt,
    endedAt: root.end?.at ?? null,
    cells,
    events,
  };
};

/** Of a team, what it is asked for; or how many tasks it is given. */
const goalOf = ({ birth, received }: CellRecords, { definitions }: RunRecords): string => {
  const content = received.get(0)?.content ?? '';
  if (content === '' || definitions.get(birth.digest)?.team === undefined) return content;
  return describeTeamGoal(readTeamGoal(content));
};

/** What was made out of another run is the operator's. */
const callerOf = (frames: readonly Frame[]): string | null => {
  const [first] = frames;
  if (first?.record.type !== 'open' || frames.some(({ record }) => record.type === 'fork')) return null;
  return first.record.caller ?? null;
};

/** What it was told when it was born. */
const historyOf = ({ received }: CellRecords): RunReport['history'] => {
  const told = [...received.values()].find(({ entry }) => entry.kind === 'history')?.content;
  return told === undefined ? [] : (JSON.parse(told) as History).entries;
};

type Counted = { readonly own: ReadonlyMap<CellId, Counts>; readonly total: ReadonlyMap<CellId, Counts> };

const countCells = (cells: readonly CellRecords[], events: readonly DurableEvent[]): Counted => {
  const own = new Map(cells.map(({ birth }) => [birth.cell, noCounts()]));
  for (const event of events) {
    const counts = own.get(event.cell);
    if (counts !== undefined) countEvent(counts, event);
  }
  const total = new Map<CellId, Counts>();
  // Children are born after their parents, so from the end on every child is whole before its parent takes it in.
  for (const { birth, children } of cells.toReversed()) {
    const counts = noCounts();
    addCounts(counts, own.get(birth.cell) ?? noCounts());
    for (const child of children) addCounts(counts, total.get(child.birth.cell) ?? noCounts());
    total.set(birth.cell, counts);
  }
  return { own, total };
};

/** Without the time for which the run was down. */
const workedBetween = (frames: readonly Frame[]): ((from: number, to: number) => number) => {
  const gaps = frames.flatMap(({ at, record }) => (record.type === 'resume' ? [{ at, ms: record.downMs }] : []));
  return (from, to) => gaps.reduce((ms, gap) => (gap.at > from && gap.at <= to ? ms - gap.ms : ms), to - from);
};

/** A cell that has not ended has used time up to the newest frame. */
const reportCell = (cell: CellRecords, ms: number, counted: Counted): CellReport => {
  const { birth, own, end } = cell;
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
    figures: { own: figuresIn(counted.own, birth.cell), total: figuresIn(counted.total, birth.cell) },
    models: [...new Set(attempts.map(({ model }) => model))],
    outcome: end?.outcome ?? null,
  };
};

const figuresIn = (counts: ReadonlyMap<CellId, Counts>, cell: CellId): Figures =>
  figuresOf(counts.get(cell) ?? noCounts());
