import { describe, expect, test } from 'vitest';
import { defineTeam } from 'cloister';
import type { RunSummary } from '#contracts';
import { virtualClock } from 'cloister/testkit';
import { openHouse, time, used, weather } from '../../headends/client-tools/house.ts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { chatTool, chatTools, serveTools, turn } from './client-driver.ts';
import type { Call, Told, ToolsServed } from './client-driver.ts';
import { posted } from './posted.ts';

const textOf = (call: Call): string => (JSON.parse(call.function.arguments) as { text: string }).text;

const namesOf = ({ calls }: Told): readonly string[] => calls.map((call) => `${call.function.name}:${textOf(call)}`);

const answered = (calls: readonly Call[]): readonly [Call, string][] =>
  calls.map((call) => [call, `${call.function.name} of ${textOf(call)}`]);

const statuses = async ({ cloister }: ToolsServed): Promise<readonly (string | null)[]> =>
  (await cloister.runs()).map(({ status }) => status);

const many = 'abcdefg'.split('').map((letter) => `weather:${letter}`);

describe('calls of a client’s tools', () => {
  test.each(['memory', 'disk'])('come as many as can begin at once, until each has its result (%s)', async (where) => {
    await using folder = await temporaryFolder();
    const of = where === 'memory' ? {} : { workspace: folder.path };
    const served = await serveTools({ agents: openHouse().agents, of });
    let told = await served.ask(many.join(', '));
    expect(namesOf(told)).toEqual(many.slice(0, 4));
    const seen = [...namesOf(told)];
    for (let left = 4; told.finish === 'tool_calls' && left > 0; left--) {
      told = await served.give(answered(told.calls));
      seen.push(...namesOf(told));
    }
    expect(seen).toEqual(many);
    expect(told.text).toBe(`Told: ${many.map((one) => one.replace(':', ' of ')).join(' | ')}`);
    const [run] = await served.cloister.runs();
    expect(await served.cloister.audit(run!.run)).toMatchObject({ ok: true });
    expect(await served.cloister.replay(run!.run)).toMatchObject({ ok: true, differences: [] });
  });

  test('are told again until each has its result, which may come in several requests, also at once', async () => {
    const served = await serveTools({ agents: openHouse().agents });
    const first = await served.ask('weather:a, time:b, weather:c');
    const [a, b, c] = answered(first.calls);
    const second = await served.give([b!]);
    expect([second.finish, second.calls, second.text]).toEqual(['tool_calls', [a![0], c![0]], null]);
    const last = await Promise.all([served.give([c!]), served.give([a!])]);
    expect(new Set(last.map(({ finish }) => finish))).toEqual(new Set(['stop', 'tool_calls']));
    expect(last.find(({ finish }) => finish === 'stop')!.text).toBe('Told: weather of a | time of b | weather of c');
    const usage = [first, second, ...last].reduce((sum, told) => sum + told.usage!.prompt_tokens, 0);
    expect(usage).toBe(2 * used.input);
  });

  test.each<[string, object, string]>([
    ['OpenAI', { parallel_tool_calls: false, tools: chatTools }, '/v1/chat/completions'],
    [
      'Anthropic',
      {
        max_tokens: 9,
        tools: [weather, time].map(({ name, schema }) => ({ name, input_schema: schema })),
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      },
      '/v1/messages',
    ],
  ])('come one at a time to a client that takes no more (%s)', async (_who, body, path) => {
    const served = await serveTools({ agents: openHouse().agents });
    const sent = { model: 'guide', messages: [{ role: 'user', content: 'weather:a, time:b, weather:c' }], ...body };
    let answer = await (await served.send(path, sent)).text();
    const told: readonly string[][] = [[], [], []];
    for (const ids of told) {
      ids.push(...(answer.match(/call_[0-9a-f]{32}/gu) ?? []));
      const given = await served.give([[ids[0]!, 'sun']]);
      answer = JSON.stringify(given);
    }
    expect(told.map((ids) => ids.length)).toEqual([1, 1, 1]);
    expect(answer).toContain('Told: sun | sun | sun');
  });

  test('are told while the agent’s own tools and sub-agents work, whose results are in the same turn', async () => {
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: openHouse({ execute: () => gate.promise }).agents });
    const first = await served.ask('own:x, weather:a, helper:y');
    expect(namesOf(first)).toEqual(['weather:a']);
    const rest = served.give(answered(first.calls));
    await turn();
    gate.resolve('own is done');
    const { text } = await rest;
    // The sub-agent has what it is defined with.
    expect(text).toMatch(/^Told: own is done \| weather of a \| .*helped y with spade read_output$/su);
  });

  test('are told with what the agent itself says, in each part of a stream, whatever its sub-agents say meanwhile', async () => {
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: openHouse({}, { execute: () => gate.promise }).agents });
    const parts: string[] = [];
    const stream = async (messages: readonly unknown[]): Promise<Call | undefined> => {
      const body = { model: 'guide', messages, tools: chatTools, stream: true };
      const lines = (await (await served.send('/v1/chat/completions', body)).text()).split('\n');
      const chunks = lines.flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
      const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }: any) => delta));
      parts.push(deltas.map(({ content = '' }) => content).join(''));
      return deltas.flatMap(({ tool_calls = [] }) => tool_calls)[0];
    };
    const asked = [{ role: 'user', content: 'helper:dig, weather:a; weather:b' }];
    const first = await stream(asked);
    const gone = async (call: Call | undefined): Promise<Call | undefined> =>
      stream([
        ...asked,
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: call!.id, content: 'sun' },
      ]);
    // The sub-agent has done all it does before anything else goes on.
    gate.resolve('dug');
    for (let count = 0; count < 20; count++) await turn();
    await gone(await gone(first));
    expect(parts.slice(0, 2)).toEqual(['Round 1.', 'Round 2.']);
    expect(parts[2]).toMatch(/^Told: Result from helper.*helped dig.* \| sun \| sun$/su);
  });

  test('are refused to a model whose arguments do not fit, and never reach the client', async () => {
    const strict = {
      ...weather,
      schema: { ...weather.schema, properties: { text: { type: 'string', maxLength: 3 } } },
    };
    const served = await serveTools({ agents: openHouse().agents });
    const tools = [chatTool(strict), chatTool(time)];
    const told = await served.ask('weather:much-too-long, time:now', { tools });
    expect(namesOf(told)).toEqual(['time:now']);
    expect((await served.give(answered(told.calls))).text).toMatch(/arguments.* \| time of now$/su);
  });

  test('are not made where the client chooses none, and cannot be forced', async () => {
    const served = await serveTools({ agents: openHouse().agents });
    const told = await served.ask('weather:a', { more: { tool_choice: 'none' } });
    expect([told.finish, told.text]).toEqual(['stop', expect.stringContaining('"weather" is not one of')]);
    for (const tool_choice of ['required', { type: 'function', function: { name: 'weather' } }])
      expect((await served.ask('weather:a', { more: { tool_choice } })).error?.code).toBe('request_unsupported');
  });

  test('take no slot from tools that work', async () => {
    const served = await serveTools({ agents: openHouse().agents, of: { concurrency: { tools: 1 } } });
    const first = await served.ask('weather:a');
    expect((await served.ask('own:x', { tools: [] })).text).toContain('Told: own');
    expect((await served.give(answered(first.calls))).text).toBe('Told: weather of a');
  });
});

