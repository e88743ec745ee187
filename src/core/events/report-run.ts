// Reports a run for people: who did what, what it used, and how it ended.
import { CloisterError, omitUndefined, readRecordedBy, unknownKind } from '#base';
import type { CellId } from '#base';
import { budgetOfRoot, decodeHistory, failureAsSeen, goalAttachments, seesCauses } from '#contracts';
import type {
  Attempt,
  Birth,
  Budget,
  CellReport,
  ConversationRef,
  DurableEvent,
  Frame,
  Outcome,
  RunReport,
  RunSummary,
  Sees,
  Spent,
  Stalls,
} from '#contracts';
import { listAnswerCauses, listCauses } from './causes.ts';
import { addCounts, countEvent, sumModels, toFigures, emptyCounts } from './figures.ts';
import type { Counts } from './figures.ts';
import { Accounts, isCountedStep } from './accounts.ts';
import { InterimText } from './interim-text.ts';
import { projectEvents } from './project-events.ts';

type CellState = {
  readonly birth: Birth;
  readonly startedAt: number;
  readonly children: CellState[];
  readonly attempts: Attempt[];
  end: { readonly at: number; readonly outcome: Outcome } | null;
  /** What the reader is told about its failure. */
  detail: string | undefined;
  /** Its own requests, and those of all cells below it too. */
  readonly own: Counts;
  readonly total: Counts;
};

type ReportOptions = {
  /** How much the reader of the report may see of its events. */
  readonly sees?: Sees | undefined;
  /** Whether its events carry contents, if the reader may see them. */
  readonly details?: boolean | undefined;
  /** The id of an answer: the causes are those of the work that it ended. */
  readonly answer?: string | undefined;
  /** Awaited before each frame, so that other work can be done in between; undefined: no need. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
};

/** `frames`: one run in log order. `state`: what the store knows of the run's owner. */
export const reportRun = async (
  frames: readonly Frame[],
  state: RunSummary['state'],
  { sees = 'contents', details, answer, pause }: ReportOptions = {},
): Promise<RunReport> => {
  const states = new Map<CellId, CellState>();
  const fold = projectEvents(sees, details);
  const events: DurableEvent[] = [];
  const interim = new InterimText();
  const accounts = new Accounts(true);
  for (const frame of frames) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    readFrame(states, frame);
    interim.next(frame);
    accounts.next(frame);
    for (const event of fold.next(frame)) {
      events.push(event);
      const cell = states.get(event.cell);
      if (cell === undefined) continue;
      countEvent(cell.own, event);
      if (event.type === 'session-end') cell.detail = event.error?.detail;
    }
  }
  sumCounts(states);
  const [first, last] = [frames[0], frames.at(-1)];
  const root = first && states.get(first.cell);
  if (root === undefined || first?.record.type !== 'open' || last === undefined)
    throw new CloisterError('store_damaged', 'The log does not begin with the start of a run.');
  const timeOf = cellTimes(frames, accounts);
  const stalls = sumStalls(frames);
  const cells = [...states.values()].map((cell) => ({
    ...reportCell(cell, timeOf(cell), stalls.get(cell.birth.cell) ?? noStalls),
    // probe: cell-cause
    outcome: reportOutcome(cell, sees),
  }));
  return {
    run: first.run,
    agent: root.birth.agent,
    goal: readGoal(events),
    caller: readCaller(frames),
    requestHash: first.record.requestHash ?? null,
    attachments: goalAttachments(first.contents),
    history: readHistory(first),
    ...omitUndefined({ chat: readChat(frames) }),
    budget: readBudget(first, root.birth),
    fork: readFork(events),
    recordedBy: readRecordedBy(first.record),
    continuedBy: readContinuedBy(frames),
    status: root.end?.outcome.status ?? openStatus(accounts.of(first.cell)?.activity.isPaused === true, state),
    output: root.end === null ? '' : interim.answerOf(root.end.outcome),
    spent: cells[0]!.spent,
    startedAt: root.startedAt,
    endedAt: root.end?.at ?? null,
    cells,
    events,
    causes: !seesCauses(sees) ? [] : answer === undefined ? listCauses(events) : listAnswerCauses(events, answer),
  };
};

const readBudget = ({ at }: Frame, birth: Birth): Budget | null => {
  const budget = budgetOfRoot(at, birth);
  return Object.keys(budget).length === 0 ? null : budget;
};

const readFork = (events: readonly DurableEvent[]): RunReport['fork'] => {
  const forked = events.findLast((event) => event.type === 'run-fork');
  return forked === undefined ? null : { run: forked.from.run, at: forked.from.at };
};

/** As recorded; where no detail is recorded, with that of the event. */
const reportOutcome = ({ end, detail }: CellState, sees: Sees): Outcome | null => {
  if (end === null || end.outcome.failure === null) return end?.outcome ?? null;
  const failure = { ...omitUndefined({ detail }), ...end.outcome.failure };
  return { ...end.outcome, failure: failureAsSeen(failure, sees) };
};

const readFrame = (states: Map<CellId, CellState>, { record, cell: id, at, attempt }: Frame): void => {
  const cell = states.get(id);
  switch (record.type) {
    case 'open':
      return addCell(states, record.birth, at);
    case 'begin':
      if (attempt !== undefined) cell?.attempts.push(attempt);
      if (cell !== undefined && isCountedStep(record)) cell.own.steps++;
      return record.birth && addCell(states, record.birth, at);
    case 'post':
      if (cell !== undefined && isCountedStep(record)) cell.own.steps++;
      return;
    case 'settle':
      return record.ended && endCell(states.get(record.ended.cell), at, record.ended.outcome);
    case 'close':
      return endCell(cell, at, record.outcome);
    case 'held':
    case 'again':
    case 'resume':
    case 'fork':
    case 'give':
    case 'mail':
    case 'delivered':
    case 'ruling':
    case 'cancel':
      return;
    default:
      return unknownKind(record, undefined);
  }
};

