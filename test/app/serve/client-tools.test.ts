import { describe, expect, test } from 'vitest';
import { defineTeam } from 'cloister';
import type { RunSummary } from '#contracts';
import { virtualClock } from 'cloister/testkit';
import { scriptAgents, time, scriptedUsage, weather } from '../../headends/client-tools/scripted-agents.ts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { chatTool, chatTools, serveTools, turn } from './client-driver.ts';
import type { Call, ClientReply, ToolsServed } from './client-driver.ts';
import { postRequest } from './local-requests.ts';

const textOf = (call: Call): string => (JSON.parse(call.function.arguments) as { text: string }).text;

const namesOf = ({ calls }: ClientReply): readonly string[] =>
  calls.map((call) => `${call.function.name}:${textOf(call)}`);

const resultsFor = (calls: readonly Call[]): readonly [Call, string][] =>
  calls.map((call) => [call, `${call.function.name} of ${textOf(call)}`]);

const statuses = async ({ cloister }: ToolsServed): Promise<readonly (string | null)[]> =>
  (await cloister.runs()).map(({ status }) => status);

const many = 'abcdefg'.split('').map((letter) => `weather:${letter}`);

describe('calls of a client’s tools', () => {
  test.each(['memory', 'disk'])(
    'are returned together, as many as can start, until each has its result (%s)',
    async (where) => {
      await using folder = await temporaryFolder();
      const of = where === 'memory' ? {} : { workspace: folder.path };
      const served = await serveTools({ agents: scriptAgents().agents, of });
      let reply = await served.ask(many.join(', '));
      expect(namesOf(reply)).toEqual(many.slice(0, 4));
      const seen = [...namesOf(reply)];
      for (let left = 4; reply.finish === 'tool_calls' && left > 0; left--) {
        reply = await served.give(resultsFor(reply.calls));
        seen.push(...namesOf(reply));
      }
      expect(seen).toEqual(many);
      expect(reply.text).toBe(`Told: ${many.map((one) => one.replace(':', ' of ')).join(' | ')}`);
      const [run] = await served.cloister.runs();
      expect(await served.cloister.audit(run!.run)).toMatchObject({ ok: true });
      expect(await served.cloister.replay(run!.run)).toMatchObject({ ok: true, differences: [] });
    },
  );

  test('are returned again until each has its result, which may come in several requests, even concurrent ones', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const first = await served.ask('weather:a, time:b, weather:c');
    const [a, b, c] = resultsFor(first.calls);
    const second = await served.give([b!]);
    expect([second.finish, second.calls, second.text]).toEqual(['tool_calls', [a![0], c![0]], null]);
    const last = await Promise.all([served.give([c!]), served.give([a!])]);
    expect(new Set(last.map(({ finish }) => finish))).toEqual(new Set(['stop', 'tool_calls']));
    expect(last.find(({ finish }) => finish === 'stop')!.text).toBe('Told: weather of a | time of b | weather of c');
    const usage = [first, second, ...last].reduce((sum, reply) => sum + reply.usage!.prompt_tokens, 0);
    expect(usage).toBe(2 * scriptedUsage.input);
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
  ])('are returned one at a time to a client that accepts no more (%s)', async (_who, body, path) => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const sent = { model: 'guide', messages: [{ role: 'user', content: 'weather:a, time:b, weather:c' }], ...body };
    let answer = await (await served.send(path, sent)).text();
    const idsByRound: readonly string[][] = [[], [], []];
    for (const ids of idsByRound) {
      ids.push(...(answer.match(/q-[0-9a-f]+-\d+/gu) ?? []));
      const given = await served.give([[ids[0]!, 'sun']]);
      answer = JSON.stringify(given);
    }
    expect(idsByRound.map((ids) => ids.length)).toEqual([1, 1, 1]);
    expect(answer).toContain('Told: sun | sun | sun');
  });

  test('are returned while the agent’s own tools and sub-agents work, whose results are in the same turn', async () => {
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: scriptAgents({ execute: () => gate.promise }).agents });
    const first = await served.ask('own:x, weather:a, helper:y');
    expect(namesOf(first)).toEqual(['weather:a']);
    const rest = served.give(resultsFor(first.calls));
    await turn();
    gate.resolve('own is done');
    const { text } = await rest;
    // The sub-agent has only the tools of its definition.
    expect(text).toMatch(/^Told: own is done \| weather of a \| .*helped y with spade read_output$/su);
  });

  test('are returned with the agent’s own text, in each part of a stream, whatever its sub-agents say meanwhile', async () => {
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: scriptAgents({}, { execute: () => gate.promise }).agents });
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
    // The sub-agent finishes everything before anything else continues.
    gate.resolve('dug');
    for (let count = 0; count < 20; count++) await turn();
    await gone(await gone(first));
    expect(parts.slice(0, 2)).toEqual(['Round 1.', 'Round 2.']);
    expect(parts[2]).toMatch(/^Told: Result from helper.*helped dig.* \| sun \| sun$/su);
  });

  test('with invalid arguments are refused to the model, and never reach the client', async () => {
    const strict = {
      ...weather,
      schema: { ...weather.schema, properties: { text: { type: 'string', maxLength: 3 } } },
    };
    const served = await serveTools({ agents: scriptAgents().agents });
    const tools = [chatTool(strict), chatTool(time)];
    const reply = await served.ask('weather:much-too-long, time:now', { tools });
    expect(namesOf(reply)).toEqual(['time:now']);
    expect((await served.give(resultsFor(reply.calls))).text).toMatch(/arguments.* \| time of now$/su);
  });

  test('are not made where the client chooses none, and cannot be forced', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const reply = await served.ask('weather:a', { more: { tool_choice: 'none' } });
    expect([reply.finish, reply.text]).toEqual(['stop', expect.stringContaining('"weather" is not one of')]);
    for (const tool_choice of ['required', { type: 'function', function: { name: 'weather' } }])
      expect((await served.ask('weather:a', { more: { tool_choice } })).error?.code).toBe('request_unsupported');
  });

  test('take no slot from running tools', async () => {
    const served = await serveTools({ agents: scriptAgents().agents, of: { concurrency: { tools: 1 } } });
    const first = await served.ask('weather:a');
    expect((await served.ask('own:x', { tools: [] })).text).toContain('Told: own');
    expect((await served.give(resultsFor(first.calls))).text).toBe('Told: weather of a');
  });
});

