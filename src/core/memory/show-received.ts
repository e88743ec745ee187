// What a cell was given besides its goal, put in view; and what of a view may be given to others.
import type { Category, RoutedMessages, Segment, SharedMessage, ShareName } from '#contracts';
import type { History, Source } from '#contracts';
import type { Arrival } from '#core/cells';
import { rules } from '#core/rules';
import type { ContextWindow } from './context-window.ts';

/** Shows all parts of one arrival, in order. A note is dialog: it is never shared. */
export const showReceived = (window: ContextWindow, { kind, seq, content }: Arrival, agent: string): void => {
  const of: readonly Source[] = [{ from: 'crossing', seq }];
  if (kind === 'note') return window.add({ rule: 'note@1', of }, 'DIALOG');
  if (kind === 'message')
    return (JSON.parse(content) as RoutedMessages).parts.forEach(({ category }, place) =>
      window.add({ rule: 'routed@1', of, with: [place] }, category === 'CONTEXT' ? 'CONTEXT' : 'DIALOG'),
    );
  if (kind === 'share')
    return (JSON.parse(content) as readonly SharedMessage[]).forEach(({ category }, place) =>
      window.add({ rule: 'share@1', of, with: [place] }, category),
    );
  if (kind !== 'history') return;
  const { entries, leftOut } = JSON.parse(content) as History;
  if (leftOut > 0) window.add({ rule: 'left-out@1', of }, 'DIALOG');
  entries.forEach((entry, place) =>
    window.add({ rule: 'history@1', of, with: isOwn(entry, agent) ? [place, 1] : [place] }, entry.category),
  );
};

/** Its own words come back as its own. */
const isOwn = ({ agent, category }: History['entries'][number], reader: string): boolean =>
  agent === reader && category === 'DIALOG';

const categories: Readonly<Record<ShareName, Category>> = { system: 'SYSTEM', context: 'CONTEXT' };

/** The messages of these categories, oldest first. Tools' schemas are no messages. */
export const shareableMessages = (
  segments: readonly Segment[],
  share: readonly ShareName[],
): readonly SharedMessage[] => {
  const wanted = share.map((name) => categories[name]);
  return segments.flatMap(({ category, part }) =>
    'message' in part && wanted.includes(category) ? [{ category, text: textOf(part.message) } as SharedMessage] : [],
  );
};

/** The same of what has arrived and is not in view yet. */
export const sharedIn = ({ kind, content }: Arrival, share: readonly ShareName[]): readonly SharedMessage[] => {
  if (kind !== 'history' || !share.includes('context')) return [];
  const resolved = [{ from: 'crossing', kind, content }] as const;
  return (JSON.parse(content) as History).entries.flatMap(({ category }, place): SharedMessage[] => {
    const part = category === 'CONTEXT' ? rules['history@1'](resolved, [place]) : undefined;
    return part !== undefined && 'message' in part ? [{ category: 'CONTEXT', text: textOf(part.message) }] : [];
  });
};

type Message = Extract<Segment['part'], { message: unknown }>['message'];

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : content.map((item) => (item.type === 'text' ? item.text : '')).join('');
