import { expect, test } from 'vitest';
import type { ScriptedReply } from '#testkit';
import {
  agent,
  always,
  ask,
  call,
  calls,
  callsIn,
  cheap,
  lastResults,
  lines,
  ofType,
  thrownBy,
  tool,
  world,
} from './driver.ts';

type Options = NonNullable<Parameters<typeof agent>[1]>;

/** Runs the same agent as a root, or as the only child of a lead. */
const askAs = async (
  place: 'root' | 'child',
  options: Options | ((clock: ReturnType<typeof world>['clock']) => Options),
  replies: readonly (string | ScriptedReply)[],
) => {
  const { clock } = world();
  const worker = agent('worker', typeof options === 'function' ? options(clock) : options);
  const says = [...lines({ worker: replies, lead: [call('worker', { prompt: 'Work.' })] }), always('The end.', 'lead')];
  const asked = await ask(place === 'root' ? worker : agent('lead', { agents: [worker] }), { clock, says });
  const cell = asked.report.cells.find((one) => one.agent === 'worker')!;
  const shown = asked.requests.filter(({ options: { prompt } }) => JSON.stringify(prompt[0]).includes('"worker'));
  return { ...asked, cell, limited: cell.outcome!, shown };
};

const write = (path: string, content: string) => ({ tool: 'write_file', args: { path, content } });
const echo = tool('echo', () => 'heard');
const endless = Array.from({ length: 30 }, () => call('echo'));
const exceeded = (name: string) => ({
  status: 'limit',
  failure: { code: 'agent_limit', limit: name, detail: `AgentLimitExceeded("${name}")` },
});
const takes = (clock: ReturnType<typeof world>['clock'], ms: number) =>
  tool('take', () => new Promise((resolve) => clock.timer(ms, () => resolve('taken'))));

test.for(['root', 'child'] as const)('a %s that exceeds max_steps ends there', async (place) => {
  let ran = 0;
  const count = tool('echo', () => `heard ${++ran}`);
  const { limited, cell } = await askAs(place, { tools: [count], limits: { max_steps: 3 } }, [
    { ...call('echo'), text: 'I start.' },
    calls('echo', 'echo', 'echo'),
    'never said',
  ]);
  expect(limited).toMatchObject({ ...exceeded('max_steps'), output: 'I start.' });
  expect(cell.own.steps).toBeLessThanOrEqual(3);
  expect(ran).toBeLessThanOrEqual(3);
});

test('max_steps 0 allows no tool call', async () => {
  let ran = 0;
  const { limited } = await askAs('root', { tools: [tool('echo', () => `${++ran}`)], limits: { max_steps: 0 } }, [
    call('echo'),
  ]);
  expect(limited).toMatchObject(exceeded('max_steps'));
  expect(ran).toBe(0);
});

test('each child started by gather is a step, and max_steps applies to them too', async () => {
  const helper = agent('helper');
  const { outcome } = await ask(
    agent('lead', { agents: [helper], gather: { timeoutMs: 1_000 }, limits: { max_steps: 2 } }),
    {
      says: [
        ...lines({
          lead: [call('gather', { tasks: ['a', 'b', 'c'].map((prompt) => ({ agent: 'helper', prompt })) })],
        }),
        always('Done.'),
      ],
    },
  );
  expect(outcome).toMatchObject(exceeded('max_steps'));
  expect(outcome.spent.steps).toBeLessThanOrEqual(2);
});

test('a child has 20 steps and a root any number, unless set', async () => {
  const turns = { maxToolTurns: 40 };
  const child = await askAs('child', { tools: [echo], limits: turns }, endless);
  expect(child.limited).toMatchObject(exceeded('max_steps'));
  expect(child.cell.own.steps).toBe(20);
  expect(child.outcome).toMatchObject({ status: 'partial', output: 'The end.', missing: ['worker'] });
  const root = await askAs('root', { tools: [echo], limits: turns }, [...endless, 'All thirty.']);
  expect(root.limited).toMatchObject({ status: 'completed', output: 'All thirty.', spent: { steps: 30 } });
});

const endings: Readonly<Record<string, readonly [options: Options, replies: readonly (string | ScriptedReply)[]]>> = {
  max_steps: [{ tools: [echo], limits: { max_steps: 1 } }, endless],
  max_output_files: [{ tools: ['write_file'], limits: { max_output_files: 0 } }, [calls(write('a', '1'))]],
  max_output_size_bytes: [{ tools: ['write_file'], limits: { max_output_size_bytes: 0 } }, [calls(write('a', '1'))]],
  timeout_ms: [{ limits: { timeout_ms: 1_000 } }, [{ fault: 'timeout' }]],
  mailTimeout: [{ tools: ['receive_message'], limits: { mailTimeout: 10 } }, [call('receive_message')]],
  maxToolTurns: [{ tools: [echo], limits: { maxToolTurns: 1 } }, [call('echo'), 'Partly.']],
  llmTimeout: [{ limits: { llmTimeout: 1_000, maxRetries: 0 } }, [{ fault: 'timeout' }]],
  contextTokensMax: [{ prompt: 'Much. '.repeat(500), limits: { contextTokensMax: 50 } }, ['never said']],
  budget: [{ budget: { tokens: 10 } }, ['never said']],
  deadline: [{ budget: { ms: 1_000 } }, [{ fault: 'timeout' }]],
};