describe('tools that come with a later request', () => {
  const noon = { ...time, name: 'mcp__clock__noon', description: 'Tells noon.' };
  const later = [...chatTools, chatTool(noon)];

  test('can be called from the next request to the model on, and are a recorded crossing', async () => {
    const { agents, model } = scriptAgents();
    const served = await serveTools({ agents });
    const first = await served.ask('mcp__clock__noon:x, weather:a; mcp__clock__noon:b');
    // The model knew nothing of it.
    expect(namesOf(first)).toEqual(['weather:a']);
    const second = await served.give(resultsFor(first.calls), { tools: later });
    expect(namesOf(second)).toEqual(['mcp__clock__noon:b']);
    // Fewer tools, or others under known names, change nothing.
    const changed = [chatTool({ ...noon, description: 'Is another one.' })];
    const last = await served.give(resultsFor(second.calls), { tools: changed });
    expect(last.text).toMatch(/is not one of.* \| weather of a \| mcp__clock__noon of b$/su);
    const offered = model.requests.map(({ tools = [] }) => tools.map((tool) => tool.name));
    expect(offered[0]).not.toContain(noon.name);
    expect(offered.slice(1)).toEqual([
      [...offered[0]!, noon.name],
      [...offered[0]!, noon.name],
    ]);
    expect(JSON.stringify(model.requests.at(-1)!.tools)).not.toContain('Is another one.');
    const [run] = await served.cloister.runs();
    const { events } = await served.cloister.show(run!.run);
    expect(events.filter((event) => event.type === 'crossing' && event.kind === 'tools')).toHaveLength(1);
    expect(await served.cloister.audit(run!.run)).toMatchObject({ ok: true, problems: [] });
    expect(await served.cloister.replay(run!.run)).toMatchObject({ ok: true, differences: [] });
  });

  test('are refused if the agent has the name, and then no result is taken', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const first = await served.ask('weather:a');
    const refused = await served.give(resultsFor(first.calls), {
      tools: [...chatTools, chatTool({ ...noon, name: 'own' })],
    });
    expect([refused.status, refused.error?.message]).toEqual([400, expect.stringContaining('"own"')]);
    expect((await served.give(resultsFor(first.calls))).text).toBe('Told: weather of a');
  });

  test('are announced by references in a result, as Anthropic’s clients do', async () => {
    const { agents, model } = scriptAgents();
    const served = await serveTools({ agents });
    const tool = (name: string) => ({ name, description: 'd', input_schema: weather.schema });
    const messages: unknown[] = [{ role: 'user', content: 'search:noon; mcp__clock__noon:b' }];
    const send = async (tools: readonly string[]): Promise<any> => {
      const body = { model: 'guide', max_tokens: 9, messages, tools: tools.map(tool) };
      const reply = await (await served.send('/v1/messages', body)).json();
      return reply;
    };
    const answer = (reply: any, content: unknown): void => {
      const { id } = reply.content.find(({ type }: { type: string }) => type === 'tool_use');
      messages.push({ role: 'assistant', content: reply.content });
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] });
    };
    const first = await send(['search']);
    answer(first, [{ type: 'tool_reference', tool_name: noon.name }]);
    const second = await send(['search', noon.name]);
    expect(second.content.at(-1)).toMatchObject({ type: 'tool_use', name: noon.name, input: { text: 'b' } });
    answer(second, 'twelve');
    const last = await send(['search', noon.name]);
    expect(last.content).toMatchObject([{ text: 'Told: The tool mcp__clock__noon is available now. | twelve' }]);
    expect(model.requests).toHaveLength(3);
  });
});

