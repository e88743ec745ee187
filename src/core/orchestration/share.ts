// What else crosses when a child is created: the context its caller shares, and a note to the caller about the child's window.
//
//   S1. Only the categories (SYSTEM, CONTEXT) that the child's definition asks for are shared: the caller's own prompt, and all
//       context that its model has seen so far, whether the window still has room for it or not. Later content is not shared
//       automatically. A refresh copies context only, because a prompt does not change.
//   S2. A note has fixed text and depends on definitions and config only, not on the model that currently answers the caller.
import type { CellId } from '#base';
import type { Agent, ChildOperation, Grant, SharedMessage, WindowLimit } from '#contracts';
import { cross } from '#core/crossings';
import type { Door } from '#core/crossings';
import { shareableContext, shareableInCrossing, shareablePrompt } from '#core/memory';
import { windowTokensDefault } from '#core/session';
import type { Session } from '#core/session';

export const shareWith = (agent: Agent, id: CellId, session: Session, door: Door): ChildOperation['share'] => {
  // probe: share-wanted
  if (agent.share.length === 0) return undefined;
  const { runtime } = session.cell;
  // probe: share-held
  const context = (): readonly SharedMessage[] => shareableContext(session.window.context, agent.share);
  const now = (): readonly SharedMessage[] => [
    ...context(),
    ...runtime.receivedCrossings
      .addedContext('by now')
      .slice(session.shownContextCount)
      .flatMap((arrived) => shareableInCrossing(arrived, agent.share)),
  ];
  // probe: share-prompt
  const prompt = shareablePrompt(session.cell.agent, runtime.liveRun.startedAt, agent.share);
  const content = JSON.stringify([...prompt, ...context()]);
  const passed = cross({ kind: 'share', from: runtime.cellId, to: id, content, labels: [] }, door);
  return 'refused' in passed ? undefined : { crossed: passed, now };
};

/** Sends the caller a note if the child's window is smaller than its own. */
export const noteSmallerWindow = (agent: Agent, id: CellId, { cell, ports }: Session, door: Door): void => {
  const tokensOf = (one: Agent): number | undefined =>
    (ports.world.windowLimitFor?.(one) ?? definedWindow(one))?.tokens;
  const tokens = tokensOf(agent);
  const own = tokensOf(cell.agent) ?? windowTokensDefault;
  if (tokens === undefined || tokens >= own || !mayNote(door.grants)) return;
  const content = `${agent.modelToolName} has a smaller context window than you (${tokens} tokens, yours: ${own}). Give it smaller tasks.`;
  cross({ kind: 'note', from: id, to: cell.runtime.cellId, content, labels: [] }, door);
};

/** Without the grant no note is tried: the refusal alone would reveal that there is one. */
const mayNote = (grants: readonly Grant[]): boolean => grants.some(({ kind }) => kind === 'note');

/** The window as the definition alone sets it. */
const definedWindow = ({ limits, models }: Agent): WindowLimit | undefined => {
  const [first] = models;
  const own = typeof first === 'object' ? first.contextTokens : undefined;
  const given = limits.contextTokensMax ?? 0;
  if (given > 0 && given < (own ?? Infinity)) return { tokens: given, by: 'given' };
  return own === undefined ? undefined : { tokens: own, by: 'model' };
};
