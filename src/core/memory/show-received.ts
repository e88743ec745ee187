// Adds what a cell received besides its goal to the view, and selects what of a cell may be shared.
//
//   share-own-prompt-only. Of a cell's SYSTEM only its own prompt is shared: not the runtime's lines (name, tools, guidance),
//       not tool schemas, and not the prompt that its own caller shared with it.
//   share-prompt-by-author. A prompt that an operator wrote arrives as system text; one that a model wrote, as data.
import { decodeHistory, decodeRoutedMessages } from '#contracts';
import type { Agent, Crossed, Segment, SharedMessage, ShareName } from '#contracts';
import type { History, Source } from '#contracts';
import { fillDate, rules } from '#core/rules';
import type { ContextWindow } from './context-window.ts';

/** Adds all parts of one received crossing to the view, in order. A note is DIALOG, so it is never shared. */
export const showReceived = (window: ContextWindow, { kind, seq, content }: Crossed, agent: string): void => {
  const of: readonly Source[] = [{ from: 'crossing', seq }];
  if (kind === 'note') return window.add({ rule: 'note@1', of }, 'DIALOG');
  if (kind === 'attachment') return window.add({ rule: 'attachment@1', of }, 'DIALOG');
  if (kind === 'message')
    return decodeRoutedMessages(content).parts.forEach(({ category }, index) =>
      window.add({ rule: 'routed@1', of, with: [index] }, category === 'CONTEXT' ? 'CONTEXT' : 'DIALOG'),
    );
  if (kind === 'share')
    return (JSON.parse(content) as readonly SharedMessage[]).forEach(({ category }, index) =>
      window.add({ rule: category === 'SYSTEM' ? 'shared-system@1' : 'share@1', of, with: [index] }, category),
    );
  if (kind !== 'history') return;
  const { entries, leftOut } = decodeHistory(content);
  if (leftOut > 0) window.add({ rule: 'left-out@1', of }, 'DIALOG');
  // Vendors refuse calls in a request without tools.
  const shownParts = window.hasTools ? [1, 2] : [0];
  entries.forEach((entry, index) => {
    if (entry.category === 'TOOLS')
      for (const shown of shownParts) window.add({ rule: 'history@1', of, with: [index, 0, shown] }, 'TOOLS');
    else window.add({ rule: 'history@1', of, with: isOwnEntry(entry, agent) ? [index, 1] : [index] }, entry.category);
    (entry.attachments ?? none).forEach((_, place) =>
      window.add({ rule: 'attachment@1', of, with: [index, place] }, 'DIALOG'),
    );
  });
};

/** Whether the reader wrote the entry itself: such entries are shown as assistant messages. */
const isOwnEntry = ({ agent, category }: History['entries'][number], reader: string): boolean =>
  agent === reader && category === 'DIALOG';

/** The agent's own prompt, if it is to be shared, as its model was shown it. */
export const shareablePrompt = (
  { definition }: Agent,
  startedAt: number,
  share: readonly ShareName[],
): readonly SharedMessage[] => {
  // probe: shared-prompt
  const text = fillDate(definition.prompt, startedAt);
  if (!share.includes('system') || text.trim() === '') return [];
  return [{ category: definition.promptBy === 'model' ? 'CONTEXT' : 'SYSTEM', text }];
};

/** The CONTEXT messages, if they are to be shared, oldest first. */
export const shareableContext = (context: readonly Segment[], share: readonly ShareName[]): readonly SharedMessage[] =>
  share.includes('context')
    ? context.flatMap(({ part }) =>
        'message' in part ? [{ category: 'CONTEXT', text: messageText(part.message) } as const] : [],
      )
    : [];

/** The same for a received crossing that is not in view yet. */
export const shareableInCrossing = (
  { kind, content }: Crossed,
  share: readonly ShareName[],
): readonly SharedMessage[] => {
  if (kind !== 'history' || !share.includes('context')) return [];
  const resolved = [{ from: 'crossing', kind, content }] as const;
  return decodeHistory(content).entries.flatMap(({ category }, index): SharedMessage[] => {
    const part = category === 'CONTEXT' ? rules['history@1'](resolved, [index]) : undefined;
    return part !== undefined && 'message' in part ? [{ category: 'CONTEXT', text: messageText(part.message) }] : [];
  });
};

const none: readonly never[] = [];

type Message = Extract<Segment['part'], { message: unknown }>['message'];

const messageText = ({ content }: Message): string =>
  typeof content === 'string' ? content : content.map((item) => (item.type === 'text' ? item.text : '')).join('');