describe('tools that cannot be accepted', () => {
  const object = { type: 'object' };
  const tool = (name: string, parameters: unknown = object): unknown => ({
    type: 'function',
    function: { name, parameters },
  });
  test.each<[string, readonly unknown[], string]>([
    ['a tool of the agent', [tool('own')], '"own"'],
    ['its sub-agent', [tool('helper')], '"helper"'],
    ['the runtime’s own', [tool('read_output')], '"read_output"'],
    ['a duplicate name', [tool('a'), tool('a')], '"a" is used twice'],
    ['no name', [tool('')], 'a name of letters'],
    ['a name for nobody', [tool('a b')], 'a name of letters'],
    ['an invalid schema', [tool('a', { type: 'object', properties: { x: { type: 'shoe' } } })], 'tools.a.inputSchema'],
    [
      'a schema that is not for an object',
      [tool('a', { type: 'bogus' })],
      'tools[0].function.parameters.type: expected "object", because arguments are an object; got "bogus".',
    ],
    ['something other than a schema', [tool('a', [])], 'tools[0].function.parameters'],
    ['something other than a function', [{ type: 'web_search' }], 'only functions'],
    ['something other than a tool', ['a'], 'tools[0]'],
    ['too many', Array.from({ length: 129 }, (_, place) => tool(`t${place}`)), 'the limit is 128'],
    ['too much', [tool('a', { type: 'object', description: 'x'.repeat(300_000) })], 'the limit is 262144'],
  ])('%s', async (_what, tools, words) => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const { status, error } = await served.ask('weather:a', { tools });
    expect([status, error?.message]).toEqual([words.endsWith('262144') ? 413 : 400, expect.stringContaining(words)]);
    expect(await served.cloister.runs()).toEqual([]);
    // No slot is held for it.
    expect((await served.ask('own:x', { tools: [] })).status).toBe(200);
  });

  test('are all of them, for a team', async () => {
    const [guide] = scriptAgents().agents;
    const team = defineTeam({ name: 'crew', description: 'd', agents: [guide!], coordinator: guide! });
    const served = await serveTools({ agents: [team] });
    const { status, error } = await served.ask('weather:a', { model: 'crew' });
    expect([status, error?.message]).toEqual([400, expect.stringContaining('but not `tools`')]);
  });

  test('are all of them, in every protocol, unless the operator allows them', async () => {
    const served = await serveTools({ agents: scriptAgents().agents, options: { clients: {} } });
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
  // invariant: client-results-once
  test('of which a run waits for some only are refused, all or none, and the run keeps waiting', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const first = await served.ask('weather:a, time:b');
    const other = await served.ask('weather:c');
    const [a, b] = resultsFor(first.calls);
    const wrong: [string, readonly (readonly [Call | string, string])[]][] = [
      ['the call is unknown', [a!, ['call_0', 'x']]],
      ['Two results were sent for the same call', [a!, b!, a!]],
      ['belong to several responses', [a!, ...resultsFor(other.calls)]],
    ];
    for (const [words, results] of wrong) {
      const { status, error } = await served.give(results);
      expect([status, error?.message]).toEqual([400, expect.stringContaining(words)]);
    }
    expect((await served.give([a!, b!])).text).toBe('Told: weather of a | time of b');
    expect((await served.give(resultsFor(other.calls))).text).toBe('Told: weather of c');
  });

  test('that no run waits for are history: a new run gets them as text, with what was called', async () => {
    const { agents, model } = scriptAgents();
    const served = await serveTools({ agents });
    const first = await served.ask('weather:a');
    await served.give(resultsFor(first.calls));
    const bodies = {
      '/v1/chat/completions': {
        messages: [
          { role: 'user', content: 'Hello.' },
          { role: 'assistant', content: 'I look.', tool_calls: first.calls },
          { role: 'tool', tool_call_id: first.calls[0]!.id, content: 'snow' },
        ],
      },
      '/v1/messages': {
        max_tokens: 9,
        messages: [
          { role: 'user', content: 'Hello.' },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'I look.' },
              { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { text: 'a' } },
            ],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'snow' }] },
        ],
      },
      '/v1/responses': {
        input: [
          { role: 'user', content: 'Hello.' },
          { role: 'assistant', content: 'I look.' },
          { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"text":"a"}' },
          { type: 'function_call_output', call_id: 'c1', output: 'snow' },
        ],
      },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const before = model.requests.length;
      const response = await served.send(path, { model: 'guide', ...body });
      expect([path, response.status]).toEqual([path, 200]);
      const prompt = JSON.stringify(model.requests[before]!.prompt);
      expect(prompt).toContain(
        'Your task: [Result of weather {\\\\\"text\\\\\":\\\\\"a\\\\\"}]\\\\nsnow'.replaceAll('\\\\', '\\'),
      );
      expect(prompt).toContain('I look.');
    }
  });

  test('with text beside them are accepted, and the agent gets the text; afterwards all of it is history', async () => {
    const { agents, model } = scriptAgents();
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
    // No run waits for the result any more: it is treated as history.
    expect((await send()).status).toBe(200);
    expect(await statuses(served)).toEqual(['completed', 'completed']);
  });

  test('can come with text in Anthropic’s format too, in the same message; results for another caller’s calls have no effect', async () => {
    const { agents, model } = scriptAgents();
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
    // From another caller it is the result of no call: the text becomes a new question, after its own words about a result.
    await (await bring('you')).text();
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).toContain('Your task: Mind the wind.');
    expect(await (await bring('me')).text()).toContain('Told: sun');
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).toContain('Mind the wind.');
  });

  test('may be as long as those of the agent’s own tools', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const [call] = (await served.ask('weather:a')).calls;
    const { text } = await served.give([[call!, 'long '.repeat(20_000)]]);
    expect(text).toContain('read_output');
  });
});

