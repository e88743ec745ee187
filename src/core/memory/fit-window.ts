// Makes room in a window: what gives way, and in which order.
//
//   V1. SYSTEM and the goal never give way. The newest turn does so last.
//   V2. The order: outputs of tools, then dialog, then context; of each the oldest first.
//   V3. A kind gives way down to its share of the window first; below that only when all are down to theirs.
//   V4. A call and its result stay together: an output is shortened in its place, a turn becomes lines as a whole.
//   V5. Outputs and dialog give way in one go, until half of the window is free: so it need not happen every turn.
import type { Category, RuleName, Segment, Source } from '#contracts';
import type { ContextWindow } from './context-window.ts';

/** How many tokens may be in view, and how many a byte is taken for. */
export type Room = { readonly tokens: number; readonly perByte: number };

/** What a byte is taken for while no provider has reported anything: four to a token. Holds use bytes. */
export const perByteDefault = 0.25;

/** Shares of what SYSTEM and the goal leave. */
export const windowShares: Readonly<Record<Exclude<Category, 'SYSTEM'>, number>> = {
  TOOLS: 0.3,
  DIALOG: 0.45,
  CONTEXT: 0.25,
};

const nothing: typeof windowShares = { TOOLS: 0, DIALOG: 0, CONTEXT: 0 };

export const tokensIn = (bytes: number, { perByte }: Pick<Room, 'perByte'>): number => Math.ceil(bytes * perByte);

/** True: what is in view fits. False: SYSTEM and the goal alone do not. */
export const fitWindow = (window: ContextWindow, room: Room): boolean => {
  const most = Math.floor(room.tokens / room.perByte);
  if (window.bytes <= most) return true;
  const fixed = sizeOf(window.view.filter(isFixed));
  const left = Math.max(0, most - fixed);
  const half = Math.max(fixed, Math.floor(most / 2));
  for (const share of [windowShares, nothing])
    for (const kind of ['TOOLS', 'DIALOG', 'CONTEXT'] as const)
      if (window.bytes > most)
        giveWay(window, kind, { until: kind === 'CONTEXT' ? most : half, keep: Math.floor(left * share[kind]) });
  if (window.bytes > most) spendNewest(window, most);
  return window.bytes <= most;
};

/** The old turns that would become lines now, by their places in view; null when there is room, or nothing to gain. */
export const oldTurns = (window: ContextWindow, room: Room): readonly [first: number, last: number] | null => {
  const most = Math.floor(room.tokens / room.perByte);
  if (window.bytes <= most) return null;
  const { view } = window;
  const place = goalPlace(view) + 1;
  const [first, last] = nextRun(view, {
    rule: 'summary@1',
    place,
    end: newestTurn(view),
    free: window.bytes - Math.floor(most / 2),
  });
  return last <= first ? null : [first, last];
};

/** What a kind gives: until so many bytes are in view at all, or only so many of this kind. */
type Giving = { readonly until: number; readonly keep: number };

const giveWay = (window: ContextWindow, kind: 'TOOLS' | 'DIALOG' | 'CONTEXT', { until, keep }: Giving): void => {
  const free = Math.min(window.bytes - until, sizeOf(window.view.filter(({ category }) => category === kind)) - keep);
  if (free <= 0) return;
  if (kind === 'TOOLS') shortenOutputs(window, free, newestTurn(window.view));
  else if (kind === 'DIALOG') compactDialog(window, free);
  else dropContext(window, free);
};

/** Shorter than this, an output is not worth shortening. */
const outputBytesMin = 600;

const shortenOutputs = (window: ContextWindow, free: number, before: number): void => {
  let freed = 0;
  for (let at = 0; at < before && freed < free; at++) {
    const { category, origin, bytes, id, part } = window.view[at]!;
    if (category !== 'TOOLS' || bytes < outputBytesMin || origin.rule === 'shorten@1' || !isResult(part)) continue;
    // probe: window-shorten-output
    window.replace(at, at, { rule: 'shorten@1', of: [{ from: 'segment', id }] }, 'TOOLS');
    freed += bytes - window.view[at]!.bytes;
  }
};

/** What was said before this session first, then its own turns: each becomes lines, from the oldest on. */
const compactDialog = (window: ContextWindow, free: number): void => {
  const rest = free - compactRuns(window, { rule: 'recap@1', from: () => 0, to: goalPlace }, free);
  compactRuns(window, { rule: 'compact@1', from: (view) => goalPlace(view) + 1, to: newestTurn }, rest);
};

