// The values of REST replies, for the OpenAPI document.
import { errorCatalogue, limitNames } from '#base';
import { about, amount, boolean, json, jsonObject, listOf, named, oneOf, openObject, orNull } from '#base/shapes';
import type { Shape } from '#base/shapes';
import { answerFormatShape, budgetShape } from '#contracts';
import type { Spent } from '#contracts';
import {
  countShape as count,
  textOrNullShape as textOrNone,
  textShape as text,
  textsShape as texts,
  timeShape as time,
} from './value-shapes.ts';

const timeOrNone = orNull(time);

export const statuses = ['completed', 'partial', 'failed', 'cancelled', 'limit', 'budget', 'timeout'] as const;

const failureFields = {
  code: oneOf(...Object.keys(errorCatalogue)),
  class: oneOf(...new Set(Object.values(errorCatalogue).map((entry) => entry.class))),
  message: text,
  suggestion: text,
};
const reachedLimit = { limit: about(oneOf(...limitNames), 'The limit that was reached.') };

const failure = named('Failure', openObject(failureFields, reachedLimit));

export const errorShape = named(
  'Error',
  openObject({ error: openObject(failureFields, { ...reachedLimit, retryAfterMs: count }) }),
);

export const spentShape: Shape<Spent> = named(
  'Spent',
  openObject({
    inputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    outputTokens: count,
    usd: about(orNull(amount(-Infinity, Infinity)), 'Null if the price is unknown.'),
    ms: amount(-Infinity, Infinity),
    steps: count,
    spawns: count,
    uncertain: about(count, 'Tokens whose actual use is unknown.'),
  }),
);

const spawnedOutcome = named(
  'SpawnedOutcome',
  openObject(
    {
      agent: text,
      cell: about(text, 'Its cell: `cells` of the run has the whole output.'),
      status: oneOf(...statuses),
      why: about(textOrNone, 'Why it is in `missing`; null if it finished its work.'),
      output: about(text, 'What it wrote. If `bytes` is present, only the beginning.'),
    },
    { bytes: about(count, 'The size of the whole output.') },
  ),
);

const cell = named(
  'Cell',
  openObject({
    cell: text,
    parent: textOrNone,
    agent: text,
    depth: count,
    status: oneOf(...statuses, null),
    turns: count,
    spent: spentShape,
    waitedMs: about(
      amount(-Infinity, Infinity),
      'How long it waited for people while nothing in it worked; not a part of `spent.ms`.',
    ),
  }),
);

const event = named('Event', openObject({ type: text, run: text, cell: text, agent: text }, { id: text, at: time }));

const outcomeFields = {
  run: text,
  status: oneOf(...statuses, 'waiting', 'interrupted'),
  output: about(text, 'The answer.'),
  data: about(json(), 'The answer as JSON, if JSON was requested.'),
  error: orNull(failure),
  spent: spentShape,
  missing: about(texts, 'Sub-agents whose answers are missing or incomplete, and spawned agents that did not finish.'),
  spawned: about(
    listOf(spawnedOutcome),
    'Spawned agents that did not finish, or whose last words the agent had not read when it answered.',
  ),
};

const causeFacts = { cell: text, code: text, summary: text, name: orNull(text), at: time };

const cause = named(
  'Cause',
  openObject(
    {
      ...causeFacts,
      path: about(texts, 'The agents from the root down to the one in whose cell it happened.'),
      what: oneOf('tool', 'model', 'server', 'limit', 'plan', 'answer', 'task', 'agent'),
      times: about(count, 'How often it happened in a row.'),
      ended: about(boolean(), 'Whether the cell ended with it.'),
    },
    { ...reachedLimit, detail: about(text, 'Its own words, such as the error text of a tool.') },
  ),
);

const causesField = { causes: about(listOf(cause), 'Every failure; only for a token that `sees` causes.') };

export const outcomeShape = named(
  'Outcome',
  openObject(outcomeFields, { ...causesField, conversation: text, cells: listOf(cell), events: listOf(event) }),
);

const conversation = about(
  orNull(openObject({ agent: text, name: text })),
  'The conversation that it is or was a turn of; null: none.',
);
const fork = about(
  orNull(openObject({ run: text, at: text })),
  'Set for a fork, and for a run that continues from a checkpoint: the run whose log it keeps, and up to where.',
);
const runCaller = { caller: about(textOrNone, 'Who started it; for a token that sees the runs of all callers.') };

export const reportShape = named(
  'Report',
  openObject(
    {
      ...outcomeFields,
      status: about(
        oneOf(...statuses, 'running', 'waiting', 'interrupted'),
        '`waiting`: it does nothing but wait for people or for its client.',
      ),
      agent: text,
      goal: text,
      startedAt: time,
      endedAt: timeOrNone,
      questions: about(count, 'How many questions wait for people.'),
      conversation,
      fork,
      budget: about(orNull(budgetShape), 'The most that it may spend; null: nothing is capped.'),
      cells: listOf(cell),
    },
    { ...causesField, ...runCaller },
  ),
);

const format = openObject({ format: answerFormatShape }, { schema: jsonObject() });

