// What REST requests hold. They are read by these shapes, and the OpenAPI document shows them.
import { about, either, boolean, jsonObject, listOf, mapOf, named, object, oneOf, withRules } from '#base/shapes';
import type { Of, Shape } from '#base/shapes';
import { answerFormatShape, attachmentShape, budgetShape, budgetUnits, sentMessageShape } from '#contracts';
import type { Budget, ForkRequest, MessageTarget, OutputFormat, OutsideSpawn } from '#contracts';
import { textShape as text, textsShape as texts } from './value-shapes.ts';

const detailsAbout =
  'Include the cells and the events of the run. For a token that shows `contents`, events carry them in their own `details`.';

const namedBudget = named('Budget', budgetShape);
const conversation = about(
  text,
  'The name of your conversation with this agent. Continues it, or starts it if it is new.',
);
const schema = about(jsonObject(), 'JSON Schema for the answer.');

export const runRequestShape = named(
  'RunRequest',
  object(
    {
      input: about(
        either('a string, or an object that matches the agent’s input schema', text, jsonObject()),
        'Text, or an object that matches the agent’s input schema.',
      ),
    },
    {
      format: about(
        answerFormatShape,
        'Format of the answer. `json` needs a schema, either here or in the agent’s definition.',
      ),
      schema,
      budget: namedBudget,
      context: about(texts, 'Additional context for the agent.'),
      attachments: about(
        listOf(named('Attachment', attachmentShape)),
        'Files that come with the input: images, PDFs, texts. The agent’s model must take them.',
      ),
      conversation,
      history: about(
        listOf(named('DialogMessage', sentMessageShape)),
        'Earlier messages. Cannot be combined with a conversation.',
      ),
      resident: about(boolean(), 'The agent runs until it is asked to finish; `input` is its first message.'),
      wait: about(
        boolean(),
        'If false, return as soon as the run has started. Default: true; for a resident run, false.',
      ),
      stream: about(boolean(), 'Stream the events of the run.'),
      details: about(boolean(), detailsAbout),
    },
  ),
);

export type RunRequestBody = Of<typeof runRequestShape>;

const flagOff = { default: false };

export const askQueryShape = object(
  {
    q: {
      ...about(text, 'The input: text, or a JSON object as text for an agent with JSON input.'),
      expected: 'the input for the agent',
    },
  },
  {
    format: about(answerFormatShape, 'Format of the answer.'),
    schema,
    conversation,
    budget_tokens: { ...about(budgetUnits.tokens, 'Maximum number of tokens.'), into: ['budget', 'tokens'] },
    budget_usd: { ...about(budgetUnits.usd, 'Maximum cost in US dollars.'), into: ['budget', 'usd'] },
    budget_ms: { ...about(budgetUnits.ms, 'Maximum duration in milliseconds.'), into: ['budget', 'ms'] },
    stream: about(boolean(), 'Stream the events of the run.', flagOff),
    details: about(boolean(), detailsAbout, flagOff),
  },
) as Shape<AskQuery>;

/** As it is read: the amounts are stored in one budget. */
export type AskQuery = {
  readonly q: string;
  readonly format?: OutputFormat['format'];
  readonly schema?: Of<typeof schema>;
  readonly conversation?: string;
  readonly budget?: Budget;
  readonly stream?: boolean;
  readonly details?: boolean;
};

export const spawnShape: Shape<OutsideSpawn> = named(
  'Spawn',
  object(
    { agent: about(text, 'One of the agents that the agent above may start.') },
    {
      goal: about(text, 'Without a goal, the agent waits for messages.'),
      parent: about(text, 'The name of a live agent in the run. Default: its root agent.'),
      workflow: text,
      topics: about(texts, 'Topics that it subscribes to.'),
      metadata: mapOf(text),
    },
  ),
);

export const messageShape = withRules(
  named(
    'Message',
    object(
      { text },
      {
        to: about(text, 'The name of an agent in the run. Default: its root agent.'),
        topic: about(text, 'Publish to all subscribers of this topic instead.'),
        answer: about(boolean(), 'Wait for the answer.'),
      },
    ),
  ),
  {
    find: ({ to, topic }: MessageTarget) =>
      to === undefined || topic === undefined ? null : { text: 'set either `to` or `topic`, not both.' },
    schema: { not: { required: ['to', 'topic'] } },
  },
  {
    find: ({ topic, answer }: MessageTarget & { readonly answer?: boolean }) =>
      topic === undefined || answer !== true
        ? null
        : { text: 'topic and answer cannot be combined: a published message has no answer.' },
    schema: { not: { required: ['topic', 'answer'], properties: { answer: { const: true } } } },
  },
);

export const forkShape: Shape<ForkRequest> = named(
  'Fork',
  object(
    {
      at: about(
        text,
        'The first operation that is not kept: `<cell>/<operation>`, as the events number them, or `<cell>` for its start.',
      ),
    },
    {
      goal: about(
        text,
        'Another goal. Only if `at` is the first cell of the run; for operators, the start of any cell.',
      ),
      model: about(text, 'For operators: `<provider>/<model>` for the agent at that point.'),
      budget: about(
        namedBudget,
        'Another budget, at most what your token and the agent allow. Only if `at` is the first cell of the run. What it does not name stays as it was.',
      ),
      withoutGrants: about(
        listOf(oneOf('goal', 'result', 'note', 'history', 'share')),
        'For operators: grants that this agent loses.',
      ),
    },
  ),
);
