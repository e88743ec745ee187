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
  FrameSource,
  Outcome,
  RunReport,
  RunSummary,
  Sees,
  Spent,
  Stalls,
} from '#contracts';
import { CauseList, listAnswerCauses } from './causes.ts';
import { addCounts, countEvent, sumModels, toFigures, emptyCounts } from './figures.ts';
import type { Counts } from './figures.ts';
import { Accounts, isCountedStep } from './accounts.ts';
import { InterimText } from './interim-text.ts';
import { projectEvents } from './project-events.ts';
import { Refusals } from './refusals.ts';

type CellState = {
  readonly birth: Pick<Birth, 'cell' | 'parent' | 'agent' | 'depth'>;
  readonly startedAt: number;
  readonly children: CellState[];
  turns: number;
  /** That of its newest request. */
  turn: number | null;
  readonly models: string[];
  end: { readonly at: number; readonly outcome: Outcome } | null;
  /** What the reader is told about its failure. */
  detail: string | undefined;
  /** Its own requests, and those of all cells below it too. */
  readonly own: Counts;
  total: Counts;
};

type ReportOptions = {
  /** How much the reader of the report may see of its events. */
  readonly sees?: Sees | undefined;
  /** Whether its events carry contents, if the reader may see them. */
  readonly details?: boolean | undefined;
  /** `refusals`: its events are those that tell of refusals and of the root's start. */
  readonly events?: 'all' | 'refusals' | undefined;
  /** The id of an answer: the causes are those of the work that it ended. */
  readonly answer?: string | undefined;
  /** Awaited before each frame, so that other work can be done in between; undefined: no need. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
};

/** `frames`: one run in log order. `state`: what the store knows of the run's owner. */
export const reportRun = async (
  frames: FrameSource,
  state: RunSummary['state'],
  { sees = 'contents', details, events: kept = 'all', answer, pause }: ReportOptions = {},
): Promise<RunReport> => {
  const states = new Map<CellId, CellState>();
  const fold = projectEvents(sees, details);
  const events: DurableEvent[] = [];
  const refusals = new Refusals(events);
  const causes = new CauseList();
  const interim = new InterimText();
  const accounts = new Accounts();
  const facts = new LogFacts();
  for await (const frame of frames) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    facts.next(frame);
    readFrame(states, frame);
    interim.next(frame);
    accounts.next(frame);
    for (const event of fold.next(frame)) {
      // The causes of an answer follow from all events.
      if (kept === 'all' || answer !== undefined) events.push(event);
      else refusals.next(event);
      causes.add(event);
      const cell = states.get(event.cell);
      if (cell === undefined) continue;
      countEvent(cell.own, event);
      if (event.type === 'session-end') cell.detail = event.error?.detail;
    }
    refusals.endFrame();
  }
  sumCounts(states);
  const { first, last } = facts;
  const root = first && states.get(first.cell);
  if (root === undefined || first?.record.type !== 'open' || last === undefined)
    throw new CloisterError('store_damaged', 'The log does not begin with the start of a run.');
  const timeOf = cellTimes(facts, accounts);
  const cells: CellReport[] = [];
  for (const [id, cell] of states) {
    cells.push({
      ...reportCell(cell, timeOf(cell), facts.stalls.get(id) ?? noStalls),
      // probe: cell-cause
      outcome: reportOutcome(cell, sees),
    });
    // There may be very many, and each is reported once.
    states.delete(id);
  }
  return {
    run: first.run,
    agent: root.birth.agent,
    goal: readGoal(events),
    caller: facts.caller,
    requestHash: first.record.requestHash ?? null,
    attachments: goalAttachments(first.contents),
    history: readHistory(first),
    ...omitUndefined({ chat: readChat(first) }),
    budget: readBudget(first, first.record.birth),
    fork: readFork(events),
    recordedBy: readRecordedBy(first.record),
    continuedBy: facts.continuedBy,
    status: root.end?.outcome.status ?? openStatus(accounts.of(first.cell)?.activity.isPaused === true, state),
    output: root.end === null ? '' : interim.answerOf(root.end.outcome),
    spent: cells[0]!.spent,
    startedAt: root.startedAt,
    endedAt: root.end?.at ?? null,
    cells,
    events,
    causes: !seesCauses(sees) ? [] : answer === undefined ? causes.all : listAnswerCauses(events, answer),
  };
};

/** What a report says of the log as a whole. */
class LogFacts {
  first: Frame | undefined;
  last: Frame | undefined;
  /** A fork belongs to whoever forked it, not to the caller of the original run. */
  caller: string | null = null;
  readonly gaps: { readonly no: number; readonly at: number; readonly ms: number }[] = [];
  readonly stalls = new Map<CellId, Stalls>();
  readonly #builds = new Set<string>();