describe('tools that cannot be taken', () => {
  const object = { type: 'object' };
  const tool = (name: string, parameters: unknown = object): unknown => ({
    type: 'function',
    function: { name, parameters },
  });
  test.each<[string, readonly unknown[], string]>([
    ['a tool of the agent', [tool('own')], '"own"'],
    ['its sub-agent', [tool('helper')], '"helper"'],
    ['the runtime’s own', [tool('read_output')], '"read_output"'],
    ['a name that is there twice', [tool('a'), tool('a')], '"a" is there twice'],
    ['no name', [tool('')], 'names of letters'],
    ['a name for nobody', [tool('a b')], 'names of letters'],
    [
      'a schema that is none',
      [tool('a', { type: 'object', properties: { x: { type: 'shoe' } } })],
      'tools.a.inputSchema',
    ],
    [
      'a schema of no object',
      [tool('a', { type: 'bogus' })],
      'tools[0].function.parameters.type: expected "object", for arguments are one; got "bogus".',
    ],
    ['what is no schema', [tool('a', [])], 'tools[0].function.parameters'],
    ['what is no function', [{ type: 'web_search' }], 'only functions'],
    ['what is no tool', ['a'], 'tools[0]'],
    ['too many', Array.from({ length: 129 }, (_, place) => tool(`t${place}`)), 'at most 128'],
    ['too much', [tool('a', { type: 'object', description: 'x'.repeat(300_000) })], 'at most 262144 bytes'],
  ])('%s', async (_what, tools, words) => {
    const served = await serveTools({ agents: openHouse().agents });
    const { status, error } = await served.ask('weather:a', { tools });
    expect([status, error?.message]).toEqual([
      words.startsWith('at most 2') ? 413 : 400,
      expect.stringContaining(words),
    ]);
    expect(await served.cloister.runs()).toEqual([]);
    // Nothing is kept for it.
    expect((await served.ask('own:x', { tools: [] })).status).toBe(200);
  });

  test('are all of them, for a team', async () => {
    const [guide] = openHouse().agents;
    const team = defineTeam({ name: 'crew', description: 'd', agents: [guide!], coordinator: guide! });
    const served = await serveTools({ agents: [team] });
    const { status, error } = await served.ask('weather:a', { model: 'crew' });
    expect([status, error?.message]).toEqual([400, expect.stringContaining('no `tools`')]);
  });

  test('are all of them, in every protocol, unless the operator allows them', async () => {
    const served = await serveTools({ agents: openHouse().agents, options: { clients: {} } });
    const say = { role: 'user', content: 'weather:a' };
    const schema = { name: 'weather', description: 'd' };
    const bodies = {
      '/v1/chat/completions': { messages: [say], tools: chatTools },
      '/v1/responses': { input: 'weather:a', tools: [{ type: 'function', ...schema, parameters: object }] },
      '/v1/messages': { messages: [say], max_tokens: 9, tools: [{ ...schema, input_schema: object }] },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const response = await served.send(path, { model: 'guide', ...body });
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('tools: ')]);
    }
    expect(await served.cloister.runs()).toEqual([]);
  });
});