test.for(Object.keys(endings))(
  '%s that ended a child is named to its parent’s model, in events, in agent.result and in the report',
  async (limit) => {
    const { requests, events, cloister, report, limited } = await askAs('child', ...endings[limit]!);
    expect(limited.failure).not.toBeNull();
    expect(requests.at(-1)!.text).toContain(`Limit: ${limit}.`);
    const ends = [...ofType(events, 'child-end'), ...ofType(events, 'session-end')];
    expect(ends.map(({ error }) => error?.limit)).toEqual([limit, limit, undefined]);
    const protocol = await cloister.protocol(report.run);
    expect(protocol.at(-1)).toMatchObject({ topic: 'agent.result', payload: { limit, error: limited.failure!.code } });
  },
);

test.for(['max_steps', 'max_tokens_per_step', 'timeout_ms', 'llmTimeout', 'toolTimeout', 'maxToolTurns'] as const)(
  'a limit set to undefined (%s) is the default, not unlimited',
  async (name) => {
    const turns = name === 'maxToolTurns' ? {} : { maxToolTurns: 40 };
    const end = async (limits: Options['limits']) =>
      (await askAs('child', { tools: [echo], limits: { ...turns, ...limits } }, endless)).limited;
    expect(await end({ [name]: undefined })).toEqual(await end({}));
  },
);

test.for(['root', 'child'] as const)(
  'a result above max_tokens_per_step is offloaded, and the %s continues',
  async (place) => {
    const long = tool('long', ({ bytes }) => 'x'.repeat(Number(bytes)));
    const shownMax = place === 'root' ? 16_000 : 8_000;
    const { limited, shown, events } = await askAs(place, { tools: [long] }, [
      calls({ tool: 'long', args: { bytes: shownMax } }, { tool: 'long', args: { bytes: shownMax + 1 } }),
      'Read.',
    ]);
    expect(limited).toMatchObject({ status: 'completed', output: 'Read.' });
    const [whole, preview] = lastResults(shown);
    expect(whole!.text).toBe('x'.repeat(shownMax));
    expect(preview!.text).toContain('read_output {"name": "long_002.txt"');
    expect(preview!.text.length).toBeLessThan(2_000);
    expect(ofType(events, 'tool-end').map(({ output }) => output)).toEqual([null, 'long_002.txt']);
  },
);

test('the shown part of a result respects max_tokens_per_step, however small, apart from the reference', async () => {
  const { shown } = await askAs(
    'child',
    { tools: [tool('long', () => 'x'.repeat(5_000))], limits: { max_tokens_per_step: 50 } },
    [call('long'), 'Read.'],
  );
  const [result] = lastResults(shown);
  expect(result!.text.replace(/\n\[5000 bytes total.*\]$/u, '').length).toBeLessThanOrEqual(200);
});

test.for<[name: string, limits: Options['limits'], written: readonly ReturnType<typeof write>[], kept: number]>([
  ['max_output_files', { max_output_files: 2 }, [write('a', '1'), write('b', '2'), write('c', '3')], 2],
  ['max_output_files', undefined, Array.from({ length: 11 }, (_, index) => write(`f${index}`, 'x')), 10],
  ['max_output_size_bytes', { max_output_size_bytes: 10 }, [write('a', '123456'), write('b', '12345')], 1],
  ['max_output_size_bytes', { max_output_size_bytes: 3 }, [write('a', 'ééé')], 0],
  ['max_output_size_bytes', undefined, [write('a', 'x'.repeat(900_000)), write('b', 'x'.repeat(100_001))], 1],
])('a child that exceeds %s ends there: %j', async ([name, limits, written, kept]) => {
  const room = { maxToolTurns: 20, contextTokensMax: 1_000_000 };
  const { limited, events } = await askAs('child', { tools: ['write_file'], limits: { ...room, ...limits } }, [
    ...written.map((one) => cheap(calls(one))),
    'never said',
  ]);
  expect(limited).toMatchObject(exceeded(name));
  expect(ofType(events, 'tool-end').filter(({ ok, tool: by }) => ok && by === 'write_file')).toHaveLength(kept);
});