type Stretch = {
  readonly rule: 'recap@1' | 'compact@1';
  readonly from: (view: readonly Segment[]) => number;
  /** Where it ends: this one is not part of it. */
  readonly to: (view: readonly Segment[]) => number;
};

/** Run after run of neighbours that may become lines, until so many bytes are free. Gives how many are. */
const compactRuns = (window: ContextWindow, { rule, from, to }: Stretch, free: number): number => {
  let freed = 0;
  for (let place = from(window.view); freed < free;) {
    const [first, last] = nextRun(window.view, { rule, place, end: to(window.view), free: free - freed });
    if (first > last) return freed;
    const run = window.view.slice(first, last + 1);
    // What are lines already stay as they are; what was made lines just now takes in what comes next.
    place = run.length === 1 && run[0]!.origin.rule === rule ? first + 1 : first;
    if (place > first) continue;
    const before = window.bytes;
    const of = run.map(({ id }): Source => ({ from: 'segment', id }));
    const flags = rule === 'recap@1' ? { with: run.map(({ origin }) => (origin.rule === rule ? 1 : 0)) } : {};
    window.replace(first, last, { rule, of, ...flags }, 'DIALOG');
    freed += before - window.bytes;
  }
  return freed;
};

type Bounds = { readonly rule: RuleName; readonly place: number; readonly end: number; readonly free: number };

/** The next neighbours that may become lines: whole turns, as many as free that many bytes. */
const nextRun = (view: readonly Segment[], { rule, place, end, free }: Bounds): readonly [number, number] => {
  let first = place;
  while (first < end && !isMovable(view[first]!)) first++;
  let last = first - 1;
  const goesOn = (): boolean => last + 1 < end && isMovable(view[last + 1]!);
  for (let freed = 0; goesOn() && freed < free;) {
    // What are lines already free nothing, but take in what follows.
    do freed += view[++last]!.origin.rule === rule ? 0 : view[last]!.bytes;
    while (goesOn() && view[last + 1]!.category === 'TOOLS');
  }
  return [first, last];
};

/** Oldest first, in runs of neighbours. */
const dropContext = (window: ContextWindow, free: number): void => {
  let freed = 0;
  while (freed < free) {
    const first = window.view.findIndex(({ category }) => category === 'CONTEXT');
    if (first < 0) return;
    let last = first;
    freed += window.view[first]!.bytes;
    while (freed < free && window.view[last + 1]?.category === 'CONTEXT') freed += window.view[++last]!.bytes;
    window.drop(first, last, 'trim@1');
  }
};

/** The last resort: the newest turn is shortened, becomes lines, and at last even lines go. */
const spendNewest = (window: ContextWindow, most: number): void => {
  shortenOutputs(window, window.bytes - most, window.view.length);
  const all = (view: readonly Segment[]): number => view.length;
  compactRuns(window, { rule: 'compact@1', from: (view) => goalPlace(view) + 1, to: all }, window.bytes - most);
  for (let at = 0; window.bytes > most && at < window.view.length;)
    if (isFixed(window.view[at]!)) at++;
    // By now all turns are lines: no call loses its result.
    else window.drop(at, at, 'trim@1');
};

/** SYSTEM, the goal, and what the runtime says at the end of a session. */
const isFixed = ({ category, origin }: Segment): boolean => category === 'SYSTEM' || fixed.includes(origin.rule);

const goals: readonly RuleName[] = ['goal@1', 'task@1'];
const fixed: readonly RuleName[] = [...goals, 'synthesis@1', 'last-turn@1', 'repair@1'];

/** What may become lines. */
const isMovable = (segment: Segment): boolean =>
  (segment.category === 'DIALOG' || segment.category === 'TOOLS') && !isFixed(segment);
const isReply = ({ origin }: Segment): boolean => origin.rule === 'reply@1';
const isResult = (part: Segment['part']): boolean => 'message' in part && part.message.role === 'tool';

const goalPlace = (view: readonly Segment[]): number => view.findIndex(({ origin }) => goals.includes(origin.rule));

/** Where the newest turn begins, so that what is before it is old. */
const newestTurn = (view: readonly Segment[]): number => {
  const place = view.findLastIndex(isReply);
  return place < 0 ? view.length : place;
};

const sizeOf = (segments: readonly Segment[]): number => segments.reduce((sum, { bytes }) => sum + bytes, 0);
