// What else crosses when a child is created: the context its caller shares, and a note to the caller about the child's window.
//
//   share-asked-categories. Only the categories (SYSTEM, CONTEXT) that the child's definition asks for are shared: the
//       caller's own prompt, and all context that its model has seen so far, whether the window still has room for it or not.
//       Later content is not shared automatically. A refresh copies context only, because a prompt does not change.
//   note-fixed-text. A note has fixed text and depends on definitions and config only, not on the model that currently answers
//       the caller.
import type { Agent, ChildRequest, SharedMessage, WindowLimit } from '#contracts';
import type { LiveCell } from '#core/cells';
import { shareableContext, shareableInCrossing, shareablePrompt } from '#core/memory';
import { windowTokensDefault } from '#core/session';
import type { Session } from '#core/session';

export const givenAtStart = (agent: Agent, session: Session): Pick<ChildRequest, 'gives' | 'note'> => ({
  // probe: share-wanted
  ...(agent.permissions.share.length === 0 ? {} : { gives: [{ kind: 'share', content: shareOf(agent, session) }] }),
  note: smallerWindowNote(agent, session),
});

const shareOf = (agent: Agent, { cell, window }: Session): string => {
  // probe: share-held
  const context = shareableContext(window.context, agent.permissions.share);
  // probe: share-prompt
  const prompt = shareablePrompt(cell.agent, cell.runtime.runStartedAt, agent.permissions.share);
  return JSON.stringify([...prompt, ...context]);
};

/** The context that a live cell could share with an agent by now, whether its model has seen it or not. */
export const contextToShare = ({ shown, receivedCrossings }: LiveCell, agent: Agent): readonly SharedMessage[] => {
  const context = shown?.context ?? [];
  const isShown = (seq: number): boolean =>
    context.some(({ origin }) => origin.of.some((source) => source.from === 'crossing' && source.seq === seq));
  return [
    ...shareableContext(context, agent.permissions.share),
    ...receivedCrossings
      .addedContext('by now')
      .filter(({ seq }) => !isShown(seq))
      .flatMap((arrived) => shareableInCrossing(arrived, agent.permissions.share)),
  ];
};

/** Tells the caller if the child's window is smaller than its own. */
const smallerWindowNote = (agent: Agent, { cell, ports }: Session): string | undefined => {
  const tokensOf = (one: Agent): number | undefined =>
    (ports.world.windowLimitFor?.(one) ?? definedWindow(one))?.tokens;
  const tokens = tokensOf(agent);
  const own = tokensOf(cell.agent) ?? windowTokensDefault;
  if (tokens === undefined || tokens >= own) return undefined;
  return `${agent.signature.modelToolName} has a smaller context window than you (${tokens} tokens, yours: ${own}). Give it smaller tasks.`;
};

/** The window as the definition alone sets it. */
const definedWindow = ({ caps: { limits }, resources: { models } }: Agent): WindowLimit | undefined => {
  const [first] = models;
  const own = typeof first === 'object' ? first.contextTokens : undefined;
  const given = limits.contextTokensMax ?? 0;
  if (given > 0 && given < (own ?? Infinity)) return { tokens: given, by: 'given' };
  return own === undefined ? undefined : { tokens: own, by: 'model' };
};
