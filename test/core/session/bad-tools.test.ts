import { expect, test } from 'vitest';
import { CloisterError, openCloister } from 'cloister';
import { rehearse } from '#testkit';
import { agent, always, ask, call, calls, lastResults, lines, ofType, runUntilSettled, tool, world } from './driver.ts';

const cyclic: any = { name: 'ring' };
cyclic.self = cyclic;

/** The bad tool and a good one in the same turn; the good one is not affected. */
const askBad = async (execute: any, options: object = {}) => {
  const asked = await ask(
    agent('solo', { tools: [tool('bad', execute), tool('good', () => 'I am well')], ...options }),
    {
      says: lines({ solo: [calls('bad', 'good'), call('good'), 'I go on.'] }),
    },
  );
  const [bad, good, again] = lastResults(asked.requests);
  expect(good).toMatchObject({ type: 'text', text: 'I am well' });
  expect(again).toMatchObject({ type: 'text', text: 'I am well' });
  expect(asked.outcome).toMatchObject({ status: 'completed', output: 'I go on.', spent: { steps: 3 } });
  return { ...asked, bad: bad!, end: ofType(asked.events, 'tool-end').find(({ tool: name }) => name === 'bad')! };
};

const throws = (value: unknown) => () => {
  throw value;
};
/** A thenable that is not a promise. */
const thenable = (error: Error, key = 'then') => ({ [key]: (_: any, no: any) => no(error) });
const bare: unknown = Object.create(null);
const hostile = {
  toString: () => {
    throw new Error('not even a name');
  },
};

test.for<[title: string, execute: any, code: string, words: string]>([
  ['throws', throws(new Error('Out of paper')), 'tool_failed', 'Out of paper'],
  ['throws later', async () => Promise.reject(new Error('Out of ink')), 'tool_failed', 'Out of ink'],
  ['throws a text', throws('just words'), 'tool_failed', 'just words'],
  ['throws undefined', throws(undefined), 'tool_failed', 'undefined'],
  ['throws null', throws(null), 'tool_failed', 'null'],
  ['throws a symbol', throws(Symbol('odd')), 'tool_failed', 'odd'],
  ['throws an object', throws({ status: 5 }), 'tool_failed', ''],
  ['throws an object without a prototype', throws(bare), 'tool_failed', ''],
  ['throws a value that cannot be converted to text', throws(hostile), 'tool_failed', ''],
  [
    'throws an error whose message is no string',
    throws(Object.assign(new Error('x'), { message: { a: 1 } })),
    'tool_failed',
    '',
  ],
  ['throws an error of work on whole runs', throws(new CloisterError('run_kept', 'Pinned.')), 'tool_failed', 'Pinned.'],
  ['rejects with a number', () => Promise.reject(7), 'tool_failed', '7'],
  ['returns undefined', () => undefined, 'tool_output', 'It returned undefined.'],
  ['returns a function', () => () => 'x', 'tool_output', 'It returned function.'],
  ['returns a symbol', () => Symbol('x'), 'tool_output', 'It returned symbol.'],
  ['returns a BigInt', () => 10n, 'tool_output', 'BigInt'],
  ['returns a BigInt inside', () => ({ type: 'json', value: { big: 10n } }), 'tool_output', 'BigInt'],
  ['returns a cycle', () => cyclic, 'tool_output', 'circular'],
  ['returns JSON that throws', () => ({ toJSON: throws('no') }), 'tool_output', ''],
  ['returns a thenable that rejects', () => thenable(new Error('later no')), 'tool_failed', 'later no'],
  ['returns 50 MB', () => 'x'.repeat(50_000_000), 'tool_too_large', 'the maximum is 16000000'],
  ['never returns', () => new Promise(() => undefined), 'tool_timeout', 'timed out'],
])('a tool that %s gives its model an error, and the session continues', async ([, execute, code, words]) => {
  const { bad, end } = await askBad(execute);
  expect(bad.type).toBe('error-text');
  expect(bad.text).toMatch(/^Error \((?:tool|timeout)\): /u);
  expect(bad.text).toContain(words);
  expect(bad.text.length).toBeLessThan(1_000);
  expect(end).toMatchObject({ ok: false, error: { code } });
});