describe('results', () => {
  test('that nobody waits for are refused, all or none, and the run waits on', async () => {
    const served = await serveTools({ agents: openHouse().agents });
    const first = await served.ask('weather:a, time:b');
    const other = await served.ask('weather:c');
    const [a, b] = answered(first.calls);
    const wrong: [string, readonly (readonly [Call | string, string])[]][] = [
      ['there is no such call', [['call_0', 'x']]],
      ['there is no such call', [a!, ['call_0', 'x']]],
      ['two results for one call', [a!, b!, a!]],
      ['calls of several answers', [a!, ...answered(other.calls)]],
    ];
    for (const [words, results] of wrong) {
      const { status, error } = await served.give(results);
      expect([status, error?.message]).toEqual([400, expect.stringContaining(words)]);
    }
    expect((await served.give([a!, b!])).text).toBe('Told: weather of a | time of b');
    expect((await served.give([a!])).error?.message).toContain('it has its result');
    expect((await served.give(answered(other.calls))).text).toBe('Told: weather of c');
  });

  test('with words beside them are taken, and the agent is given the words; afterwards all of it is history', async () => {
    const { agents, model } = openHouse();
    const served = await serveTools({ agents });
    const [call] = (await served.ask('weather:a')).calls;
    const messages = [
      { role: 'user', content: 'weather:a' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call!.id, content: 'sun' },
      { role: 'user', content: 'own:x' },
    ];
    const send = async () => served.send('/v1/chat/completions', { model: 'guide', messages });
    const first = await send();
    expect([first.status, await first.text()]).toEqual([200, expect.stringContaining('Told: sun')]);
    const shown = JSON.stringify(model.requests.at(-1)!.prompt);
    expect(shown.split('own:x')).toHaveLength(2);
    const [run] = await served.cloister.runs();
    expect(await served.cloister.audit(run!.run)).toMatchObject({ ok: true });
    expect(await served.cloister.replay(run!.run)).toMatchObject({ ok: true, differences: [] });
    // Nobody waits for the result any more: it is what was said.
    expect((await send()).status).toBe(200);
    expect(await statuses(served)).toEqual(['completed', 'completed']);
  });

  test('come with words in Anthropic’s form too, beside them in one message; those of others give nobody anything', async () => {
    const { agents, model } = openHouse();
    const served = await serveTools({ agents });
    const [call] = (await served.ask('weather:a')).calls;
    const bring = (as: string) => {
      const result = { type: 'tool_result', tool_use_id: call!.id, content: 'sun' };
      const content = [result, { type: 'text', text: 'Mind the wind.' }];
      const messages = [
        { role: 'user', content: 'weather:a' },
        { role: 'assistant', content: [{ type: 'tool_use', id: call!.id, name: 'weather', input: {} }] },
        { role: 'user', content },
      ];
      return served.send('/v1/messages', { model: 'guide', max_tokens: 9, messages }, { as });
    };
    // For another it is the result of nothing: what is said is a question of its own.
    await (await bring('you')).text();
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).not.toContain('sun');
    expect(await (await bring('me')).text()).toContain('Told: sun');
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).toContain('Mind the wind.');
  });

  test('are as long as an own tool’s may be', async () => {
    const served = await serveTools({ agents: openHouse().agents });
    const [call] = (await served.ask('weather:a')).calls;
    const { text } = await served.give([[call!, 'long '.repeat(20_000)]]);
    expect(text).toContain('read_output');
  });
});

