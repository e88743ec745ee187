// Tracks a cell's window over its attempts: what is in view, and what was removed or shortened.
import { OrderedItems } from '#base';
import type { Attempt, DurableEvent, RuleName, SegmentRecord, ViewChange, WindowLimit } from '#contracts';

export type WindowState = {
  /** In the order in which the model sees them. */
  readonly view: OrderedItems<VisibleSegment>;
  /** Of the newest attempt. */
  limit: WindowLimit | undefined;
};

export type VisibleSegment = Pick<SegmentRecord, 'id' | 'category' | 'bytes'>;

type Trim = Pick<Extract<DurableEvent, { type: 'window-trim' }>, 'how' | 'messages' | 'bytesBefore' | 'bytesAfter'>;

type Clamp = { readonly window: WindowLimit; readonly was: number | null };

export const startWindow = (): WindowState => ({ view: new OrderedItems(), limit: undefined });

/** Applies the next attempt. Returns one trim per kind of reduction, and a clamp if the window became smaller. */
export const followAttempt = (
  window: WindowState,
  attempt: Attempt,
  caller: WindowState | undefined,
): { readonly trims: readonly Trim[]; readonly clamp: Clamp | undefined } => {
  const trims = new Map<Trim['how'], Trim>();
  for (const change of attempt.changes) {
    const removed = applyViewChange(window.view, change, toVisible);
    const how = removed.length === 0 ? undefined : trimKind(change);
    if (how !== undefined) trims.set(how, mergeTrim(trims.get(how), how, removed, change));
  }
  const clamp = findClamp(window.limit ?? caller?.limit, windowLimit(attempt));
  window.limit = windowLimit(attempt);
  return { trims: [...trims.values()], clamp };
};

/** Logs of earlier versions do not record the window. */
const windowLimit = ({ window }: { readonly window?: WindowLimit }): WindowLimit | undefined => window;

/** A window that is smaller than the previous one or, for the first attempt, limited by its budget group. */
const findClamp = (before: WindowLimit | undefined, now: WindowLimit | undefined): Clamp | undefined => {
  if (now === undefined) return undefined;
  if (before === undefined) return now.by === 'group' ? { window: now, was: null } : undefined;
  return now.tokens < before.tokens ? { window: now, was: before.tokens } : undefined;
};

/** Applies a change and returns the removed segments. A range that is not in view removes nothing; the audit reports it. */
export const applyViewChange = <S>(
  view: OrderedItems<S>,
  change: ViewChange,
  keep: (record: SegmentRecord) => S,
): readonly S[] => {
  if ('add' in change) {
    for (const record of change.add) view.add(record.id, keep(record));
    return [];
  }
  if ('drop' in change) return view.removeRange(...change.drop) ?? [];
  const { replace, by } = change;
  const item = keep(by);
  const removed = view.replaceRange(...replace, [by.id, item]);
  if (removed === undefined) view.add(by.id, item);
  return removed ?? [];
};

const toVisible = ({ id, category, bytes }: SegmentRecord): VisibleSegment => ({ id, category, bytes });

const trimRules: readonly (readonly [rule: RegExp, how: Trim['how']])[] = [
  [/^(?:compact|recap|summary)@/u, 'compacted'],
  [/^shorten@/u, 'shortened'],
];

/** Other rules do not make room: they remove reasoning that another model cannot use, or the tools in a last turn. */
const trimKind = (change: ViewChange): Trim['how'] | undefined => {
  if ('add' in change) return undefined;
  if ('drop' in change) return isLastTurn(change.rule) ? undefined : 'dropped';
  return trimRules.find(([rule]) => rule.test(change.by.origin.rule))?.[1];
};

const isLastTurn = (rule: RuleName): boolean => rule.startsWith('last-turn@');

const mergeTrim = (
  before: Trim | undefined,
  how: Trim['how'],
  removed: readonly VisibleSegment[],
  change: ViewChange,
): Trim => ({
  how,
  messages: (before?.messages ?? 0) + removed.length,
  bytesBefore: removed.reduce((sum, { bytes }) => sum + bytes, before?.bytesBefore ?? 0),
  bytesAfter: (before?.bytesAfter ?? 0) + ('by' in change ? change.by.bytes : 0),
});
