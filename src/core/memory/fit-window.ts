// Makes room in a window: what is reduced, and in which order.
//
//   fit-keeps-goal. SYSTEM and the goal are never reduced. The newest turn is reduced last.
//   fit-order. Tool calls of earlier turns, tool outputs, then dialog, then context; within each, the oldest first.
//   fit-shares-first. A category is first reduced to its share of the window, and below that only when all others are at
//       theirs.
//   fit-keeps-pairs. A call and its result stay together: an output is shortened in place, and a turn is compacted as a whole.
//   fit-frees-half. Outputs and dialog are reduced until half of the window is free, so that this does not happen every turn.
import type { Category, RuleName, Segment, Source } from '#contracts';
import { isGoalFile, isMadeBy, ruleFamily } from '#core/rules';
import type { ContextWindow } from './context-window.ts';

/** How many tokens may be in view, and the estimated number of tokens per byte. */
export type WindowRoom = { readonly tokens: number; readonly tokensPerByte: number };

/** Four bytes per token, until a provider has reported its usage. Holds use bytes. */
export const defaultTokensPerByte = 0.25;

/** Shares of the room that SYSTEM and the goal leave. */
const windowShares: Readonly<Record<Exclude<Category, 'SYSTEM'>, number>> = {
  TOOLS: 0.3,
  DIALOG: 0.45,
  CONTEXT: 0.25,
};

const zeroShares: typeof windowShares = { TOOLS: 0, DIALOG: 0, CONTEXT: 0 };

export const bytesToTokens = (bytes: number, { tokensPerByte }: Pick<WindowRoom, 'tokensPerByte'>): number =>
  Math.ceil(bytes * tokensPerByte);

/** Returns true if the view fits, and false if SYSTEM and the goal alone do not fit. */
export const fitWindow = (window: ContextWindow, room: WindowRoom): boolean => {
  dropEarlierCalls(window, room);
  const bytesMax = Math.floor(room.tokens / room.tokensPerByte);
  if (window.bytes <= bytesMax) return true;
  const fixed = totalBytes(window.view.filter(isFixed));
  const left = Math.max(0, bytesMax - fixed);
  const half = Math.max(fixed, Math.floor(bytesMax / 2));
  for (const share of [windowShares, zeroShares])
    for (const kind of ['TOOLS', 'DIALOG', 'CONTEXT'] as const)
      if (window.bytes > bytesMax)
        reduceCategory(window, kind, {
          until: kind === 'CONTEXT' ? bytesMax : half,
          keep: Math.floor(left * share[kind]),
        });
  if (window.bytes > bytesMax) reduceNewestTurn(window, bytesMax);
  return window.bytes <= bytesMax;
};

/** Drops tool calls of earlier turns, if the view does not fit: until half of the window is free, a call with its result. No room: all. */
export const dropEarlierCalls = (window: ContextWindow, room?: WindowRoom): void => {
  const bytesMax = room === undefined ? 0 : Math.floor(room.tokens / room.tokensPerByte);
  if (window.bytes <= bytesMax) return;
  const bytesToFree = window.bytes - Math.floor(bytesMax / 2);
  for (let freed = 0; freed < bytesToFree;) {
    const { view } = window;
    const first = view.findIndex(isEarlierCall);
    if (first < 0) return;
    let last = first;
    const continues = (next: Segment | undefined): boolean =>
      next !== undefined && isEarlierCall(next) && (freed < bytesToFree || isResult(next.part));
    for (freed += view[first]!.bytes; continues(view[last + 1]); last++) freed += view[last + 1]!.bytes;
    window.drop(first, last, 'trim@1');
  }
};

/** The positions of the old turns that would be compacted now; null if there is room or nothing to gain. */
export const findOldTurns = (
  window: ContextWindow,
  room: WindowRoom,
): readonly [first: number, last: number] | null => {
  const bytesMax = Math.floor(room.tokens / room.tokensPerByte);
  if (window.bytes <= bytesMax) return null;
  const { view } = window;
  const start = goalIndex(view) + 1;
  const [first, last] = nextNeighbours(view, {
    rule: 'summary@1',
    start,
    end: newestTurnIndex(view),
    bytesToFree: window.bytes - Math.floor(bytesMax / 2),
  });
  return last <= first ? null : [first, last];
};

/** Stops when the view has `until` bytes, or when this category has only `keep` bytes left. */
type ReductionTarget = { readonly until: number; readonly keep: number };

const reduceCategory = (
  window: ContextWindow,
  kind: 'TOOLS' | 'DIALOG' | 'CONTEXT',
  { until, keep }: ReductionTarget,
): void => {
  const bytesToFree = Math.min(
    window.bytes - until,
    totalBytes(window.view.filter(({ category }) => category === kind)) - keep,
  );
  if (bytesToFree <= 0) return;
  if (kind === 'TOOLS') shortenOutputs(window, bytesToFree, newestTurnIndex(window.view));
  else if (kind === 'DIALOG') compactDialog(window, bytesToFree);
  else dropContext(window, bytesToFree);
};

/** Outputs smaller than this are not worth shortening. */
const outputBytesMin = 600;

const shortenOutputs = (window: ContextWindow, bytesToFree: number, before: number): void => {
  let freed = 0;
  for (let at = 0; at < before && freed < bytesToFree; at++) {
    const { category, origin, bytes, id, part } = window.view[at]!;
    if (category !== 'TOOLS' || bytes < outputBytesMin || isMadeBy(origin.rule, 'shorten') || !isResult(part)) continue;
    // probe: window-shorten-output
    window.replace(at, at, { rule: 'shorten@1', of: [{ from: 'segment', id }] }, 'TOOLS');
    freed += bytes - window.view[at]!.bytes;
  }
};

