// Reports a run for people: who did what, what it used, and how it ended.
import { CloisterError, omitUndefined, readRecordedBy, readTeamGoal, describeTeamGoal } from '#base';
import type { CellId } from '#base';
import type {
  CellReport,
  ConversationRef,
  DurableEvent,
  Figures,
  Frame,
  History,
  RunReport,
  RunSummary,
  Stalls,
} from '#contracts';
import { addCounts, countEvent, toFigures, emptyCounts } from './figures.ts';
import type { Counts } from './figures.ts';
import { projectEvents } from './project-events.ts';
import { readFrame, startRecords } from './records.ts';
import type { CellRecords, RunRecords } from './records.ts';
import { toSpent, sumTally } from './tally.ts';

/**
 * `frames`: one run in log order. `state`: what the store knows of the run's owner. `pause`: awaited before each frame, so that
 * other work can be done in between; undefined: no need.
 */
export const reportRun = async (
  frames: readonly Frame[],
  state: RunSummary['state'],
  pause?: () => Promise<void> | undefined,
): Promise<RunReport> => {
  const records = startRecords();
  const fold = projectEvents();
  const events: DurableEvent[] = [];
  for (const frame of frames) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    readFrame(records, frame);
    for (const event of fold.next(frame)) events.push(event);
  }
  const { root } = records;
  const [first, last] = [frames[0], frames.at(-1)];
  if (root === undefined || first === undefined || last === undefined)
    throw new CloisterError('store_damaged', 'The log does not begin with the start of a run.');
  const counts = countCells([...records.cells.values()], events);
  const workedMs = workedTime(frames);
  const stalls = sumStalls(frames);
  const cells = [...records.cells.values()].map((cell) =>
    reportCell(cell, workedMs(cell.startedAt, cell.end?.at ?? last.at), { counts, stalls }),
  );
  return {
    run: first.run,
    agent: root.birth.agent,
    goal: readGoal(root, records),
    caller: readCaller(frames),
    history: readHistory(root),
    ...omitUndefined({ chat: readChat(frames) }),
    recordedBy: readRecordedBy(first.record),
    continuedBy: readContinuedBy(frames),
    status: root.end?.outcome.status ?? (state === 'running' ? 'running' : 'interrupted'),
    output: root.end?.outcome.output ?? '',
    spent: toSpent(sumTally(root), workedMs(root.startedAt, root.end?.at ?? last.at)),
    startedAt: root.startedAt,
    endedAt: root.end?.at ?? null,
    cells,
    events,
  };
};

/** For a team: its goal, or the number of its tasks. */
const readGoal = ({ birth, received }: CellRecords, { definitions }: RunRecords): string => {
  const content = received.get(0)?.content ?? '';
  if (content === '' || definitions.get(birth.digest)?.team === undefined) return content;
  return describeTeamGoal(readTeamGoal(content));
};

/** A fork belongs to the operator, not to the caller of the original run. */
const readCaller = (frames: readonly Frame[]): string | null => {
  const [first] = frames;
  if (first?.record.type !== 'open' || frames.some(({ record }) => record.type === 'fork')) return null;
  return first.record.caller ?? null;
};

const readChat = ([first]: readonly Frame[]): ConversationRef | undefined =>
  first?.record.type === 'open' && first.record.birth.spawned !== undefined ? first.record.conversation : undefined;

const readContinuedBy = ([first, ...rest]: readonly Frame[]): readonly string[] => {
  const builds = new Set(rest.flatMap(({ record }) => (record.type === 'resume' ? [record.build] : [])));
  builds.delete(readRecordedBy(first?.record)?.build ?? '');
  return [...builds];
};

/** The history that the root cell received at its start. */
const readHistory = ({ received }: CellRecords): RunReport['history'] => {
  const content = [...received.values()].find(({ entry }) => entry.kind === 'history')?.content;
  return content === undefined
    ? []
    : (JSON.parse(content) as History).entries.filter(({ category }) => category !== 'TOOLS');
};

type CellCounts = { readonly own: ReadonlyMap<CellId, Counts>; readonly total: ReadonlyMap<CellId, Counts> };

const countCells = (cells: readonly CellRecords[], events: readonly DurableEvent[]): CellCounts => {
  const own = new Map(cells.map(({ birth }) => [birth.cell, emptyCounts()]));
  for (const event of events) {
    const counts = own.get(event.cell);
    if (counts !== undefined) countEvent(counts, event);
  }
  const total = new Map<CellId, Counts>();
  // Children are created after their parents, so in reverse order every child's total is complete before its parent adds it.
  for (const { birth, children } of cells.toReversed()) {
    const counts = emptyCounts();
    addCounts(counts, own.get(birth.cell) ?? emptyCounts());
    for (const child of children) addCounts(counts, total.get(child.birth.cell) ?? emptyCounts());
    total.set(birth.cell, counts);
  }
  return { own, total };
};

/** Excludes the time during which the run was down. */
const workedTime = (frames: readonly Frame[]): ((from: number, to: number) => number) => {
  const gaps = frames.flatMap(({ at, record }) => (record.type === 'resume' ? [{ at, ms: record.downMs }] : []));
  return (from, to) => gaps.reduce((ms, gap) => (gap.at > from && gap.at <= to ? ms - gap.ms : ms), to - from);
};

type CellSums = { readonly counts: CellCounts; readonly stalls: ReadonlyMap<CellId, Stalls> };

const noStalls: Stalls = { count: 0, longestMs: 0 };

const sumStalls = (frames: readonly Frame[]): ReadonlyMap<CellId, Stalls> => {
  const sums = new Map<CellId, Stalls>();
  for (const { cell, count, longestMs } of frames.flatMap(({ stalls = [] }) => stalls)) {
    const sum = sums.get(cell) ?? noStalls;
    sums.set(cell, { count: sum.count + count, longestMs: Math.max(sum.longestMs, longestMs) });
  }
  return sums;
};

/** For a cell that has not ended, time counts up to the newest frame. */
const reportCell = (cell: CellRecords, ms: number, { counts: counted, stalls }: CellSums): CellReport => {
  const { birth, own, end } = cell;
  const attempts = [...cell.operations.values()].flatMap(({ attempt }) => attempt ?? []);
  return {
    cell: birth.cell,
    parent: birth.parent,
    agent: birth.agent,
    depth: birth.depth,
    status: end?.outcome.status ?? null,
    turns: new Set(attempts.map(({ turn }) => turn)).size,
    spent: toSpent(sumTally(cell), ms),
    own: toSpent(own, ms),
    figures: { own: cellFigures(counted.own, birth.cell), total: cellFigures(counted.total, birth.cell) },
    stalls: stalls.get(birth.cell) ?? noStalls,
    models: [...new Set(attempts.map(({ model }) => model))],
    outcome: end?.outcome ?? null,
  };
};

const cellFigures = (counts: ReadonlyMap<CellId, Counts>, cell: CellId): Figures =>
  toFigures(counts.get(cell) ?? emptyCounts());