describe('a run that waits for its client', () => {
  // invariant: disconnect-ends-run
  test('is told that the tool failed when the call times out, and then waits for no result', async () => {
    const clock = virtualClock();
    const served = await serveTools({
      agents: scriptAgents().agents,
      of: { clock },
      options: { clock, slots: { running: 1 } },
    });
    const first = await served.ask('weather:a, time:b');
    await clock.advance(86_399_999);
    const second = await served.give([[first.calls[0]!, 'sun']]);
    expect(second.finish).toBe('tool_calls');
    await clock.advance(1);
    while ((await statuses(served))[0] === null) await turn();
    expect(await statuses(served)).toEqual(['completed']);
    const [run] = await served.cloister.runs();
    expect((await served.cloister.show(run!.run)).output).toMatch(
      /^Told: sun \| Error .*The client sent no result in time/su,
    );
    expect(await served.cloister.audit(run!.run)).toMatchObject({ ok: true });
    expect(await served.cloister.replay(run!.run)).toMatchObject({ ok: true, differences: [] });
    // What comes later is history.
    expect((await served.give([[first.calls[1]!, 'noon']])).status).toBe(200);
    expect(await statuses(served)).toHaveLength(2);
    const { events } = await served.cloister.show(run!.run);
    expect(events.flatMap((event) => (event.type === 'tool-end' ? [event.error?.code ?? null] : []))).toEqual([
      null,
      'tool_timeout',
    ]);
    // Its slot is free.
    expect((await served.ask('own:x', { tools: [] })).status).toBe(200);
  });

  test('continues when the call times out, as long as a client is connected', async () => {
    const clock = virtualClock();
    const gate = Promise.withResolvers<string>();
    const agents = scriptAgents({ execute: () => gate.promise, timeoutMs: 1e9 }).agents;
    const served = await serveTools({ agents, of: { clock }, options: { clock, clientToolMs: 1_000 } });
    const first = await served.ask('weather:a, own:x; weather:b');
    const rest = served.give([[first.calls[0]!, 'sun']]);
    await clock.advance(5_000);
    gate.resolve('done');
    const second = await rest;
    expect(namesOf(second)).toEqual(['weather:b']);
    expect((await served.give([[second.calls[0]!, 'rain']])).text).toBe('Told: sun | done | rain');
  });

  test('is not ended by a client that disconnects in between, but by one that disconnects while streaming', async () => {
    const entered = Promise.withResolvers<void>();
    const gate = new Promise<string>(() => undefined);
    const execute = (): Promise<string> => (entered.resolve(), gate);
    const served = await serveTools({ agents: scriptAgents({ execute }).agents, options: { port: 0 } });
    const { url } = await served.server.listen();
    const sent = postRequest('/v1/chat/completions', 'me', {
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
    const rest = served.give(resultsFor(first.calls), { signal: during.signal });
    await entered.promise;
    during.abort();
    expect((await rest).error?.code).toBe('cancelled');
    expect(await statuses(served)).toEqual(['cancelled']);
  });

  // invariant: disconnect-ends-run
  test('is ended by a client that disconnects before it has read the calls', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const controller = new AbortController();
    const messages = [{ role: 'user', content: 'weather:a' }];
    const sent = { model: 'guide', messages, tools: chatTools, stream: true };
    const response = await served.send('/v1/chat/completions', sent, { signal: controller.signal });
    const [{ run }] = (await served.cloister.runs()) as readonly [RunSummary];
    const isCalled = async (): Promise<boolean> =>
      (await served.cloister.show(run)).events.some(({ type }) => type === 'question');
    while (!(await isCalled())) await turn();
    await turn();
    await turn();
    expect(await statuses(served)).toEqual([null]);
    controller.abort();
    await response.body!.cancel();
    await turn();
    expect(await statuses(served)).toEqual(['cancelled']);
  });

  // invariant: served-run-waits-without-slot
  test('holds no slot meanwhile, and cannot continue when all slots are taken: no result is accepted then', async () => {
    const options = { slots: { running: 1, waiting: 0 } };
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: scriptAgents({ execute: () => gate.promise }).agents, options });
    const first = await served.ask('weather:a; time:b');
    const busy = served.ask('own:x', { tools: [] });
    await turn();
    expect((await served.ask('own:y', { tools: [] })).status).toBe(429);
    const refused = await served.give(resultsFor(first.calls));
    expect([refused.status, refused.error?.code]).toEqual([429, 'rate_limit_exceeded']);
    gate.resolve('done');
    expect((await busy).status).toBe(200);
    const second = await served.give(resultsFor(first.calls));
    expect(second.finish).toBe('tool_calls');
    expect((await served.give(resultsFor(second.calls))).text).toBe('Told: weather of a | time of b');
    // Each run has released exactly the slots it took.
    expect((await served.ask('weather:a')).status).toBe(200);
    expect((await served.ask('own:y', { tools: [] })).status).toBe(200);
  });

  test('queues to continue; of two requests with the same result, the second has nothing to deliver', async () => {
    const options = { slots: { running: 1 } };
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: scriptAgents({ execute: () => gate.promise }).agents, options });
    const [first, other] = [await served.ask('weather:a'), await served.ask('weather:b')];
    const busy = served.ask('own:x', { tools: [] });
    await turn();
    const gone = new AbortController();
    const left = served.give(resultsFor(other.calls), { signal: gone.signal }).catch(() => null);
    const both = [served.give(resultsFor(first.calls)), served.give(resultsFor(first.calls))];
    await turn();
    gone.abort();
    gate.resolve('done');
    await busy;
    const reply = await Promise.all(both);
    expect(reply.map(({ status, text }) => [status, text ?? null])).toEqual(
      expect.arrayContaining([
        [200, 'Told: weather of a'],
        [409, null],
      ]),
    );
    await left;
    // The client that disconnected in the queue delivered nothing and took no slot.
    expect((await served.give(resultsFor(other.calls))).text).toBe('Told: weather of b');
    expect((await served.ask('own:y', { tools: [] })).status).toBe(200);
  });

  test('never has more working than there are slots, however many results arrive together', async () => {
    let [working, most] = [0, 0];
    const execute = async (): Promise<string> => {
      most = Math.max(most, ++working);
      for (let turns = 0; turns < 5; turns++) await turn();
      working--;
      return 'done';
    };
    const served = await serveTools({ agents: scriptAgents({ execute }).agents, options: { slots: { running: 2 } } });
    const firsts: ClientReply[] = [];
    for (let count = 0; count < 16; count++) firsts.push(await served.ask('weather:a; own:x'));
    const rest = await Promise.all(firsts.map(({ calls }) => served.give(resultsFor(calls))));
    expect(new Set(rest.map(({ text }) => text))).toEqual(new Set(['Told: weather of a | done']));
    expect(most).toBeLessThanOrEqual(2);
  });

  test('takes a slot again, which no other run gets until it waits or ends', async () => {
    const gate = Promise.withResolvers<string>();
    const options = { slots: { running: 1, waiting: 0 } };
    const served = await serveTools({ agents: scriptAgents({ execute: () => gate.promise }).agents, options });
    const first = await served.ask('weather:a; own:x');
    const rest = served.give(resultsFor(first.calls));
    await turn();
    expect((await served.ask('weather:b')).status).toBe(429);
    gate.resolve('done');
    expect((await rest).text).toBe('Told: weather of a | done');
    expect((await served.ask('weather:b')).status).toBe(200);
  });

  // invariant: client-runs-bounded
  test('counts towards its caller’s limit of 16: at the limit, no run that could come to wait is started', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const waiting: ClientReply[] = [];
    for (let count = 0; count < 16; count++) waiting.push(await served.ask('weather:a'));
    expect(new Set(waiting.map(({ finish }) => finish))).toEqual(new Set(['tool_calls']));
    const { status, error } = await served.ask('weather:a');
    expect([status, error?.message]).toEqual([429, expect.stringContaining('16 of your runs are waiting')]);
    // A run without client tools does not count, and neither does another caller's.
    expect((await served.ask('own:x', { tools: [] })).status).toBe(200);
    expect((await served.ask('weather:a', { as: 'you' })).finish).toBe('tool_calls');
    expect((await served.give(resultsFor(waiting[3]!.calls))).text).toBe('Told: weather of a');
    expect((await served.ask('weather:a')).finish).toBe('tool_calls');
    expect((await served.ask('weather:a')).status).toBe(429);
  });

  test('does not keep a server from stopping, and neither does one that starts waiting then', async () => {
    const gate = Promise.withResolvers<string>();
    const served = await serveTools({ agents: scriptAgents({ execute: () => gate.promise }).agents });
    const first = await served.ask('weather:a');
    const second = served.ask('own:x; weather:b');
    await turn();
    const stopped = served.server.stop(1e9);
    expect((await served.give(resultsFor(first.calls))).error?.code).toBe('server_stopping');
    gate.resolve('done');
    expect((await second).finish).toBe('tool_calls');
    // They can be resumed.
    expect(await stopped).toHaveLength(2);
    expect(await statuses(served)).toEqual([null, null]);
  });

  test('is reported as waiting, and can be cancelled', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const first = await served.ask('weather:a');
    const [run] = await served.cloister.runs();
    expect((await served.send(`/v1/runs/${run!.run}/cancel`, {})).status).toBe(202);
    await turn();
    expect(await statuses(served)).toEqual(['cancelled']);
    expect((await served.give(resultsFor(first.calls))).status).toBe(200);
    expect(await statuses(served)).toHaveLength(2);
  });
});

