// Checks messages from outside before anything is sent.
import { CloisterError, nearestName, utf8Bytes } from '#base';
import type { Category, OutsideSpawn, RouteChoice, MessageTarget } from '#contracts';
import { mailBytesMax } from '#core/session';
import { checkOptionType, checkOptions } from './conversations/check-options.ts';

const invalid = (detail: string): CloisterError => new CloisterError('mail_invalid', detail);

export const checkMessageText = (text: string): void => {
  checkOptionType('text', text, 'text');
  if (text.trim() === '') throw invalid('The message is empty.');
  const bytes = utf8Bytes(text);
  if (bytes > mailBytesMax) throw invalid(`The message has ${bytes} bytes; the limit is ${mailBytesMax}.`);
};

export const checkMessageTarget = (target: MessageTarget): void => {
  checkOptions(target, { to: 'name', topic: 'name' });
  if (target.to !== undefined && target.topic !== undefined)
    throw invalid('Set either `to` (one agent) or `topic` (all subscribers), not both.');
};

export const checkOutsideSpawn = (request: OutsideSpawn): void => {
  const { agent, metadata = {} } = request;
  checkOptions(request, {
    agent: 'name',
    goal: 'text',
    parent: 'name',
    workflow: 'name',
    topics: 'texts',
    metadata: 'any',
  });
  checkOptionType('agent', agent, 'name');
  const isPlain = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
  if (!isPlain || Object.values(metadata).some((note) => typeof note !== 'string'))
    throw new CloisterError('options_invalid', 'metadata: expected an object whose values are texts.');
};

/** `known`: the topics in the agents' definitions; `verb`: what the agents do with a topic. */
export const checkTopic = (topic: string, known: readonly string[], verb: string): void => {
  checkOptionType('topic', topic, 'name');
  if (known.includes(topic)) return;
  const nearest = nearestName(topic, known);
  const available = known.length === 0 ? 'There are no topics.' : `Topics: ${known.join(', ')}.`;
  throw invalid(
    `No agent here ${verb} ${JSON.stringify(topic.slice(0, 80))}. ${nearest === null ? '' : `Did you mean "${nearest}"? `}${available}`,
  );
};

const categories: readonly Category[] = ['SYSTEM', 'CONTEXT', 'DIALOG', 'TOOLS'];

export const checkRouteChoice = (choice: RouteChoice): void => {
  checkOptions(choice, { categories: 'texts', segments: 'any' });
  const { categories: chosen = [], segments = [] } = choice;
  if (!Array.isArray(segments) || segments.some((one) => !Number.isInteger(one)))
    throw invalid('segments: expected a list of segment numbers, as shown by `explain`.');
  const wrong = chosen.find((one) => !categories.includes(one));
  if (wrong !== undefined) throw invalid(`categories: "${wrong}" is not one of ${categories.join(', ')}.`);
  if (chosen.length + segments.length === 0) throw invalid('Set `categories` or `segments`.');
};
