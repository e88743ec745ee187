// A cause is told to whoever may see causes, at every depth, and shown to no cell but the one in which it happened.
import { expect, test } from 'vitest';
import type { Agent, Cause, RunEvent } from 'cloister';
import { rehearse, virtualClock } from '#testkit';
import type { ScriptedReply, VirtualClock } from '#testkit';
import { agent, call, runUntilSettled, tool } from '../core/session/driver.ts';
import { createFolders, open } from './driver.ts';

type Reply = ScriptedReply | (() => never);
type Case = {
  readonly options: Parameters<typeof agent>[1];
  /** Of the agent that fails; `asks`: how it calls the agent below it. The last one is repeated. */
  readonly replies: (asks: readonly Reply[]) => readonly Reply[];
  /** In order, of the agent that fails. */
  readonly causes: readonly Partial<Cause>[];
  /** For a failure that its caller hears of: the causes in the caller's cell, if there is one. */
  readonly inCaller?: readonly Partial<Cause>[];
};

const noFile = "ENOENT: no such file or directory, open '/srv/acme/plan.txt'";
const suspended = 'The account acme-7 is suspended.';
const said = (text: string): ScriptedReply => ({ text });
const fail = (text: string) => (): never => {
  throw new Error(text);
};

const look = tool('look', async () => 'Nothing.');
const never = tool('never', () => new Promise(() => undefined));

const failures: Readonly<Record<string, Case>> = {
  'a tool that throws': {
    options: { tools: [tool('read_plan', fail(noFile))] },
    replies: (asks) => [call('read_plan'), ...asks, said('Done.')],
    causes: [{ what: 'tool', name: 'read_plan', code: 'tool_failed', detail: noFile, ended: false }],
  },
  'a provider that refuses': {
    options: { limits: { maxRetries: 0 } },
    replies: (asks) => [...asks, fail(suspended)],
    causes: [{ what: 'model', name: 'rehearsal/rehearsal', detail: suspended, ended: true }],
  },
  'an answer that does not fit': {
    options: { output: { format: 'json', schema: { type: 'object', required: ['acme_town'] } } },
    replies: (asks) => [...asks, said('{"village": 1}')],
    causes: [{ what: 'answer', code: 'answer_schema', detail: expect.stringContaining('acme_town'), ended: true }],
  },
  'a limit': {
    options: { limits: { maxSteps: 2 }, tools: [look] },
    replies: (asks) => [...asks, call('look')],
    causes: [
      {
        what: 'limit',
        name: 'max_steps',
        detail: 'AgentLimitExceeded("max_steps"): 2 of 2 steps used.',
        ended: true,
      },
    ],
  },
  'turns that are used up': {
    options: { limits: { maxToolTurns: 3 }, tools: [look] },
    replies: (asks) => [...asks, call('look')],
    causes: [
      {
        what: 'limit',
        name: 'maxToolTurns',
        code: 'turns_used',
        detail: 'Used 3 of 3 turns (maxToolTurns), then had one more turn to answer.',
        ended: true,
      },
    ],
  },
  'a model that is too slow': {
    options: { limits: { llmTimeout: 50, maxRetries: 1 } },
    replies: (asks) => [...asks, { text: 'Late.', delayMs: 1_000 }],
    causes: [
      {
        what: 'limit',
        name: 'llmTimeout',
        code: 'model_timeout',
        detail: expect.stringMatching(
          /^Stopped model rehearsal\/rehearsal in turn [12] after 50 ms \(llmTimeout\)\.$/u,
        ),
        times: 2,
        ended: true,
      },
    ],
  },
  'a tool that is too slow': {
    options: { limits: { toolTimeout: 60 }, tools: [never] },
    replies: (asks) => [call('never'), ...asks, said('Done.')],
    causes: [
      {
        what: 'tool',
        name: 'never',
        code: 'tool_timeout',
        detail: 'Stopped tool never after 60 ms (toolTimeout).',
        ended: false,
      },
    ],
  },
  'a tool with a timeout of its own': {
    options: { tools: [{ ...never, timeoutMs: 70 }] },
    replies: (asks) => [call('never'), ...asks, said('Done.')],
    causes: [{ code: 'tool_timeout', detail: 'Stopped tool never after 70 ms, by its own timeout.' }],
  },
  'working time that is used up': {
    options: { limits: { timeoutMs: 80 }, tools: [never] },
    replies: (asks) => [...asks, { ...call('never'), delayMs: 30 }],
    causes: [
      {
        what: 'tool',
        code: 'tool_timeout',
        detail: 'Stopped tool never after 50 ms, all that was left of 80 ms of working time (timeout_ms).',
      },
      {
        what: 'limit',
        name: 'timeout_ms',
        detail: 'AgentLimitExceeded("timeout_ms"): worked 80 of 80 ms; last step: tool never.',
        ended: true,
      },
    ],
  },
  'a result that may not leave': {
    options: { grants: ['goal'] },
    replies: (asks) => [...asks, said('Done.')],
    causes: [{ what: 'agent', code: 'crossing_refused', detail: 'The result was refused: no-grant.', ended: true }],
    inCaller: [{ what: 'agent', code: 'crossing_refused', detail: 'The result was refused: no-grant.', ended: false }],
  },
};