  next(frame: Frame): void {
    const { no, at, record, stalls = [] } = frame;
    if (this.first !== undefined && record.type === 'resume') this.#builds.add(record.build);
    this.first ??= frame;
    this.last = frame;
    if (record.type === 'fork' || record.type === 'open') this.caller = record.caller ?? null;
    if (record.type === 'resume') this.gaps.push({ no, at, ms: record.downMs });
    for (const { cell, count, longestMs } of stalls) {
      const sum = this.stalls.get(cell) ?? noStalls;
      this.stalls.set(cell, { count: sum.count + count, longestMs: Math.max(sum.longestMs, longestMs) });
    }
  }

  get continuedBy(): readonly string[] {
    const own = readRecordedBy(this.first?.record)?.build ?? '';
    return [...this.#builds].filter((build) => build !== own);
  }
}

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
      if (attempt !== undefined && cell !== undefined) noteAttempt(cell, attempt);
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

/** Turns come in order. */
const noteAttempt = (cell: CellState, { turn, model }: Attempt): void => {
  if (turn !== cell.turn) cell.turns++;
  cell.turn = turn;
  if (!cell.models.includes(model)) cell.models.push(model);
};

const addCell = (states: Map<CellId, CellState>, birth: Birth, startedAt: number): void => {
  if (states.has(birth.cell)) return;
  const own = emptyCounts();
  const requests = { turns: 0, turn: null, models: [] };
  const { cell: id, agent, depth } = birth;
  const parent = birth.parent === null ? undefined : states.get(birth.parent);
  // Each frame has its own copy of a name; there may be very many cells.
  const sibling = parent?.children.at(-1)?.birth.agent;
  const shared = {
    cell: id,
    parent: parent?.birth.cell ?? birth.parent,
    agent: sibling === agent ? sibling : agent,
    depth,
  };
  const cell: CellState = {
    birth: shared,
    startedAt,
    children: [],
    ...requests,
    end: null,
    detail: undefined,
    own,
    total: own,
  };
  states.set(id, cell);
  parent?.children.push(cell);
};

const endCell = (cell: CellState | undefined, at: number, outcome: Outcome): void => {
  if (cell !== undefined) cell.end ??= { at, outcome };
};

/** For a team: its goal, or the number of its tasks. */
const readGoal = ([first]: readonly DurableEvent[]): string => (first?.type === 'session-start' ? first.goal : '');

const readChat = (first: Frame): ConversationRef | undefined =>
  first.record.type === 'open' && first.record.birth.spawned !== undefined ? first.record.conversation : undefined;

/** The history that the root cell received at its start. */
const readHistory = ({ contents = [] }: Frame): RunReport['history'] => {
  const content = contents.find(({ kind }) => kind === 'history')?.content;
  return content === undefined ? [] : decodeHistory(content).entries.filter(({ category }) => category !== 'TOOLS');
};

/** Children are created after their parents, so in reverse order every child's total is complete before its parent adds it. */
const sumCounts = (states: ReadonlyMap<CellId, CellState>): void => {
  for (const cell of [...states.values()].toReversed()) {
    if (cell.children.length === 0) continue;
    cell.total = emptyCounts();
    addCounts(cell.total, cell.own);
    for (const child of cell.children) addCounts(cell.total, child.total);
    cell.children.length = 0;
  }
};

/** Whoever answers continues a run that waits, so it does not matter whether anybody owns it. */
const openStatus = (isWaiting: boolean, state: RunSummary['state']): RunReport['status'] =>
  isWaiting ? 'waiting' : state === 'running' ? 'running' : 'interrupted';

type CellTime = { readonly workedMs: number; readonly waitedMs: number };

/** What is neither: the time during which the run was down, unless it waited then. A cell that has not ended counts up to the newest frame. */
const cellTimes = ({ gaps, last }: LogFacts, accounts: Accounts): ((cell: CellState) => CellTime) => {
  const { no: lastNo, at: lastAt } = last!;
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

const reportCell = (
  { birth, own, total, end, turns, models }: CellState,
  { workedMs: ms, waitedMs }: CellTime,
  stalls: Stalls,
): Omit<CellReport, 'outcome'> => ({
  cell: birth.cell,
  parent: birth.parent,
  agent: birth.agent,
  depth: birth.depth,
  status: end?.outcome.status ?? null,
  turns,
  spent: toSpent(total, ms),
  own: toSpent(own, ms),
  waitedMs,
  figures: toReportedFigures(own, total),
  stalls,
  models,
});

/** Most cells of a large run have no children. */
const toReportedFigures = (own: Counts, total: Counts): CellReport['figures'] => {
  const figures = toFigures(own);
  return { own: figures, total: total === own ? figures : toFigures(total) };
};

const toSpent = (counts: Counts, ms: number): Spent => {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, nanoUsd, uncertain } = sumModels(counts);
  const usd = nanoUsd === null ? null : nanoUsd / 1e9;
  const { steps, spawns } = counts;
  return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, usd, ms, steps, spawns, uncertain };
};
