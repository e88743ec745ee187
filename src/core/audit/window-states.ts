// A cell's window followed over its attempts: what is in view, and what gave way.
//
//   A9. Of a segment it keeps the number, the category and the size; nothing of what it says.
import type { Attempt, DurableEvent, RuleName, SegmentRecord, ViewChange, WindowLimit } from '#contracts';

export type WindowState = {
  /** In the order in which the model sees them. */
  readonly view: VisibleSegment[];
  /** Of the newest attempt. */
  limit: WindowLimit | undefined;
};

export type VisibleSegment = Pick<SegmentRecord, 'id' | 'category' | 'bytes'>;

export type Trim = Pick<
  Extract<DurableEvent, { type: 'window-trim' }>,
  'how' | 'messages' | 'bytesBefore' | 'bytesAfter'
>;

export type Clamp = { readonly window: WindowLimit; readonly was: number | null };

export const startWindow = (): WindowState => ({ view: [], limit: undefined });

/** Takes the next attempt in. Gives what gave way for it, once for each way, and whether there is less room than before. */
export const followAttempt = (
  followed: WindowState,
  attempt: Attempt,
  caller: WindowState | undefined,
): { readonly trims: readonly Trim[]; readonly clamp: Clamp | undefined } => {
  const trims = new Map<Trim['how'], Trim>();
  for (const change of attempt.changes) {
    const gone = applyChange(followed.view, change);
    const how = gone.length === 0 ? undefined : wayOf(change);
    if (how !== undefined) trims.set(how, added(trims.get(how), how, gone, change));
  }
  const clamp = clampOf(followed.limit ?? caller?.limit, windowOf(attempt));
  followed.limit = windowOf(attempt);
  return { trims: [...trims.values()], clamp };
};

/** Logs of earlier versions do not say it. */
const windowOf = ({ window }: { readonly window?: WindowLimit }): WindowLimit | undefined => window;

/** A window that is smaller than the one before; or, at the beginning, smaller for the sake of others. */
const clampOf = (before: WindowLimit | undefined, now: WindowLimit | undefined): Clamp | undefined => {
  if (now === undefined) return undefined;
  if (before === undefined) return now.by === 'group' ? { window: now, was: null } : undefined;
  return now.tokens < before.tokens ? { window: now, was: before.tokens } : undefined;
};

/** Changes the view; gives what left it. A range that is not in view changes nothing: the audit names it. */
const applyChange = (view: VisibleSegment[], change: ViewChange): readonly VisibleSegment[] => {
  if ('add' in change) {
    for (const record of change.add) view.push(seenOf(record));
    return [];
  }
  const [first, last] = 'replace' in change ? change.replace : change.drop;
  const from = view.findIndex(({ id }) => id === first);
  const to = view.findIndex(({ id }) => id === last);
  const by = 'replace' in change ? [seenOf(change.by)] : [];
  if (from >= 0 && to >= from) return view.splice(from, to - from + 1, ...by);
  view.push(...by);
  return [];
};

const seenOf = ({ id, category, bytes }: SegmentRecord): VisibleSegment => ({ id, category, bytes });

const ways: readonly (readonly [rule: RegExp, how: Trim['how']])[] = [
  [/^(?:compact|recap|summary)@/u, 'compacted'],
  [/^shorten@/u, 'shortened'],
];

/** Other rules change the view for other reasons: a model that cannot use another's reasoning, a last turn without tools. */
const wayOf = (change: ViewChange): Trim['how'] | undefined => {
  if ('add' in change) return undefined;
  if ('drop' in change) return isLastTurn(change.rule) ? undefined : 'dropped';
  return ways.find(([rule]) => rule.test(change.by.origin.rule))?.[1];
};

const isLastTurn = (rule: RuleName): boolean => rule.startsWith('last-turn@');

const added = (
  before: Trim | undefined,
  how: Trim['how'],
  gone: readonly VisibleSegment[],
  change: ViewChange,
): Trim => ({
  how,
  messages: (before?.messages ?? 0) + gone.length,
  bytesBefore: gone.reduce((sum, { bytes }) => sum + bytes, before?.bytesBefore ?? 0),
  bytesAfter: (before?.bytesAfter ?? 0) + ('by' in change ? change.by.bytes : 0),
});