describe('a run that waits for its client', () => {
  test('ends when the time of a call is over, and then nobody waits for the result', async () => {
    const clock = virtualClock();
    const served = await serveTools({
      agents: openHouse().agents,
      of: { clock },
      options: { clock, places: { running: 1 } },
    });
    const first = await served.ask('weather:a, time:b');
    await clock.advance(299_999);
    const second = await served.give([[first.calls[0]!, 'sun']]);
    expect(second.finish).toBe('tool_calls');
    await clock.advance(1);
    expect(await statuses(served)).toEqual(['cancelled']);
    const { status, error } = await served.give([[first.calls[1]!, 'noon']]);
    expect([status, error?.message]).toEqual([400, expect.stringContaining('the time for it is over')]);
    const [run] = await served.cloister.runs();
    const { events } = await served.cloister.show(run!.run);
    expect(events.flatMap((event) => (event.type === 'tool-end' ? [event.error?.code ?? null] : []))).toEqual([
      null,
      'tool_timeout',
    ]);
    // Its place is free.
    expect((await served.ask('own:x', { tools: [] })).status).toBe(200);
  });

  test('goes on when the time of a call is over, as long as somebody hears it', async () => {
    const clock = virtualClock();
    const gate = Promise.withResolvers<string>();
    const agents = openHouse({ execute: () => gate.promise, timeoutMs: 1e9 }).agents;
    const served = await serveTools({ agents, of: { clock }, options: { clock, clientToolMs: 1_000 } });
    const first = await served.ask('weather:a, own:x; weather:b');
    const rest = served.give([[first.calls[0]!, 'sun']]);
    await clock.advance(5_000);
    gate.resolve('done');
    const second = await rest;
    expect(namesOf(second)).toEqual(['weather:b']);
    expect((await served.give([[second.calls[0]!, 'rain']])).text).toBe('Told: sun | done | rain');
  });

  test('is not ended by the client that goes away in between, and is by one that goes away while it hears it', async () => {
    const entered = Promise.withResolvers<void>();
    const gate = new Promise<string>(() => undefined);
    const execute = (): Promise<string> => (entered.resolve(), gate);
    const served = await serveTools({ agents: openHouse({ execute }).agents, options: { port: 0 } });
    const { url } = await served.server.listen();
    const sent = posted('/v1/chat/completions', 'me', {
      model: 'guide',
      messages: [{ role: 'user', content: 'weather:a; own:x' }],
      tools: chatTools,
    });
    const headers = { ...Object.fromEntries(sent.headers), connection: 'close' };
    const body = await sent.text();
    const answer = (await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', body, headers })).json()) as any;
    const first = { calls: answer.choices[0].message.tool_calls as readonly Call[] };
    for (let count = 0; count < 20; count++) await turn();
    expect(await statuses(served)).toEqual([null]);
    const during = new AbortController();
    const rest = served.give(answered(first.calls), { signal: during.signal });
    await entered.promise;
    during.abort();
    expect((await rest).error?.code).toBe('cancelled');
    expect(await statuses(served)).toEqual(['cancelled']);
  });

  test('is ended by a client that goes away before it has read that it is waited for', async () => {
    const served = await serveTools({ agents: openHouse().agents });
    const going = new AbortController();
    const messages = [{ role: 'user', content: 'weather:a' }];
    const sent = { model: 'guide', messages, tools: chatTools, stream: true };
    const response = await served.send('/v1/chat/completions', sent, { signal: going.signal });
    const [{ run }] = (await served.cloister.runs()) as readonly [RunSummary];
    const isCalled = async (): Promise<boolean> =>
      (await served.cloister.show(run)).events.some(({ type }) => type === 'tool-start');
    while (!(await isCalled())) await turn();
    await turn();
    await turn();
    expect(await statuses(served)).toEqual([null]);
    going.abort();
    await response.body!.cancel();
    await turn();
    expect(await statuses(served)).toEqual(['cancelled']);
  });

  test('holds no place meanwhile, and has none to go on with when all are taken: no result is taken then', async () => {
    const options = { places: { running: 1, waiting: 0 } };
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: openHouse({ execute: () => gate.promise }).agents, options });
    const first = await served.ask('weather:a; time:b');
    const busy = served.ask('own:x', { tools: [] });
    await turn();
    expect((await served.ask('own:y', { tools: [] })).status).toBe(429);
    const refused = await served.give(answered(first.calls));
    expect([refused.status, refused.error?.code]).toEqual([429, 'rate_limit_exceeded']);
    gate.resolve('done');
    expect((await busy).status).toBe(200);
    const second = await served.give(answered(first.calls));
    expect(second.finish).toBe('tool_calls');
    expect((await served.give(answered(second.calls))).text).toBe('Told: weather of a | time of b');
    // Each has given back what it took, and no more.
    expect((await served.ask('weather:a')).status).toBe(200);
    expect((await served.ask('own:y', { tools: [] })).status).toBe(200);
  });

  test('waits in line to go on; of two that bring the same result, the second has nothing to bring', async () => {
    const options = { places: { running: 1 } };
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: openHouse({ execute: () => gate.promise }).agents, options });
    const [first, other] = [await served.ask('weather:a'), await served.ask('weather:b')];
    const busy = served.ask('own:x', { tools: [] });
    await turn();
    const gone = new AbortController();
    const left = served.give(answered(other.calls), { signal: gone.signal }).catch(() => null);
    const both = [served.give(answered(first.calls)), served.give(answered(first.calls))];
    await turn();
    gone.abort();
    gate.resolve('done');
    await busy;
    const told = await Promise.all(both);
    expect(told.map(({ status, text }) => [status, text ?? null])).toEqual(
      expect.arrayContaining([
        [200, 'Told: weather of a'],
        [400, null],
      ]),
    );
    await left;
    // Who went away in line has brought nothing, and took nothing.
    expect((await served.give(answered(other.calls))).text).toBe('Told: weather of b');
    expect((await served.ask('own:y', { tools: [] })).status).toBe(200);
  });

  test('never has more at work than there are places, however many bring results at once', async () => {
    let [working, most] = [0, 0];
    const execute = async (): Promise<string> => {
      most = Math.max(most, ++working);
      for (let turns = 0; turns < 5; turns++) await turn();
      working--;
      return 'done';
    };
    const served = await serveTools({ agents: openHouse({ execute }).agents, options: { places: { running: 2 } } });
    const firsts: Told[] = [];
    for (let count = 0; count < 16; count++) firsts.push(await served.ask('weather:a; own:x'));
    const rest = await Promise.all(firsts.map(({ calls }) => served.give(answered(calls))));
    expect(new Set(rest.map(({ text }) => text))).toEqual(new Set(['Told: weather of a | done']));
    expect(most).toBeLessThanOrEqual(2);
  });

  test('takes a place again, which nobody else gets until it waits or ends', async () => {
    const gate = Promise.withResolvers<string>();
    const options = { places: { running: 1, waiting: 0 } };
    const served = await serveTools({ agents: openHouse({ execute: () => gate.promise }).agents, options });
    const first = await served.ask('weather:a; own:x');
    const rest = served.give(answered(first.calls));
    await turn();
    expect((await served.ask('weather:b')).status).toBe(429);
    gate.resolve('done');
    expect((await rest).text).toBe('Told: weather of a | done');
    expect((await served.ask('weather:b')).status).toBe(200);
  });

  test('is one of 16 of its caller: with so many no other is begun that could come to wait', async () => {
    const served = await serveTools({ agents: openHouse().agents });
    const waiting: Told[] = [];
    for (let count = 0; count < 16; count++) waiting.push(await served.ask('weather:a'));
    expect(new Set(waiting.map(({ finish }) => finish))).toEqual(new Set(['tool_calls']));
    const { status, error } = await served.ask('weather:a');
    expect([status, error?.message]).toEqual([429, expect.stringContaining('16 runs of yours wait')]);
    // One without tools is none of them, and neither is another's.
    expect((await served.ask('own:x', { tools: [] })).status).toBe(200);
    expect((await served.ask('weather:a', { as: 'you' })).finish).toBe('tool_calls');
    expect((await served.give(answered(waiting[3]!.calls))).text).toBe('Told: weather of a');
    expect((await served.ask('weather:a')).finish).toBe('tool_calls');
    expect((await served.ask('weather:a')).status).toBe(429);
  });

  test('does not keep a server from stopping, and neither does one that comes to wait then', async () => {
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: openHouse({ execute: () => gate.promise }).agents });
    const first = await served.ask('weather:a');
    const second = served.ask('own:x; weather:b');
    await turn();
    const stopped = served.server.stop(1e9);
    expect((await served.give(answered(first.calls))).error?.code).toBe('server_stopping');
    gate.resolve('done');
    expect((await second).finish).toBe('tool_calls');
    expect(await stopped).toEqual([]);
    expect(await statuses(served)).toEqual(['cancelled', 'cancelled']);
  });

  test('is told as such, and ended by whoever cancels it', async () => {
    const served = await serveTools({ agents: openHouse().agents });
    const first = await served.ask('weather:a');
    const [run] = await served.cloister.runs();
    expect((await served.send(`/v1/runs/${run!.run}/cancel`, {})).status).toBe(202);
    await turn();
    expect(await statuses(served)).toEqual(['cancelled']);
    expect((await served.give(answered(first.calls))).status).toBe(400);
  });
});

