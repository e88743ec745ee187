// Makes room: old turns become one line each. The goal, the system prompt and the newest turn stay as they are.
import type { Segment, Source } from '#contracts';
import type { Window } from './window.ts';

/** A rough count for windows; holds use bytes. */
export const estimateTokens = (bytes: number): number => Math.ceil(bytes / 4);

/** Shortens the oldest turns until the view fits half of what it may be, so that it need not be done every turn. True: it fits. */
export const fitWindow = (window: Window, tokensMax: number): boolean => {
  if (estimateTokens(window.bytes) <= tokensMax) return true;
  const [first, last] = oldTurns(window.view, window.bytes - tokensMax * 2);
  if (first <= last) {
    const of = window.view.slice(first, last + 1).map(({ id }): Source => ({ from: 'segment', id }));
    window.replace(first, last, { rule: 'compact@1', of }, 'CONTEXT');
  }
  return estimateTokens(window.bytes) <= tokensMax;
};

/** The positions of the turns after the goal and before the newest, as many as free that many bytes. */
const oldTurns = (view: readonly Segment[], bytesToFree: number): readonly [number, number] => {
  const first = view.findIndex(({ origin }) => origin.rule === 'goal@1') + 1;
  const newest = view.findLastIndex(isReply);
  let last = first - 1;
  let freed = 0;
  while (last + 1 < newest && freed < bytesToFree) {
    do freed += view[++last]!.bytes;
    while (last + 1 < newest && !isReply(view[last + 1]!));
  }
  return [first, last];
};

const isReply = ({ origin }: Segment): boolean => origin.rule === 'reply@1';
