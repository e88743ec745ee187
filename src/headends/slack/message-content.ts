// What a message of a run is made of: chunks of a stream, or blocks of a message that is posted or replaced.
//
//   content-marker. The first card of a stream, and the line of cards otherwise, carry the id of the message, which begins with the
//       marker of its run. After a crash its messages are found by it.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { toMrkdwn, toSlackMarkdown } from './slack-markdown.ts';
import { cutText, decodeEntities, toPlainText } from './slack-text.ts';
import type { TaskCard } from './thread-view.ts';

/** Cards are blocks, and so is the text between them; Slack takes 50 blocks a message. */
export const cardsMax = 20;

/** Slack's limit for each text of a card. */
const fieldMax = 256;
const titleMax = 150;
const cardLineMax = 1_500;
const fallbackMax = 300;

export const isSameCard = (one: TaskCard | undefined, other: TaskCard | undefined): boolean =>
  one?.title === other?.title &&
  one?.status === other?.status &&
  one?.details === other?.details &&
  one?.output === other?.output;

/** Slack replaces title and status, and adds to details and output. */
export const taskChunks = (
  cards: readonly TaskCard[],
  message: { readonly id: string; readonly firstCard: string; readonly cards: ReadonlyMap<string, TaskCard> },
): readonly JsonObject[] =>
  cards.map((card) => {
    const shown = message.cards.get(card.id);
    return {
      type: 'task_update',
      id: card.id === message.firstCard ? message.id : card.id,
      title: toPlainText(card.title, titleMax) || 'Agent',
      status: card.status,
      ...addedField('details', shown?.details ?? '', card.details),
      ...addedField('output', shown?.output ?? '', card.output),
    };
  });

const addedField = (name: string, shown: string, now: string): JsonObject => {
  if (now === '') return {};
  const added = now.startsWith(shown) ? now.slice(shown.length) : `\n${now}`;
  return added === '' ? {} : { [name]: cutText(toSlackMarkdown(added), fieldMax) };
};

export const textChunks = (text: string): readonly JsonObject[] =>
  text === '' ? [] : [{ type: 'markdown_text', text }];

export type MessageContent = {
  /** As `toSlackMarkdown` returns it. */
  readonly text: string;
  readonly cards: readonly TaskCard[];
  readonly end: readonly JsonObject[];
};

/** `id`: of the message, new whenever it is replaced, as Slack asks for. */
export const messageBlocks = ({ text, cards, end }: MessageContent, id: string): JsonObject => ({
  // For notifications.
  text: toMrkdwn(text === '' ? (cards[0]?.title ?? '') : decodeEntities(text.slice(0, 2 * fallbackMax)), fallbackMax),
  blocks: [
    ...(text === '' ? [] : [{ type: 'markdown', text }]),
    { type: 'context', block_id: id, elements: [{ type: 'mrkdwn', text: cardLine(cards) }] },
    ...end,
  ],
});

const workingText = 'Working on it.';

/** A message that only offers to stop the run, with the block of that button. */
export const stopMessage = (stop: JsonObject, id: string): JsonObject => ({
  text: workingText,
  blocks: [{ type: 'context', block_id: id, elements: [{ type: 'plain_text', text: workingText }] }, stop],
});

const statusSigns = { pending: '○', in_progress: '…', complete: '✓', error: '✗' } as const;

const cardLine = (cards: readonly TaskCard[]): string =>
  cutText(
    cards
      .map(({ title, status, output }) => {
        const name = `${statusSigns[status]} *${toPlainText(title, titleMax).replaceAll('*', '') || 'Agent'}*`;
        return output === '' ? name : `${name} ${toMrkdwn(output, fieldMax).replace(/\s+/gu, ' ')}`;
      })
      .join('  ·  '),
    cardLineMax,
  );

/** The id of a message of a run, if this is one: of its first card, or of its line of cards. */
export const findMessageId = (message: JsonObject, marker: string): string | undefined => {
  const blocks = message['blocks'];
  if (!Array.isArray(blocks)) return undefined;
  return (blocks as readonly Json[])
    .flatMap((block) => (isObject(block) ? [block['block_id'], block['task_id'], block['id']] : []))
    .find((id): id is string => typeof id === 'string' && id.startsWith(`${marker}.`));
};