test.for<[title: string, value: any, text: string]>([
  ['null', null, 'null'],
  ['a number', 5, '5'],
  ['NaN', NaN, 'null'],
  ['false', false, 'false'],
  ['an empty text', '', ''],
  ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ['a list with holes', [undefined, () => 1, 2], '[null,null,2]'],
  ['typed text that is no string', { type: 'text', value: 5 }, '5'],
  ['an object with a type of its own', { type: 'other', value: 5 }, '{"type":"other","value":5}'],
])('a tool that returns %s is shown as its JSON', async ([, value, text]) => {
  const { bad } = await askBad(() => value);
  expect(bad).toMatchObject({ type: 'text', text });
});

test('a tool that mutates its arguments, or later its result, changes nothing recorded', async () => {
  const kept: any = { type: 'json', value: { list: [1] } };
  const { bad, audit } = await askBad((args: any) => {
    args.extra = 'mine';
    setImmediate(() => kept.value.list.push(2));
    return kept;
  });
  expect(bad.text).toBe('{"list":[1]}');
  expect(audit.ok).toBe(true);
});

// invariant: operation-settles-once
test('a tool’s result after its timeout is ignored', async () => {
  const { clock } = world();
  let late: (value: string) => void = () => undefined;
  const slow = tool('slow', () => new Promise<string>((resolve) => (late = resolve)), { timeoutMs: 100 });
  const wait = tool('wait', () => {
    late('too late');
    return new Promise<string>((resolve) => clock.timer(10, () => resolve('waited')));
  });
  const { requests } = await ask(agent('solo', { tools: [slow, wait] }), {
    clock,
    says: lines({ solo: [call('slow'), call('wait'), 'Done.'] }),
  });
  expect(lastResults(requests).map(({ type }) => type)).toEqual(['error-text', 'text']);
});

test.for<[title: string, reply: any, code: string, words: string]>([
  ['that does not exist', call('nothing'), 'tool_unknown', '"nothing" is not one of: echo, read_output.'],
  ['by a path', call('../../etc/passwd'), 'tool_unknown', 'is not one of'],
  ['by a name with NUL', call('a\0b'), 'tool_unknown', 'is not one of'],
  ['by a name of 300 characters', call('n'.repeat(300)), 'tool_unknown', 'is not one of'],
  ['by an empty name', call(''), 'tool_unknown', 'is not one of'],
  ['by the name of a built-in object property', call('constructor'), 'tool_unknown', 'is not one of'],
  [
    'with broken JSON',
    { ...call('echo', { text: 'x' }), fault: 'malformed' },
    'tool_arguments',
    'Expected a single JSON object',
  ],
  ['with the wrong types', call('echo', { text: 5 }), 'tool_arguments', 'text'],
  ['without a required argument', call('echo', {}), 'tool_arguments', 'text'],
  ['with an unknown argument', call('echo', { text: 'x', more: 1 }), 'tool_arguments', 'more'],
])('a model that calls a tool %s gets an error, and no tool runs', async ([, reply, code, words]) => {
  let ran = 0;
  const echo = tool('echo', () => `heard ${++ran}`, {
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
      additionalProperties: false,
    },
  });
  const { requests, events, outcome } = await ask(agent('solo', { tools: [echo] }), {
    says: lines({ solo: [reply, call('echo', { text: 'now right' }), 'Done.'] }),
  });
  const [wrong, right] = lastResults(requests);
  expect(wrong).toMatchObject({ type: 'error-text', text: expect.stringContaining(words) });
  expect(right).toMatchObject({ type: 'text', text: 'heard 1' });
  expect(ofType(events, 'tool-end')[0]).toMatchObject({ ok: false, error: { code } });
  expect(outcome).toMatchObject({ status: 'completed', spent: { steps: 2 } });
});