const addCell = (states: Map<CellId, CellState>, birth: Birth, startedAt: number): void => {
  if (states.has(birth.cell)) return;
  const counts = { own: emptyCounts(), total: emptyCounts() };
  const cell: CellState = { birth, startedAt, children: [], attempts: [], end: null, detail: undefined, ...counts };
  states.set(birth.cell, cell);
  if (birth.parent !== null) states.get(birth.parent)?.children.push(cell);
};

const endCell = (cell: CellState | undefined, at: number, outcome: Outcome): void => {
  if (cell !== undefined) cell.end ??= { at, outcome };
};

/** For a team: its goal, or the number of its tasks. */
const readGoal = ([first]: readonly DurableEvent[]): string => (first?.type === 'session-start' ? first.goal : '');

/** A fork belongs to whoever forked it, not to the caller of the original run. */
const readCaller = (frames: readonly Frame[]): string | null => {
  const start = frames.findLast(({ record }) => record.type === 'fork' || record.type === 'open')?.record;
  return start?.type === 'fork' || start?.type === 'open' ? (start.caller ?? null) : null;
};

const readChat = ([first]: readonly Frame[]): ConversationRef | undefined =>
  first?.record.type === 'open' && first.record.birth.spawned !== undefined ? first.record.conversation : undefined;

const readContinuedBy = ([first, ...rest]: readonly Frame[]): readonly string[] => {
  const builds = new Set(rest.flatMap(({ record }) => (record.type === 'resume' ? [record.build] : [])));
  builds.delete(readRecordedBy(first?.record)?.build ?? '');
  return [...builds];
};

/** The history that the root cell received at its start. */
const readHistory = ({ contents = [] }: Frame): RunReport['history'] => {
  const content = contents.find(({ kind }) => kind === 'history')?.content;
  return content === undefined ? [] : decodeHistory(content).entries.filter(({ category }) => category !== 'TOOLS');
};

/** Children are created after their parents, so in reverse order every child's total is complete before its parent adds it. */
const sumCounts = (states: ReadonlyMap<CellId, CellState>): void => {
  for (const { children, own, total } of [...states.values()].toReversed()) {
    addCounts(total, own);
    for (const child of children) addCounts(total, child.total);
  }
};

/** Whoever answers continues a run that waits, so it does not matter whether anybody owns it. */
const openStatus = (isWaiting: boolean, state: RunSummary['state']): RunReport['status'] =>
  isWaiting ? 'waiting' : state === 'running' ? 'running' : 'interrupted';

type CellTime = { readonly workedMs: number; readonly waitedMs: number };

/** What is neither: the time during which the run was down, unless it waited then. A cell that has not ended counts up to the newest frame. */
const cellTimes = (frames: readonly Frame[], accounts: Accounts): ((cell: CellState) => CellTime) => {
  const gaps = frames.flatMap(({ no, at, record }) =>
    record.type === 'resume' ? [{ no, at, ms: record.downMs }] : [],
  );
  const { no: lastNo, at: lastAt } = frames.at(-1)!;
  return ({ birth, startedAt, end }) => {
    const endAt = end?.at ?? lastAt;
    const pauses = accounts.of(birth.cell)?.activity.pauses ?? [];
    const ended = pauses.map(({ from, to }) => ({ from, to: to ?? { no: lastNo, at: endAt } }));
    const waitedMs = ended.reduce((ms, { from, to }) => ms + Math.max(0, to.at - from.at), 0);
    const downMs = gaps
      .filter(({ at }) => at > startedAt && at <= endAt)
      .filter(({ no }) => !ended.some(({ from, to }) => from.no < no && no <= to.no))
      .reduce((ms, gap) => ms + gap.ms, 0);
    // Once recorded, it is not computed again: everybody tells the same time.
    const workedMs = end?.outcome.spent.ms ?? Math.max(0, endAt - startedAt - downMs - waitedMs);
    return { workedMs, waitedMs };
  };
};

const noStalls: Stalls = { count: 0, longestMs: 0 };

const sumStalls = (frames: readonly Frame[]): ReadonlyMap<CellId, Stalls> => {
  const sums = new Map<CellId, Stalls>();
  for (const { cell, count, longestMs } of frames.flatMap(({ stalls = [] }) => stalls)) {
    const sum = sums.get(cell) ?? noStalls;
    sums.set(cell, { count: sum.count + count, longestMs: Math.max(sum.longestMs, longestMs) });
  }
  return sums;
};

const reportCell = (
  { birth, own, total, end, attempts }: CellState,
  { workedMs: ms, waitedMs }: CellTime,
  stalls: Stalls,
): Omit<CellReport, 'outcome'> => ({
  cell: birth.cell,
  parent: birth.parent,
  agent: birth.agent,
  depth: birth.depth,
  status: end?.outcome.status ?? null,
  turns: new Set(attempts.map(({ turn }) => turn)).size,
  spent: toSpent(total, ms),
  own: toSpent(own, ms),
  waitedMs,
  figures: { own: toFigures(own), total: toFigures(total) },
  stalls,
  models: [...new Set(attempts.map(({ model }) => model))],
});

const toSpent = (counts: Counts, ms: number): Spent => {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, nanoUsd, uncertain } = sumModels(counts);
  const usd = nanoUsd === null ? null : nanoUsd / 1e9;
  const { steps, spawns } = counts;
  return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, usd, ms, steps, spawns, uncertain };
};