describe('of two callers', () => {
  test('neither can bring results for the other’s calls, and is told the same as for calls that never were', async () => {
    const served = await serveTools({ agents: openHouse().agents });
    const mine = await served.ask('weather:mine');
    const yours = await served.ask('weather:yours', { as: 'you' });
    const [foreign, unknown] = [mine.calls[0]!.id, mine.calls[0]!.id.replaceAll(/\d/gu, '0')];
    const tries = [foreign, unknown].map(async (id) => {
      const { status, error } = await served.give([[id, 'stolen']], { as: 'you' });
      return [status, error!.code, error!.message.replace(id, 'ID')];
    });
    const [one, other] = await Promise.all(tries);
    expect(one).toEqual(other);
    for (const id of [foreign, unknown]) {
      const messages = [
        { role: 'tool', tool_call_id: id, content: 'stolen' },
        { role: 'user', content: 'own:x' },
      ];
      expect((await served.send('/v1/chat/completions', { model: 'guide', messages }, { as: 'you' })).status).toBe(200);
    }
    const both = await served.give(
      [
        [yours.calls[0]!, 'x'],
        [foreign, 'stolen'],
      ],
      { as: 'you' },
    );
    expect(both.status).toBe(400);
    expect((await served.give([[mine.calls[0]!, 'sun']])).text).toBe('Told: sun');
    expect((await served.give([[yours.calls[0]!, 'rain']], { as: 'you' })).text).toBe('Told: rain');
  });

  test('one sees the same whatever the tools, calls and results of the other are', async () => {
    const scene = async (secret: string): Promise<unknown> => {
      const house = openHouse();
      const served = await serveTools({ agents: house.agents });
      const tools = [chatTool({ ...weather, description: secret }), chatTool({ ...time, name: `t_${secret}` })];
      const mine = await served.ask(`weather:${secret}`, { tools });
      const yours = await served.ask('weather:b, time:c', { as: 'you' });
      const seen: Told[] = [yours];
      const theft = served.give([[mine.calls[0]!, 'x']], { as: 'you' });
      await served.give([[mine.calls[0]!, secret]]);
      seen.push(await theft, await served.give(answered(yours.calls), { as: 'you' }));
      const known = new Map<string, number>();
      const plain = JSON.stringify(seen).replaceAll(/call_[0-9a-f]{32}/gu, (id) => {
        known.set(id, known.get(id) ?? known.size);
        return `call ${known.get(id)}`;
      });
      expect(plain).toContain('Told: weather of b | time of c');
      const prompts = house.model.requests.map((request) => JSON.stringify([request.prompt, request.tools]));
      return [plain, prompts.filter((prompt) => prompt.includes('weather:b'))];
    };
    expect(await scene('zebra')).toEqual(await scene('lion-heart'));
  });
});