test('replacing a file counts its new size only, and a root writes without limit', async () => {
  const { limited } = await askAs(
    'child',
    { tools: ['write_file'], limits: { max_output_files: 1, max_output_size_bytes: 5, max_steps: 9 } },
    [calls(write('a', '12345')), calls(write('a', '54321')), calls(write('a', '')), 'Done.'],
  );
  expect(limited).toMatchObject({ status: 'completed' });
  const root = await askAs('root', { tools: ['write_file'], limits: { contextTokensMax: 1_000_000 } }, [
    cheap(calls(...Array.from({ length: 30 }, (_, index) => write(`f${index}`, 'x'.repeat(50_000))))),
    cheap({ text: 'Done.' }),
  ]);
  expect(root.limited).toMatchObject({ status: 'completed' });
});

test('offloaded results do not count as files', async () => {
  const long = tool('long', () => 'x'.repeat(100_000));
  const { limited } = await askAs(
    'child',
    { tools: [long], limits: { max_output_files: 0, max_output_size_bytes: 0 } },
    [calls('long', 'long', 'long'), 'Done.'],
  );
  expect(limited).toMatchObject({ status: 'completed' });
});

test.for(['root', 'child'] as const)('a %s that works longer than timeout_ms ends there', async (place) => {
  const { limited, cell, shown } = await askAs(
    place,
    (clock) => ({ tools: [takes(clock, 400)], limits: { timeout_ms: 1_000 } }),
    [{ ...call('take'), text: 'I work.' }, call('take'), call('take'), 'never said'],
  );
  expect(limited).toMatchObject({ ...exceeded('timeout_ms'), output: 'I work.' });
  expect(cell.outcome!.spent.ms).toBe(1_000);
  expect(shown).toHaveLength(3);
});

test('a model that does not answer within timeout_ms ends the cell, without a retry', async () => {
  const limits = { timeout_ms: 60_000 };
  const { limited, cell, shown } = await askAs('child', { limits }, [{ fault: 'timeout' }, 'never said']);
  expect(limited).toMatchObject(exceeded('timeout_ms'));
  expect(cell.outcome!.spent.ms).toBe(60_000);
  expect(shown).toHaveLength(1);
});

test.for<[what: string, limits: Options['limits'], worksMs: number, end: object]>([
  ['600 s by default', {}, 600_000, exceeded('timeout_ms')],
  ['as long as a longer llmTimeout', { llmTimeout: 900_000 }, 900_000, exceeded('timeout_ms')],
  ['600 s with a shorter llmTimeout', { llmTimeout: 300_000 }, 600_000, exceeded('timeout_ms')],
])('the working time of a child is %s', async ([, limits, worksMs, end]) => {
  const patient = { ...limits, toolTimeout: 10_000_000 };
  const { limited, cell } = await askAs('child', (clock) => ({ tools: [takes(clock, 200_000)], limits: patient }), [
    ...Array.from({ length: 9 }, () => call('take')),
    'never said',
  ]);
  expect(limited).toMatchObject(end);
  expect(cell.outcome!.spent.ms).toBe(worksMs);
});

test.for<[what: string, limits: Options['limits'], tookMs: number]>([
  ['an llmTimeout of 120 s is not cut by the default timeout_ms', { llmTimeout: 120_000 }, 120_000],
  ['an llmTimeout above the default timeout_ms lengthens it', { llmTimeout: 700_000 }, 700_000],
  ['the default llmTimeout is 120 s', {}, 120_000],
])('%s', async ([, limits, tookMs]) => {
  const { limited, cell } = await askAs('child', { limits: { ...limits, maxRetries: 0 } }, [{ fault: 'timeout' }]);
  expect(cell.outcome!.spent.ms).toBe(tookMs);
  expect(['model_timeout', 'agent_limit']).toContain(limited.failure?.code);
});

test('timeout_ms 0 leaves no time', async () => {
  const { limited, shown } = await askAs('child', { limits: { timeout_ms: 0 } }, ['never said']);
  expect(limited).toMatchObject(exceeded('timeout_ms'));
  expect(shown).toHaveLength(0);
});

test('waiting for a child or a backoff is not working time', async () => {
  const { clock } = world();
  const slow = agent('slow', { tools: [takes(clock, 50_000)] });
  const { outcome } = await ask(agent('lead', { agents: [slow], limits: { timeout_ms: 1_000 } }), {
    clock,
    says: lines({
      lead: [call('slow', { prompt: 'Take your time.' }), { fault: 429, retryAfterMs: 30_000 }, 'Done.'],
      slow: [call('take'), 'Took it.'],
    }),
  });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.', spent: { ms: 80_000 } });
});

