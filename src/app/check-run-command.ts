// Checks commands for a run before anything is done.
import { CloisterError, nearestName, utf8Bytes } from '#base';
import { checkOptionType, checkOptions } from '#base/shapes';
import type { OptionFields } from '#base/shapes';
import type { Agent, Category, RouteChoice, RunCommand, RunCommandName } from '#contracts';
import { mailBytesMax } from '#core/session';
import { withChildren } from '#app/agents';
import { checkAddedContext } from './run-options.ts';

/** `root`: the definition of the run's root. Throws `options_invalid`, `context_too_large` or `mail_invalid`. */
export const checkRunCommand = <K extends RunCommandName>(command: RunCommand<K>, root: Agent): void => {
  if (!Object.hasOwn(checks, command.do))
    throw new CloisterError('options_invalid', `do: expected one of ${Object.keys(checks).join(', ')}.`);
  checks[command.do](command, root);
};

const checks: { readonly [K in RunCommandName]: (command: RunCommand<K>, root: Agent) => void } = {
  cancel: () => undefined,
  'add-context': ({ text }) => checkAddedContext(text),
  'refresh-share': ({ child }) => checkOptionType('child', child, 'name'),
  send: (command, root) => {
    const { text, to, topic } = command;
    checkMessageText(text);
    checkFields(command, { text: 'text', to: 'name', topic: 'name' });
    if (to !== undefined && topic !== undefined)
      throw invalid('Set either `to` (one agent) or `topic` (all subscribers), not both.');
    if (topic !== undefined) checkTopic(topic, topicsBelow(root, 'hear'), 'subscribes to');
  },
  route: (command) => {
    checkFields(command, { from: 'name', to: 'texts', ...routeFields });
    checkRouteChoice(command);
  },
  'forward-topic': ({ topic }, root) => checkTopic(topic, topicsBelow(root, 'say'), 'publishes to'),
  confirm: ({ message }) => checkOptionType('message', message, 'text'),
  spawn: (command) => {
    const { agent, metadata = {} } = command;
    checkFields(command, spawnFields);
    checkOptionType('agent', agent, 'name');
    const isPlain = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
    if (!isPlain || Object.values(metadata).some((note) => typeof note !== 'string'))
      throw new CloisterError('options_invalid', 'metadata: expected an object whose values are texts.');
  },
  // The team checks them, against the tasks it has.
  'add-tasks': () => undefined,
  finish: ({ name }) => void (name === undefined || checkOptionType('name', name, 'name')),
};

export const routeFields = { categories: 'texts', segments: 'any' } as const;

export const spawnFields = {
  agent: 'name',
  goal: 'text',
  parent: 'name',
  workflow: 'name',
  topics: 'texts',
  metadata: 'any',
} as const;

const checkFields = (command: RunCommand, fields: OptionFields): void =>
  checkOptions(Object.fromEntries(Object.entries(command).filter(([field]) => field !== 'do')), fields);

const invalid = (detail: string): CloisterError => new CloisterError('mail_invalid', detail);

const checkMessageText = (text: string): void => {
  checkOptionType('text', text, 'text');
  if (text.trim() === '') throw invalid('The message is empty.');
  const bytes = utf8Bytes(text);
  if (bytes > mailBytesMax) throw invalid(`The message has ${bytes} bytes; the limit is ${mailBytesMax}.`);
};

const topicsBelow = (root: Agent, way: 'hear' | 'say'): readonly string[] => [
  ...new Set([...withChildren([root])].flatMap(({ topics }) => topics[way])),
];

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

const checkRouteChoice = (choice: RouteChoice): void => {
  const { categories: chosen = [], segments = [] } = choice;
  if (!Array.isArray(segments) || segments.some((one) => !Number.isInteger(one)))
    throw invalid('segments: expected a list of segment numbers, as shown by `explain`.');
  const wrong = chosen.find((one) => !categories.includes(one));
  if (wrong !== undefined) throw invalid(`categories: "${wrong}" is not one of ${categories.join(', ')}.`);
  if (chosen.length + segments.length === 0) throw invalid('Set `categories` or `segments`.');
};
