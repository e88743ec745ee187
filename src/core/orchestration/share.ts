// What else crosses when a child is born: what its caller shares with it, and a note to the caller about its window.
//
//   S1. Only what the child's definition asks for of SYSTEM and CONTEXT, all that its caller's model was told of it by then,
//       whether there is still room for it or not; nothing follows by itself.
//   S2. A note has fixed words and depends on definitions and config alone: not on which model answers its caller just now.
import type { CellId } from '#base';
import type { Agent, ChildOperation, Grant, SharedMessage, WindowLimit } from '#contracts';
import { cross } from '#core/crossings';
import type { Door } from '#core/crossings';
import { sharedIn, shareableMessages } from '#core/memory';
import { windowTokensDefault } from '#core/session';
import type { Session } from '#core/session';

export const shareWith = (agent: Agent, id: CellId, session: Session, door: Door): ChildOperation['share'] => {
  // probe: share-wanted
  if (agent.share.length === 0) return undefined;
  const { runtime } = session.cell;
  // probe: share-held
  const held = (): readonly SharedMessage[] => shareableMessages(session.window.lasting, agent.share);
  const now = (): readonly SharedMessage[] => [
    ...held(),
    ...runtime.arrivals
      .given('by now')
      .slice(session.givenShown)
      .flatMap((arrived) => sharedIn(arrived, agent.share)),
  ];
  const content = JSON.stringify(held());
  const passed = cross({ kind: 'share', from: runtime.cellId, to: id, content, labels: [] }, door);
  return 'refused' in passed ? undefined : { crossed: passed.crossed, now };
};

/** Tells the caller when the child's window is smaller than its own. */
export const noteSmallerWindow = (agent: Agent, id: CellId, { cell, ports }: Session, door: Door): void => {
  const tokensOf = (one: Agent): number | undefined => (ports.world.windowOf?.(one) ?? windowIn(one))?.tokens;
  const tokens = tokensOf(agent);
  const own = tokensOf(cell.agent) ?? windowTokensDefault;
  if (tokens === undefined || tokens >= own || !mayNote(door.grants)) return;
  const content = `${agent.toolName} has a smaller window than you: ${tokens} tokens, yours has ${own}. Ask it for less at a time.`;
  cross({ kind: 'note', from: id, to: cell.runtime.cellId, content, labels: [] }, door);
};

/** An agent that may send no notes is not asked to: a refusal would say as much. */
const mayNote = (grants: readonly Grant[]): boolean => grants.some(({ kind }) => kind === 'note');

/** As far as the definition itself tells. */
const windowIn = ({ limits, models }: Agent): WindowLimit | undefined => {
  const [first] = models;
  const own = typeof first === 'object' ? first.contextTokens : undefined;
  const given = limits.contextTokensMax ?? 0;
  if (given > 0 && given < (own ?? Infinity)) return { tokens: given, by: 'given' };
  return own === undefined ? undefined : { tokens: own, by: 'model' };
};