test('of 200 runs of two callers at once, with tools of one name, each is told its own results and no others', async () => {
  const served = await serveTools({ agents: openHouse().agents, options: { places: { waiting: 200 } } });
  const known: Record<string, string[]> = { me: [], you: [] };
  let tries = 0;
  const goal = 'weather:a, time:b; time:c, own:x, weather:d; weather:e';
  const talk = async (place: number): Promise<void> => {
    const [as, other] = place % 2 === 0 ? ['me', 'you'] : ['you', 'me'];
    const mark = (call: Call): string => `${as} ${place} ${textOf(call)}`;
    let told = await served.ask(goal, { as });
    // So many of one caller wait at a time.
    for (; told.status === 429; told = await served.ask(goal, { as })) await turn();
    const marks: string[] = [];
    while (told.finish === 'tool_calls') {
      known[as]!.push(...told.calls.map(({ id }) => id));
      const foreign = known[other]!.at(-1 - (place % 7));
      const own = told.calls.map((call): [Call, string] => [call, mark(call)]);
      if (foreign !== undefined) {
        tries++;
        expect((await served.give([[foreign, mark(told.calls[0]!)]], { as })).status).toBe(400);
        expect((await served.give([...own, [foreign, 'x']], { as })).status).toBe(400);
      }
      const now = place % 3 === 0 ? own.slice(0, 1) : own;
      marks.push(...now.map(([, text]) => text));
      // Some send the names that they have for calls themselves, as others do.
      expect((await served.give([['call_1', 'x']], { as })).status).toBe(400);
      told = await served.give(now, { as });
    }
    const all = ['a', 'b', 'c', 'own {"text":"x"}', 'd', 'e'];
    expect(told.text).toBe(
      `Told: ${all.map((one) => (one.startsWith('own') ? one : `${as} ${place} ${one}`)).join(' | ')}`,
    );
    expect(marks).toHaveLength(5);
  };
  await Promise.all(Array.from({ length: 200 }, (_, place) => talk(place)));
  expect(tries).toBeGreaterThan(200);
  const runs = await served.cloister.runs();
  expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(200);
});
