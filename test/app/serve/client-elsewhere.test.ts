// Results of a client's tools for a run that another server owns: they come to it as signals, and the client gets its next answer.
import { expect, onTestFinished, test } from 'vitest';
import { scriptAgents, time } from '../../headends/client-tools/scripted-agents.ts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { chatTool, chatTools, serveTools } from './client-driver.ts';

/** Two servers on one workspace. The first has started a run whose model calls what the goal names. */
const twoServers = async (goal: string, own: Parameters<typeof scriptAgents>[0] = {}) => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const [here, there] = [scriptAgents(own), scriptAgents(own)];
  const first = await serveTools({ agents: here.agents, of: { workspace: folder.path } });
  const second = await serveTools({ agents: there.agents, of: { workspace: folder.path } });
  const asked = await first.ask(goal);
  const { run } = (await first.cloister.runs())[0]!;
  return { first, second, asked, run, requests: () => [here.model.requests.length, there.model.requests.length] };
};

// invariant: client-results-durable-elsewhere
test('they continue it there, each once, also if two are the same, and the client is told what comes next', async () => {
  const { first, second, asked, run, requests } = await twoServers('weather:a, time:b; weather:c');
  const next = await second.give([
    [asked.calls[0]!, 'same'],
    [asked.calls[1]!, 'same'],
  ]);
  expect([next.status, next.finish, next.text]).toEqual([200, 'tool_calls', 'Round 2.']);
  expect(next.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 10 });
  const last = await second.give([[next.calls[0]!, 'rain']]);
  expect([last.status, last.text]).toEqual([200, 'Told: same | same | rain']);
  // All of it ran in the first process.
  expect(requests()).toEqual([3, 0]);
  expect(await first.cloister.runs()).toHaveLength(1);
  expect(await first.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  expect(await first.cloister.replay(run)).toMatchObject({ ok: true, differences: [] });
});

test('tools that come with them are given to the run first, and recorded as if its own server had been asked', async () => {
  const { first, second, asked, run } = await twoServers('weather:a; noon:b');
  const noon = chatTool({ ...time, name: 'noon' });
  const next = await second.give([[asked.calls[0]!, 'sun']], { tools: [...chatTools, noon] });
  expect(next.calls.map((call) => call.function.name)).toEqual(['noon']);
  expect((await second.give([[next.calls[0]!, '12']], { tools: [...chatTools, noon] })).text).toBe('Told: sun | 12');
  const { events } = await first.cloister.show(run);
  expect(events.filter((event) => event.type === 'crossing' && event.kind === 'tools')).toHaveLength(1);
  expect(await first.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  expect(await first.cloister.replay(run)).toMatchObject({ ok: true, differences: [] });
});

test('another caller’s are its own words, and the run keeps waiting', async () => {
  const { first, second, asked } = await twoServers('weather:a');
  await second.give([[asked.calls[0]!, 'stolen']], { as: 'you' });
  expect((await first.give([[asked.calls[0]!, 'sun']])).text).toBe('Told: sun');
});

test('with a message beside them they are refused, and nothing is taken', async () => {
  const { first, second, asked } = await twoServers('weather:a');
  const reply = await second.send('/v1/chat/completions', {
    model: 'guide',
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_calls: [{}] },
      { role: 'tool', tool_call_id: asked.calls[0]!.id, content: 'sun' },
      { role: 'user', content: 'Be quick.' },
    ],
  });
  const { error } = (await reply.json()) as any;
  expect([reply.status, error.code]).toEqual([409, 'run_owned']);
  expect(error.message).toContain('send the results alone');
  expect((await first.give([[asked.calls[0]!, 'sun']])).text).toBe('Told: sun');
});

test('a client that disconnects before its answer ends the run', async () => {
  const { first, second, asked, run } = await twoServers('weather:a; own:x', {
    execute: () => new Promise<never>(() => undefined),
  });
  const gone = new AbortController();
  const giving = second.give([[asked.calls[0]!, 'sun']], { signal: gone.signal }).catch(() => null);
  const isWorking = async (): Promise<boolean> =>
    (await first.cloister.show(run)).events.some((event) => event.type === 'tool-start' && event.tool === 'own');
  await expect.poll(isWorking).toBe(true);
  gone.abort();
  await giving;
  await expect.poll(async () => (await first.cloister.runs({ run }))[0]!.status).toBe('cancelled');
});
