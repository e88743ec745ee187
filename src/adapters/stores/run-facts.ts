// What the list of runs shows about one run, folded from its frames.
import { readRecordedBy, readTeamGoal, describeTeamGoal, unknownKind } from '#base';
import type { RecordedBy, RunId } from '#base';
import type { Birth, Frame, Spent, Status, RunQuery } from '#contracts';

export type RunFacts = {
  readonly agent: string;
  readonly goal: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly status: Status | null;
  /** Cells created in the folded frames. */
  readonly cells: number;
  readonly caller: string | null;
  readonly spent: Spent | null;
  /** Null in a log that does not say it. */
  readonly recordedBy: RecordedBy | null;
};

const goalCharsMax = 200;

export const noFacts: RunFacts = {
  agent: '',
  goal: '',
  startedAt: 0,
  endedAt: null,
  status: null,
  cells: 0,
  caller: null,
  spent: null,
  recordedBy: null,
};

export const foldFacts = (facts: RunFacts, frame: Frame): RunFacts => {
  const { record } = frame;
  switch (record.type) {
    case 'open': {
      const goal = firstChars(describeGoal(frame, record.birth), goalCharsMax);
      const { birth, caller = null } = record;
      const cells = facts.cells + 1;
      return {
        ...facts,
        agent: birth.agent,
        goal,
        startedAt: frame.at,
        cells,
        caller,
        recordedBy: readRecordedBy(record),
      };
    }
    case 'begin':
      return record.birth === undefined ? facts : { ...facts, cells: facts.cells + 1 };
    case 'close':
      return { ...facts, endedAt: frame.at, status: record.outcome.status, spent: record.outcome.spent };
    case 'settle':
    case 'held':
    case 'again':
    case 'resume':
    case 'give':
    case 'post':
    case 'mail':
    case 'delivered':
    case 'ruling':
    case 'cancel':
      return facts;
    // The frames before a fork belong to another run.
    case 'fork':
      return { ...facts, startedAt: record.from.forkedAt, caller: /* probe: fork-belongs-to */ record.caller ?? null };
    default:
      return unknownKind(record, facts);
  }
};

/** What every record has in it that changes a fact, as `JSON.stringify` writes it. */
const factMarks = ['"type":"open"', '"birth":{', '"type":"close"', '"type":"fork"'];

/** The same for the text of a frame. Most frames change nothing, and their text is not parsed. */
export const foldFactsInText = (facts: RunFacts, body: string): RunFacts =>
  factMarks.some((mark) => body.includes(mark)) ? foldFacts(facts, JSON.parse(body) as Frame) : facts;

/** Merges the listed facts of a run with those of its next frames. */
export const addFacts = (kept: RunFacts, next: RunFacts): RunFacts => ({
  ...kept,
  endedAt: next.endedAt ?? kept.endedAt,
  status: next.status ?? kept.status,
  spent: next.spent ?? kept.spent,
  cells: kept.cells + next.cells,
});

/** The goal of a run; for a team, as readable text. */
const describeGoal = (frame: Frame, { cell, digest }: Birth): string => {
  const goal = findGoal(frame, cell);
  const isTeam = frame.definitions?.find((one) => one.digest === digest)?.definition.team !== undefined;
  return isTeam && goal !== '' ? describeTeamGoal(readTeamGoal(goal)) : goal;
};

/** The goal that crossed into a cell with the frame that created it. */
export const findGoal = (frame: Frame, cell: string): string =>
  frame.contents?.find((crossed) => crossed.cell === cell && crossed.kind === 'goal')?.content ?? '';

/** Counts code points, so that no character is cut in half. */
export const firstChars = (text: string, charsMax: number): string => {
  if (text.length <= charsMax) return text;
  let end = 0;
  for (let chars = 0; chars < charsMax && end < text.length; chars++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return text.slice(0, end);
};

// Selects the runs of a query, for stores without a database.
type ListedRun = Pick<RunFacts, 'caller' | 'startedAt' | 'endedAt'> & { readonly run: RunId };

/** `all`: in the order in which they began. The result is newest first. */
export const selectRuns = <T extends ListedRun>(all: readonly T[], query: RunQuery = {}): readonly T[] => {
  if ('runs' in query) return all.filter(({ run }) => query.runs.includes(run)).toReversed();
  const { before, most } = query;
  const end =
    before === undefined
      ? all.length
      : Math.max(
          0,
          all.findIndex(({ run }) => run === before),
        );
  return all
    .slice(0, end)
    .filter((one) => meetsConditions(query, one))
    .toReversed()
    .slice(0, most);
};

const meetsConditions = (
  { caller, since = 0, prefix = '', open }: Exclude<RunQuery, { readonly runs: unknown }>,
  one: ListedRun,
): boolean =>
  (caller === undefined || caller === one.caller) &&
  one.startedAt >= since &&
  one.run.startsWith(prefix) &&
  (open === undefined || one.endedAt === null);
