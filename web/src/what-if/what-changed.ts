// What differs between two runs, room by room, in words.
import type { Amendment, Budget, CellDiff, CellSide, RunDiff } from '#contracts';
import { budgetText, count, money, plural } from '#headends/run-view';

export type ChangedRow = {
  readonly room: string;
  /** `result to lead`, `ending`, `spent`, `answer`, `models`; `all` if the rooms are the same. */
  readonly what: string;
  readonly type: 'crossing' | 'ending' | 'text' | 'answer' | 'same' | 'only';
  /** Empty: this side has none. */
  readonly one: string;
  readonly other: string;
  /** The cells on both sides. */
  readonly cells: readonly [string | null, string | null];
};

/** What is known of both runs beyond their comparison. */
export type KnownSides = {
  /** Of a granted crossing such as `result to lead`: how large it was and by which grant; null: nothing more is known. */
  readonly granted: (side: 'one' | 'other', cell: string, name: string) => string | null;
  readonly goal: (side: 'one' | 'other', cell: string) => string;
};

const nothing: KnownSides = { granted: () => null, goal: () => '' };

/** Rooms of the agent that was changed come first, then others that differ, then those that are the same. */
export const changedRows = ({ cells, fork }: RunDiff, known: KnownSides = nothing): readonly ChangedRow[] => {
  const changed = fork?.amendment.agent;
  const rank = ({ same, place }: CellDiff): number =>
    same ? 2 : roomName(place).replace(/ #\d+$/u, '') === changed ? 0 : 1;
  return [...cells].sort((one, other) => rank(one) - rank(other)).flatMap((cell) => rowsOfCell(cell, known));
};

/** `lead › researcher #2` is researcher #2; the first of its name has no number. */
export const roomName = (place: string): string => (place.split(' › ').at(-1) ?? place).replace(/ #1$/u, '');

const rowsOfCell = ({ place, one, other, same, parts }: CellDiff, known: KnownSides): readonly ChangedRow[] => {
  const common = { room: roomName(place), cells: [one?.cell ?? null, other?.cell ?? null] as const };
  if (same) return [{ ...common, what: 'all', type: 'same', one: 'the same, byte for byte', other: '' }];
  if (one === null || other === null) {
    const side = one ?? other;
    const words = side === null ? '' : `${side.status ?? 'unfinished'}, ${spent(side)}`;
    const [left, right] = one === null ? ['', words] : [words, ''];
    return [{ ...common, what: 'only here', type: 'only', one: left, other: right }];
  }
  const text = (what: string, type: ChangedRow['type'], of: (side: CellSide) => string): readonly ChangedRow[] =>
    of(one) === of(other) ? [] : [{ ...common, what, type, one: of(one), other: of(other) }];
  const goals = [known.goal('one', one.cell), known.goal('other', other.cell)] as const;
  const rows: readonly ChangedRow[] = [
    ...(goals[0] === goals[1]
      ? []
      : [{ ...common, what: 'goal', type: 'answer' as const, one: goals[0], other: goals[1] }]),
    ...crossingRows(one, other).map(([what, left, right]) => ({
      ...common,
      what,
      type: 'crossing' as const,
      one: (left === crossed && known.granted('one', one.cell, what)) || left,
      other: (right === crossed && known.granted('other', other.cell, what)) || right,
    })),
    ...text('ending', 'ending', ({ status }) => status ?? 'running'),
    ...text('models', 'text', ({ models }) => models.join(', ') || 'none'),
    ...text('spent', 'text', spent),
    ...text('answer', 'answer', ({ output }) => output),
  ];
  if (rows.length > 0) return rows;
  const [left, right] = parts === null ? ['its definition', ''] : [parts.one, parts.other];
  return [
    { ...common, what: parts === null ? 'file' : `operation ${parts.op}`, type: 'text', one: left, other: right },
  ];
};

const spent = ({ spent: { inputTokens, outputTokens, usd } }: CellSide): string =>
  `${count(inputTokens)} in, ${count(outputTokens)} out, ${money(usd)}`;

const refusal = / refused: (.*)$/u;

/** Crossings by what and whom; those that one side has and the other has not, or has refused. */
const crossingRows = (one: CellSide, other: CellSide): readonly (readonly [string, string, string])[] => {
  const [left, right] = [byName(one), byName(other)];
  const names = new Set([...left.keys(), ...right.keys()]);
  return [...names].flatMap((name) => {
    const [a, b] = [left.get(name) ?? [], right.get(name) ?? []];
    // What comes from another room is told there, as what that room sent.
    if (/ from (?!you$)/u.test(name)) return [];
    return a.join('\n') === b.join('\n') ? [] : [[name, describeCrossings(a), describeCrossings(b)] as const];
  });
};

const byName = ({ crossings }: CellSide): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [
      ...Map.groupBy(crossings, (words) =>
        words
          .replace(refusal, '')
          .replace(/ #1$/u, '')
          .replace(/ outside$/u, ' you'),
      ),
    ].map(([name, all]) => [name, all.map((words) => refusal.exec(words)?.[1] ?? '')]),
  );

const crossed = 'crossed';

const describeCrossings = (all: readonly string[]): string => {
  const refused = all.filter((reason) => reason !== '');
  if (all.length === 0) return 'none';
  if (refused.length === 0) return all.length === 1 ? crossed : `${all.length} crossed`;
  const reason = `refused: ${(refused[0] ?? '').replaceAll('-', ' ')}`;
  return all.length === 1 ? reason : `${refused.length} of ${all.length} ${reason}`;
};

/** `2 of 4 rooms differ, 5 records in common`. */
export const changedSentence = ({ cells, same, sameFrames }: RunDiff): string => {
  const differing = cells.filter((cell) => !cell.same).length;
  if (same) return 'Nothing differs.';
  return `${count(differing)} of ${plural(cells.length, 'room')} differ, ${plural(sameFrames, 'record')} in common`;
};

/** What was changed, as a question and as the name of a side. */
export const amendmentWords = (
  amendment: Amendment | null,
  budget: Budget | null = null,
): { readonly question: string; readonly strong: string; readonly side: string } => {
  if (amendment === null) return { question: '', strong: 'these two runs', side: 'beside it' };
  const { agent, model, withoutGrants = [], goal } = amendment;
  if (withoutGrants.length > 0)
    return { question: `${agent} had no grant`, strong: withoutGrants.join(', '), side: 'without it' };
  if (model !== undefined) return { question: `${agent} had the model`, strong: model, side: 'with it' };
  if (goal !== undefined)
    return { question: `${agent} were asked`, strong: goal.replace(/\?$/u, ''), side: 'asked that' };
  if (budget !== null) return { question: 'the budget had been', strong: budgetText(budget), side: 'within it' };
  return { question: `${agent} tried`, strong: 'again', side: 'once more' };
};

export type ForkChange = {
  readonly at: string;
  readonly goal?: string;
  readonly model?: string;
  readonly withoutGrants?: readonly string[];
  readonly budget?: Budget;
};

const quote = (text: string): string =>
  /^[\w./:@-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The same on the command line. */
export const forkCommand = (run: string, { at, goal, model, withoutGrants = [], budget }: ForkChange): string =>
  [
    'cloister',
    'fork',
    run,
    '--at',
    quote(at),
    ...withoutGrants.flatMap((grant) => ['--without-grant', quote(grant)]),
    ...(model === undefined ? [] : ['--model', quote(model)]),
    ...(goal === undefined ? [] : ['--goal', quote(goal)]),
    ...Object.entries(budget ?? {}).map(([unit, most]) => `--budget-${unit} ${most}`),
  ].join(' ');