test.for(['[1]', '"text"', '5', 'null', 'true', ' ', '{"a":1}{"b":2}'])(
  'arguments that are JSON but not one object (%s) are rejected, and shown back as the model wrote them',
  async (input) => {
    const { clock } = world();
    const model = rehearse(lines({ solo: [call('echo'), 'Done.'] }), { clock });
    const odd = {
      ...model,
      doStream: async (options: any) => {
        const { stream } = await model.doStream(options);
        const change = new TransformStream({
          transform: (part, out) => out.enqueue(part.type === 'tool-call' ? { ...part, input } : part),
        });
        return { stream: stream.pipeThrough(change) };
      },
    };
    const { outcome, events } = await ask(agent('solo', { tools: [tool('echo', () => 'heard')] }), {
      clock,
      models: [odd],
    });
    expect(ofType(events, 'tool-end')[0]).toMatchObject({ ok: false, error: { code: 'tool_arguments' } });
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).toContain('malformed');
    expect(outcome.status).toBe('completed');
  },
);

test('of 200 calls in one turn 50 run, four at a time, and the rest fail as too many', async () => {
  let ran = 0;
  const { requests, outcome } = await ask(agent('solo', { tools: [tool('echo', () => `heard ${++ran}`)] }), {
    says: lines({ solo: [calls(...Array.from({ length: 200 }, () => 'echo')), 'Done.'] }),
  });
  expect(ran).toBe(50);
  const results = lastResults(requests);
  expect(results.map(({ type }) => type)).toEqual(
    Array.from({ length: 200 }, (_, index) => (index < 50 ? 'text' : 'error-text')),
  );
  expect(results[199]!.text).toContain('Too many tool calls in one turn');
  expect(outcome.status).toBe('completed');
});

test('two calls with the same id each get a result', async () => {
  const twin = {
    calls: [
      { tool: 'echo', id: 'same' },
      { tool: 'echo', id: 'same' },
    ],
  };
  const { requests, outcome } = await ask(agent('solo', { tools: [tool('echo', () => 'heard')] }), {
    says: lines({ solo: [twin, 'Done.'] }),
  });
  expect(lastResults(requests)).toHaveLength(2);
  expect(outcome.status).toBe('completed');
});

test('a failing run does not disturb another one in the same process', async () => {
  const { clock, ids } = world();
  const good = agent('good', {
    tools: [tool('wait', () => new Promise((resolve) => clock.timer(50, () => resolve('ok'))))],
  });
  const bad = agent('bad', {
    tools: [tool('hang', () => new Promise(() => undefined)), tool('boom', throws(new Error('boom')))],
  });
  const model = rehearse(
    [
      ...lines({ bad: [calls('hang', 'boom'), { fault: 400 }], good: [call('wait'), call('wait')] }),
      always('Fine.', 'good'),
    ],
    { clock },
  );
  const cloister = await openCloister({ store: 'memory', agents: [good, bad], models: [model], clock, ids });
  const runs = ['bad', 'good'].map((name) => cloister.run(name, 'Go'));
  const [one, two] = await runUntilSettled(clock, Promise.all(runs.map(({ outcome }) => outcome)));
  expect(one).toMatchObject({ status: 'failed', failure: { code: 'model_request' } });
  expect(two).toMatchObject({ status: 'completed', output: 'Fine.', spent: { ms: 100 } });
  for (const { run } of runs) expect(await cloister.audit(run)).toMatchObject({ ok: true });
});

test('a reply has at most two million characters, those of tool calls included', async () => {
  const long = 'x'.repeat(2_000_001);
  for (const reply of [{ pieces: [long] }, call('good', { text: long })]) {
    const { outcome } = await ask(
      agent('solo', { tools: [tool('good', () => 'I am well')], limits: { maxRetries: 0 } }),
      {
        says: [always({ ...reply, usage: { input: 1, output: 1 } })],
      },
    );
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'model_server', detail: 'The reply exceeded 2000000 characters.' },
    });
  }
});