const names = ['lead', 'hand', 'finger'];

/** Each asks the one below it; the one called `failing` fails. */
const chain = (failing: string, { options, replies }: Case, clock: VirtualClock) => {
  const models = names.map((name, depth) => {
    const below = names[depth + 1];
    const asks = below === undefined ? [] : [call(below, { prompt: 'Go on.' })];
    const own = name === failing ? replies(asks) : [...asks, said('Done.')];
    const reply = ({ turn }: { readonly turn: number }): ScriptedReply => {
      const chosen = own[Math.min(turn, own.length) - 1]!;
      return typeof chosen === 'function' ? chosen() : chosen;
    };
    return rehearse([{ reply }], { clock });
  });
  const agents = names.reduceRight<readonly Agent[]>(
    (below, name, depth) => [
      agent(name, { models: [models[depth]!], agents: below, ...(name === failing ? options : {}) }),
    ],
    [],
  );
  return { agents, models };
};

const collect = async (events: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> => {
  const all: RunEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};

/** However deep in JSON a text is quoted, it is found. */
const textOf = (value: unknown): string => JSON.stringify(value).replaceAll('\\', '');

const cases = Object.keys(failures).flatMap((failure) => names.map((name, depth) => ({ failure, name, depth })));

test.each(cases)('the cause of $failure in $name is told to those who see causes only', async (one) => {
  const { failure, name, depth } = one;
  const clock = virtualClock(1_000_000);
  const { agents, models } = chain(name, failures[failure]!, clock);
  const { cloister } = await open(createFolders(), agents, { clock });
  const session = cloister.run('lead', 'Find it.');
  const { run } = await runUntilSettled(clock, session.outcome);

  const causes = await session.causes();
  const { causes: own, inCaller } = failures[failure]!;
  const [heardBy, expected] = inCaller !== undefined && depth > 0 ? [depth - 1, inCaller] : [depth, own];
  const path = names.slice(0, heardBy + 1);
  expect(causes).toMatchObject(expected.map((cause) => ({ path, ...cause })));
  expect((await cloister.show(run)).causes).toEqual(causes);
  expect((await cloister.show(run, { sees: 'causes' })).causes).toEqual(causes);
  expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  expect(await cloister.replay(run)).toMatchObject({ ok: true, differences: [] });

  for (const { cell, detail = '' } of causes) {
    const told = (await collect(session.events({ sees: 'causes' }))).filter((event) => textOf(event).includes(detail));
    expect(told.map((event) => ('cell' in event ? event.cell : ''))).toContain(cell);
    expect(textOf(await collect(session.events({ sees: 'answers' })))).not.toContain(detail);
    const { causes: shown, events, cells } = await cloister.show(run, { sees: 'answers' });
    expect(textOf(cells.map(({ outcome }) => outcome?.failure ?? null))).not.toContain(detail);
    expect(shown).toEqual([]);
    expect(textOf(events)).not.toContain(detail);

    expect(models.map(({ requests }) => requests.length > 0)).toEqual([true, true, true]);
    const others = models.filter((_, at) => at !== heardBy).flatMap(({ requests }) => requests);
    expect(textOf(others)).not.toContain(detail);
  }
});

// invariant: notes-are-derived
test.each(['a tool that is too slow', 'turns that are used up', 'working time that is used up'])(
  'what the log tells about %s is not shown to the model of its own cell',
  async (failure) => {
    const clock = virtualClock(1_000_000);
    const { agents, models } = chain('finger', failures[failure]!, clock);
    const { cloister } = await open(createFolders(), agents, { clock });
    const { run } = await runUntilSettled(clock, cloister.run('lead', 'Find it.').outcome);
    const { causes } = await cloister.show(run);
    for (const { detail = '' } of causes) expect(textOf(models.map(({ requests }) => requests))).not.toContain(detail);
  },
);

test('the cause of a missed deadline names the deadline, and what was at work', async () => {
  const clock = virtualClock(1_000_000);
  const model = rehearse([{ reply: { text: 'Late.', delayMs: 1_000 } }], { clock });
  const { cloister } = await open(createFolders(), [agent('lead', { models: [model] })], { clock });
  const session = cloister.run('lead', 'Find it.', { budget: { ms: 400 } });
  await runUntilSettled(clock, session.outcome);
  const detail =
    'The deadline was 1970-01-01T00:16:40.400Z, 400 ms after the start; in flight: model rehearsal/rehearsal in turn 1.';
  expect(await session.causes()).toMatchObject([{ what: 'limit', name: 'deadline', detail, ended: true, times: 1 }]);
});

test('the cause of an agent that gather did not wait for names the time that it had', async () => {
  const clock = virtualClock(1_000_000);
  const [asks, slow] = [
    rehearse(
      [
        { when: { turn: 1 }, reply: call('gather', { tasks: [{ agent: 'hand', prompt: 'Go on.' }] }) },
        { reply: 'Done.' },
      ],
      { clock },
    ),
    rehearse([{ reply: { text: 'Late.', delayMs: 1_000 } }], { clock }),
  ];
  const lead = agent('lead', {
    models: [asks],
    agents: [agent('hand', { models: [slow] })],
    gather: { timeoutMs: 300 },
  });
  const { cloister } = await open(createFolders(), [lead], { clock });
  const session = cloister.run('lead', 'Find it.');
  await runUntilSettled(clock, session.outcome);
  expect(await session.causes()).toMatchObject([
    {
      path: ['lead', 'hand'],
      code: 'deadline_passed',
      detail: 'The caller stopped waiting after 300 ms (gather).',
      ended: true,
    },
  ]);
});

test('the cause of a failed answer of a long-lived agent is that of the work on its message', async () => {
  const model = rehearse([
    { when: { text: 'Well?' }, reply: 'Well.' },
    { when: ({ lastText }) => lastText.includes('Lost?'), reply: fail(suspended) },
    { reply: call('look') },
  ]);
  const lead = agent('lead', { models: [model], tools: [look], limits: { maxToolTurns: 2, maxRetries: 0 } });
  const { cloister } = await open(createFolders(), [lead]);
  const session = await cloister.spawn('lead', { message: 'Go.' });
  const used = {
    what: 'limit',
    name: 'maxToolTurns',
    detail: 'Used 2 of 2 turns (maxToolTurns), then had one more turn to answer.',
    times: 1,
    ended: false,
  };
  const causesOf = async (message?: string) => {
    const { id, error } = await session.answer(message);
    return [error, await session.causes({ answer: id })];
  };
  expect(await causesOf()).toMatchObject(['turns_used', [used]]);
  expect(await causesOf(session.send('Well?'))).toEqual([null, []]);
  expect(await causesOf(session.send('Again.'))).toMatchObject(['turns_used', [used]]);
  expect(await causesOf(session.send('Lost?'))).toMatchObject(['model_server', [{ what: 'model', detail: suspended }]]);
  expect((await session.causes()).map(({ code, times }) => [code, times])).toEqual([
    ['turns_used', 2],
    ['model_server', 1],
  ]);
  session.finish();
  await session.outcome;
});
