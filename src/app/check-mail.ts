// Says what is wrong with mail from outside before anything is sent.
import { CloisterError, nearestName, utf8Bytes } from '#base';
import type { Category, RouteChoice, MessageTarget } from '#contracts';
import { mailBytesMax } from '#core/session';
import { checkOptionTypes, checkOptions } from './conversations/check-options.ts';

const invalid = (detail: string): CloisterError => new CloisterError('mail_invalid', detail);

export const checkText = (text: string): void => {
  checkOptionTypes('text', text, 'text');
  if (text.trim() === '') throw invalid('The message is empty.');
  const bytes = utf8Bytes(text);
  if (bytes > mailBytesMax) throw invalid(`The message has ${bytes} bytes; at most ${mailBytesMax} are taken.`);
};

export const checkSending = (sending: MessageTarget): void => {
  checkOptions(sending, { to: 'name', topic: 'name' });
  if (sending.to !== undefined && sending.topic !== undefined)
    throw invalid('It goes either to one agent (`to`) or to all who hear a topic (`topic`).');
};

/** `known`: those that the agents' definitions name; `verb`: what they do with them. */
export const checkTopic = (topic: string, known: readonly string[], verb: string): void => {
  checkOptionTypes('topic', topic, 'name');
  if (known.includes(topic)) return;
  const meant = nearestName(topic, known);
  const there = known.length === 0 ? 'There are no topics.' : `There is: ${known.join(', ')}.`;
  throw invalid(
    `No agent here ${verb} ${JSON.stringify(topic.slice(0, 80))}. ${meant === null ? '' : `Did you mean "${meant}"? `}${there}`,
  );
};

const categories: readonly Category[] = ['SYSTEM', 'CONTEXT', 'DIALOG', 'TOOLS'];

export const checkChoice = (choice: RouteChoice): void => {
  checkOptions(choice, { categories: 'texts', segments: 'any' });
  const { categories: named = [], segments = [] } = choice;
  if (!Array.isArray(segments) || segments.some((one) => !Number.isInteger(one)))
    throw invalid('segments: expected a list of whole numbers, as `explain` shows them.');
  const wrong = named.find((one) => !categories.includes(one));
  if (wrong !== undefined) throw invalid(`categories: "${wrong}" is not one of ${categories.join(', ')}.`);
  if (named.length + segments.length === 0) throw invalid('Choose `categories` or `segments`.');
};