test('work in parallel with a waiting child counts once, and the child runs no longer than its parent', async () => {
  const { clock } = world();
  const slow = agent('slow', { tools: [takes(clock, 5_000)] });
  const { outcome, report } = await ask(
    agent('lead', { agents: [slow], tools: [takes(clock, 600)], limits: { timeout_ms: 1_000 } }),
    {
      clock,
      says: lines({
        lead: [calls({ tool: 'slow', args: { prompt: 'Take your time.' } }, 'take', 'take'), 'Both were at once.'],
        slow: [call('take'), 'Took it.'],
      }),
    },
  );
  expect(outcome).toMatchObject({ status: 'completed', output: 'Both were at once.' });
  expect(report.cells).toHaveLength(2);
});

test('when the turns are used up the model gets one last turn without tools, and the outcome says so', async () => {
  const { limited, shown, cell } = await askAs('root', { tools: [echo], limits: { maxToolTurns: 2 } }, [
    call('echo'),
    call('echo'),
    'This is what I have.',
  ]);
  expect(limited).toMatchObject({
    status: 'partial',
    output: 'This is what I have.',
    failure: { code: 'turns_used' },
  });
  expect(cell.turns).toBe(3);
  const [first, , last] = shown.map(({ options }) => options);
  expect(first!.tools!.length).toBeGreaterThan(0);
  expect(last!.tools ?? []).toEqual([]);
  expect(JSON.stringify(last!.prompt.at(-1))).toContain('You have no turns left');
  expect(callsIn(last!.prompt).results).toHaveLength(2);
});

test.for([
  ['calls tools anyway', call('echo'), 'turns_used'],
  ['gives an empty answer', { fault: 'empty' }, 'model_empty'],
  ['fails', { fault: 400 }, 'model_request'],
] as const)('a model that in its last turn %s has not answered', async ([, reply, code]) => {
  const { limited } = await askAs('root', { tools: [echo], limits: { maxToolTurns: 1, maxRetries: 0 } }, [
    { ...call('echo'), text: 'I have begun.' },
    reply,
  ]);
  expect(limited).toMatchObject({ status: 'failed', output: 'I have begun.', failure: { code } });
});

test('ten turns are the default, and maxToolTurns 0 leaves only the last one', async () => {
  const ten = await askAs('root', { tools: [echo] }, [...endless.slice(0, 10), 'Enough.']);
  expect(ten.limited).toMatchObject({ status: 'partial', output: 'Enough.' });
  const none = await askAs('root', { tools: [echo], limits: { maxToolTurns: 0 } }, ['At once.']);
  expect(none.limited).toMatchObject({ status: 'partial', output: 'At once.', failure: { code: 'turns_used' } });
  expect(none.shown[0]!.options.tools ?? []).toEqual([]);
});

test('an llmTimeout longer than timeout_ms is rejected when both are set', () => {
  const make = (limits: Options['limits']) => () => agent('worker', { limits: limits! });
  expect(thrownBy(make({ llmTimeout: 2_000, timeout_ms: 1_000 }))).toMatchObject({
    code: 'agent_invalid',
    message: expect.stringContaining('limits.llmTimeout: expected at most timeout_ms (1000)'),
  });
  expect(make({ llmTimeout: 1_000, timeout_ms: 1_000 })).not.toThrow();
  expect(make({ timeout_ms: 1_000 })).not.toThrow();
  expect(make({ llmTimeout: 2_000 })).not.toThrow();
});

test.for([
  ['the default', {}, 60_000],
  ['its own', { timeoutMs: 50 }, 50],
])('a tool that never returns is abandoned after %s', async ([, more, ms]) => {
  const signals: AbortSignal[] = [];
  const never = tool(
    'never',
    (_args, { signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    },
    more as object,
  );
  const { limited, shown } = await askAs('root', { tools: [never] }, [call('never'), 'It did not return.']);
  expect(limited).toMatchObject({ status: 'completed', spent: { ms } });
  expect(lastResults(shown)[0]).toMatchObject({ type: 'error-text', text: expect.stringContaining('Error (timeout)') });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test('the path to a refused caller is told to the operator, not to the model', async () => {
  const inner = agent('a', { description: 'Another agent of the same name.' });
  const b = agent('b', { agents: [inner] });
  const { events, requests } = await ask(agent('a', { agents: [b] }), {
    says: [...lines({ a: [call('b', { prompt: 'Go.' })], b: [call('a', { prompt: 'Go.' })] }), always('Done.')],
  });
  expect(ofType(events, 'tool-end')).toMatchObject([
    { ok: false, path: ['a', 'b', 'a'], error: { code: 'cycle_refused' } },
  ]);
  expect(requests.map(({ text }) => text).join()).not.toContain('a > b');
});