export const agentShape = named(
  'Agent',
  openObject({
    name: text,
    toolName: about(text, 'The name under which MCP clients call it.'),
    description: text,
    usage: about(text, 'An example input.'),
    input: format,
    output: format,
    team: about(boolean(), 'Whether it is a team.'),
    addresses: openObject({ get: text, post: text }),
  }),
);

export const runMessageShape = named(
  'RunMessage',
  openObject(
    { by: oneOf('person', 'agent'), text },
    {
      message: about(text, 'The id of a message that was sent while the run was running.'),
      agent: about(text, 'The agent that wrote it.'),
      unasked: about(boolean(), 'The agent answers none of your messages.'),
      delivered: about(boolean(), 'Whether a client has taken it.'),
      attachments: about(listOf(jsonObject()), 'Files that came with it: texts, or hashes of what can be downloaded.'),
    },
  ),
);

export const begunShape = named(
  'Begun',
  openObject({ run: text, agent: text, events: about(text, 'The path of the run’s event stream.') }),
);

const runFields = {
  run: text,
  agent: text,
  goal: text,
  state: about(
    oneOf('running', 'waiting', 'interrupted', 'ended', 'damaged'),
    '`waiting`: it does nothing but wait for people or for its client.',
  ),
  status: oneOf(...statuses, null),
  startedAt: time,
  endedAt: timeOrNone,
  cells: count,
  spent: orNull(spentShape),
  crossings: about(count, 'How many contents crossed between its cells.'),
  refused: about(count, 'How many crossings were refused.'),
  fork,
  conversation,
};

export const runShape = named('Run', openObject(runFields, runCaller));

const answerFields = {
  run: text,
  message: about(text, 'The id of the answer.'),
  answers: about(textOrNone, 'The id of the message it answers; null for the first message.'),
  agent: text,
  status: oneOf(...statuses),
  output: text,
  error: orNull(failure),
};

export const answerShape = named('Answer', openObject(answerFields, causesField));

export const healthShape = named(
  'Health',
  openObject(
    { status: oneOf('ok', 'stopping') },
    {
      problems: about(listOf(text), 'What keeps the server from taking work, as far as it was found so far.'),
      stalls: openObject({
        count: about(count, 'How often the process stood still for more than 100 ms.'),
        longestMs: count,
        latest: about(
          listOf(openObject({ at: time, ms: count, run: textOrNone, cell: textOrNone })),
          'The newest ones, with the run and the cell whose work it was, if known.',
        ),
      }),
    },
  ),
);

const shownPart = named(
  'ShownPart',
  openObject(
    {
      id: about(count, 'Counts the parts of its cell, from 0.'),
      category: oneOf('SYSTEM', 'CONTEXT', 'DIALOG', 'TOOLS'),
      origin: about(text, 'Where it comes from, in words.'),
      rule: about(text, 'The rule that rendered it.'),
      text: about(text, 'Exactly what the model was shown.'),
      whole: about(boolean(), 'False: the model was shown the beginning, or a summary.'),
    },
    { op: about(count, 'The operation whose reply or result it shows.') },
  ),
);

const saidPart = named(
  'SaidPart',
  openObject({ type: oneOf('text', 'reasoning', 'call') }, { text, id: text, tool: text, args: text }),
);

const longOutput = openObject({
  name: text,
  bytes: count,
  ref: about(text, 'SHA-256 of all of it.'),
  text: about(textOrNone, 'Its beginning, or all of it; null: it is missing in the store.'),
  whole: boolean(),
});

const { message: _message, ...recordedFailure } = failureFields;

/** As in events. */
const eventError = orNull(
  named('EventError', openObject({ ...recordedFailure, summary: text }, { ...reachedLimit, detail: text })),
);

const millisOrNone = about(orNull(count), 'Null while it works, or if it was interrupted.');

const calledTool = named(
  'TranscriptResult',
  openObject(
    { op: count, tool: text, args: text, result: textOrNone, error: eventError, ms: millisOrNone },
    { child: about(text, 'For a call of an agent: its cell.'), output: longOutput },
  ),
);

const transcriptEntry = named(
  'TranscriptEntry',
  openObject({
    at: time,
    turn: count,
    attempt: about(count, 'Counts the requests of the turn, from 1. Above 1, it is a retry.'),
    op: count,
    model: text,
    shown: listOf(shownPart),
    removed: about(count, 'How many parts of the request before are gone.'),
    said: listOf(saidPart),
    ms: millisOrNone,
    error: eventError,
    results: listOf(calledTool),
  }),
);

export const transcriptShape = named(
  'Transcript',
  openObject({
    run: text,
    cells: listOf(
      openObject({
        cell: text,
        parent: textOrNone,
        agent: text,
        goal: text,
        startedAt: time,
        endedAt: timeOrNone,
        ms: millisOrNone,
        status: oneOf(...statuses, null),
        error: eventError,
        output: text,
        entries: listOf(transcriptEntry),
      }),
    ),
  }),
);

export const schemaReference = (name: string): string => `#/components/schemas/${name}`;