describe('of two callers', () => {
  test('neither can deliver results for the other’s calls, and the answer is the same as for calls that never existed', async () => {
    const served = await serveTools({ agents: scriptAgents().agents });
    const mine = await served.ask('weather:mine');
    const yours = await served.ask('weather:yours', { as: 'you' });
    const [foreign, unknown] = [mine.calls[0]!.id, mine.calls[0]!.id.replaceAll(/\d/gu, '0')];
    const tries = [foreign, unknown].map(async (id) => {
      const { status, text, error } = await served.give([[id, 'stolen']], { as: 'you' });
      return [status, text, error];
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
      const house = scriptAgents();
      const served = await serveTools({ agents: house.agents });
      const tools = [chatTool({ ...weather, description: secret }), chatTool({ ...time, name: `t_${secret}` })];
      const mine = await served.ask(`weather:${secret}`, { tools });
      const yours = await served.ask('weather:b, time:c', { as: 'you' });
      const seen: ClientReply[] = [yours];
      const theft = served.give([[mine.calls[0]!, 'x']], { as: 'you' });
      await served.give([[mine.calls[0]!, secret]]);
      seen.push(await theft, await served.give(resultsFor(yours.calls), { as: 'you' }));
      const callIds = new Map<string, number>();
      const plain = JSON.stringify(seen).replaceAll(/q-[0-9a-f]+-\d+/gu, (id) => {
        callIds.set(id, callIds.get(id) ?? callIds.size);
        return `call ${callIds.get(id)}`;
      });
      expect(plain).toContain('Told: weather of b | time of c');
      const prompts = house.model.requests.map((request) => JSON.stringify([request.prompt, request.tools]));
      return [plain, prompts.filter((prompt) => prompt.includes('weather:b'))];
    };
    expect(await scene('zebra')).toEqual(await scene('lion-heart'));
  });
});

test('200 concurrent runs of two callers, with tools of the same name, each get only their own results', async () => {
  const served = await serveTools({ agents: scriptAgents().agents, options: { slots: { waiting: 200 } } });
  const callIds: Record<string, string[]> = { me: [], you: [] };
  let tries = 0;
  const goal = 'weather:a, time:b; time:c, own:x, weather:d; weather:e';
  const talk = async (place: number): Promise<void> => {
    const [as, other] = place % 2 === 0 ? ['me', 'you'] : ['you', 'me'];
    const mark = (call: Call): string => `${as} ${place} ${textOf(call)}`;
    let reply = await served.ask(goal, { as });
    // The number of waiting runs per caller is limited.
    for (; reply.status === 429; reply = await served.ask(goal, { as })) await turn();
    const marks: string[] = [];
    while (reply.finish === 'tool_calls') {
      callIds[as]!.push(...reply.calls.map(({ id }) => id));
      const foreign = callIds[other]!.at(-1 - (place % 7));
      const own = reply.calls.map((call): [Call, string] => [call, mark(call)]);
      if (foreign !== undefined) {
        tries++;
        expect((await served.give([...own, [foreign, 'x']], { as })).status).toBe(400);
      }
      const now = place % 3 === 0 ? own.slice(0, 1) : own;
      marks.push(...now.map(([, text]) => text));
      // A call id made up by a client, the same for all, is unknown.
      expect((await served.give([...own, ['call_1', 'x']], { as })).status).toBe(400);
      reply = await served.give(now, { as });
    }
    const all = ['a', 'b', 'c', 'own {"text":"x"}', 'd', 'e'];
    expect(reply.text).toBe(
      `Told: ${all.map((one) => (one.startsWith('own') ? one : `${as} ${place} ${one}`)).join(' | ')}`,
    );
    expect(marks).toHaveLength(5);
  };
  await Promise.all(Array.from({ length: 200 }, (_, place) => talk(place)));
  expect(tries).toBeGreaterThan(200);
  const runs = await served.cloister.runs();
  expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(200);
});