/** Compacts earlier turns of the conversation first, then this session's own turns, starting with the oldest. */
const compactDialog = (window: ContextWindow, bytesToFree: number): void => {
  const rest = bytesToFree - compactNeighbours(window, { rule: 'recap@1', from: () => 0, to: goalIndex }, bytesToFree);
  compactNeighbours(window, { rule: 'compact@1', from: (view) => goalIndex(view) + 1, to: newestTurnIndex }, rest);
};

type CompactionRange = {
  readonly rule: 'recap@1' | 'compact@1';
  readonly from: (view: readonly Segment[]) => number;
  /** The end of the range, exclusive. */
  readonly to: (view: readonly Segment[]) => number;
};

/** Compacts one group of neighbours after another until enough bytes are free. Returns the number of bytes freed. */
const compactNeighbours = (window: ContextWindow, { rule, from, to }: CompactionRange, bytesToFree: number): number => {
  let freed = 0;
  for (let start = from(window.view); freed < bytesToFree;) {
    const [first, last] = nextNeighbours(window.view, {
      rule,
      start,
      end: to(window.view),
      bytesToFree: bytesToFree - freed,
    });
    if (first > last) return freed;
    const neighbours = window.view.slice(first, last + 1);
    // A segment that is already compacted and has no neighbours stays unchanged; one that was just compacted absorbs what follows.
    start = neighbours.length === 1 && isMadeBy(neighbours[0]!.origin.rule, ruleFamily(rule)) ? first + 1 : first;
    if (start > first) continue;
    const before = window.bytes;
    const of = neighbours.map(({ id }): Source => ({ from: 'segment', id }));
    const flags =
      rule === 'recap@1' ? { with: neighbours.map(({ origin }) => (isMadeBy(origin.rule, 'recap') ? 1 : 0)) } : {};
    window.replace(first, last, { rule, of, ...flags }, 'DIALOG');
    freed += before - window.bytes;
  }
  return freed;
};

type NeighbourBounds = {
  readonly rule: RuleName;
  readonly start: number;
  readonly end: number;
  readonly bytesToFree: number;
};

/** The next neighbours that can be compacted: whole turns, as many as needed to free that many bytes. */
const nextNeighbours = (
  view: readonly Segment[],
  { rule, start, end, bytesToFree }: NeighbourBounds,
): readonly [number, number] => {
  let first = start;
  while (first < end && !isCompactable(view[first]!)) first++;
  let last = first - 1;
  const continues = (): boolean => last + 1 < end && isCompactable(view[last + 1]!);
  for (let freed = 0; continues() && freed < bytesToFree;) {
    // An already compacted segment frees nothing, but absorbs what follows.
    do freed += isMadeBy(view[++last]!.origin.rule, ruleFamily(rule)) ? 0 : view[last]!.bytes;
    while (continues() && view[last + 1]!.category === 'TOOLS');
  }
  return [first, last];
};

/** Drops the oldest context first, in groups of neighbours. */
const dropContext = (window: ContextWindow, bytesToFree: number): void => {
  let freed = 0;
  while (freed < bytesToFree) {
    const first = window.view.findIndex(({ category }) => category === 'CONTEXT');
    if (first < 0) return;
    let last = first;
    freed += window.view[first]!.bytes;
    while (freed < bytesToFree && window.view[last + 1]?.category === 'CONTEXT') freed += window.view[++last]!.bytes;
    window.drop(first, last, 'trim@1');
  }
};

/** The last resort: shortens the newest turn, then compacts it, and finally drops even compacted segments. */
const reduceNewestTurn = (window: ContextWindow, bytesMax: number): void => {
  shortenOutputs(window, window.bytes - bytesMax, window.view.length);
  const all = (view: readonly Segment[]): number => view.length;
  compactNeighbours(
    window,
    { rule: 'compact@1', from: (view) => goalIndex(view) + 1, to: all },
    window.bytes - bytesMax,
  );
  for (let at = 0; window.bytes > bytesMax && at < window.view.length;)
    if (isFixed(window.view[at]!)) at++;
    // All turns are compacted by now, so no call can lose its result.
    else window.drop(at, at, 'trim@1');
};

/** SYSTEM, the goal with its files, and the runtime's messages at the end of a session. Files of earlier messages are dialog. */
const isFixed = ({ category, origin }: Segment): boolean =>
  category === 'SYSTEM' || isMadeBy(origin.rule, ...fixed) || isGoalFile(origin);

const goals = ['goal', 'task'];
const fixed = [...goals, 'synthesis', 'last-turn', 'repair'];

/** Whether a segment may be compacted. */
const isCompactable = (segment: Segment): boolean =>
  (segment.category === 'DIALOG' || segment.category === 'TOOLS') && !isFixed(segment);
const isEarlierCall = ({ category, origin }: Segment): boolean =>
  category === 'TOOLS' && isMadeBy(origin.rule, 'history');
const isReply = ({ origin }: Segment): boolean => isMadeBy(origin.rule, 'reply');
const isResult = (part: Segment['part']): boolean => 'message' in part && part.message.role === 'tool';

const goalIndex = (view: readonly Segment[]): number => view.findIndex(({ origin }) => isMadeBy(origin.rule, ...goals));

/** The position where the newest turn begins; everything before it is old. */
const newestTurnIndex = (view: readonly Segment[]): number => {
  const index = view.findLastIndex(isReply);
  return index < 0 ? view.length : index;
};

const totalBytes = (segments: readonly Segment[]): number => segments.reduce((sum, { bytes }) => sum + bytes, 0);
