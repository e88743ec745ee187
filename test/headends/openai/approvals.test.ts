// Questions to people through OpenAI's responses, with OpenAI's own client.
// invariants: response-items-end, response-first-and-last-event
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { hashToken } from 'cloister';
import { askingAgent } from '../../app/serve/asking-agent.ts';
import { serveAgents } from '../http/driver.ts';

const tokens = [
  { name: 'ann', sha256: hashToken('ann') },
  { name: 'ben', sha256: hashToken('ben') },
  { name: 'ops', sha256: hashToken('ops'), answers: ['*'] },
];

const serve = async (mark = {}) => {
  const asking = askingAgent(mark);
  const served = await serveAgents({ agents: [asking.agent], tokens });
  const clientOf = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${served.url}/v1`, apiKey, maxRetries: 0 });
  const rest = async (token: string, path: string, body?: object): Promise<any> =>
    (
      await fetch(served.url + path, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
    ).json();
  return { ...asking, ...served, ann: clientOf('ann'), ben: clientOf('ben'), rest };
};

type Items = OpenAI.Responses.Response['output'];

const requestsIn = (output: Items) => output.filter((item) => item.type === 'mcp_approval_request');

const approve = (output: Items, approved: boolean, reason?: string): OpenAI.Responses.ResponseInput =>
  requestsIn(output).map(({ id }) => ({
    type: 'mcp_approval_response',
    approval_request_id: id,
    approve: approved,
    ...(reason === undefined ? {} : { reason }),
  }));

describe('a response', () => {
  test('ends with approval requests, and the answers to them continue its run', async () => {
    const { ann, sent } = await serve();
    const asked = await ann.responses.create({ model: 'lead', input: 'x y' });
    expect(asked.status).toBe('completed');
    expect(requestsIn(asked.output)).toEqual(
      ['x', 'y'].map((to) => ({
        id: expect.stringMatching(/^q-/u),
        type: 'mcp_approval_request',
        name: 'send',
        arguments: JSON.stringify({ to }),
        server_label: 'cloister',
      })),
    );
    expect(sent).toEqual([]);
    const done = await ann.responses.create({
      model: 'lead',
      previous_response_id: asked.id,
      input: approve(asked.output, true),
    });
    expect([done.status, done.output_text, done.previous_response_id]).toEqual([
      'completed',
      'Results: sent to x | sent to y',
      asked.id,
    ]);
    expect(done.id).not.toBe(asked.id);
    expect(sent).toEqual(['x', 'y']);
    expect((await ann.responses.retrieve(done.id)).output_text).toBe(done.output_text);
    // The dialog continues after it, and a client that repeats the items instead answers nothing twice.
    const next = await ann.responses.create({ model: 'lead', previous_response_id: done.id, input: 'Say more.' });
    expect(next.output_text).toBe('Said: Say more.');
    const history = [...(asked.output as OpenAI.Responses.ResponseInput), ...approve(asked.output, true)];
    const repeated = await ann.responses.create({
      model: 'lead',
      input: [...history, { role: 'assistant', content: done.output_text }, { role: 'user', content: 'Say it.' }],
    });
    expect(repeated.output_text).toBe('Said: Say it.');
  });

  test('streams them, as whole items after its text', async () => {
    const { ann } = await serve();
    const stream = ann.responses.stream({ model: 'lead', input: 'x' });
    const added: string[] = [];
    stream.on('response.output_item.added', ({ item }) => added.push(item.type));
    const asked = await stream.finalResponse();
    expect(asked.status).toBe('completed');
    expect(added).toEqual(asked.output.map(({ type }) => type));
    expect(added.at(-1)).toBe('mcp_approval_request');
    expect(asked.output_text).toBe('I will send.');
    const denied = ann.responses.stream({
      model: 'lead',
      previous_response_id: asked.id,
      input: approve(asked.output, false, 'Too early.'),
    });
    expect((await denied.finalResponse()).output_text).toContain('Too early.');
  });

  test('asks what the agent asks; the reason is the answer', async () => {
    const { ann } = await serve();
    const asked = await ann.responses.create({ model: 'lead', input: 'Which colour?' });
    expect(requestsIn(asked.output)).toMatchObject([
      { name: 'ask_person', arguments: JSON.stringify({ question: 'Which colour?' }) },
    ]);
    const again = { model: 'lead', previous_response_id: asked.id };
    await expect(ann.responses.create({ ...again, input: approve(asked.output, true) })).rejects.toMatchObject({
      status: 422,
    });
    const done = await ann.responses.create({ ...again, input: approve(asked.output, true, 'Green.') });
    expect(done.output_text).toContain('Green.');
  });

  test('stays open while only others may answer, and says so in its stream', async () => {
    const { ann, rest } = await serve({ by: ['ops'] });
    const stream = ann.responses.stream({ model: 'lead', input: 'x' });
    const told = Promise.withResolvers<string>();
    stream.on('response.reasoning_summary_text.delta', ({ delta }) => told.resolve(delta));
    expect(await told.promise).toMatch(/^Waiting for approval: q-\S+ \(send\)/u);
    const { questions } = await rest('ops', '/v1/questions');
    const [{ id, sha256 }] = questions;
    await rest('ops', `/v1/questions/${id}`, { allow: true, sha256 });
    expect((await stream.finalResponse()).output_text).toContain('Results: sent to x');
  });
});

test('answers that are not the client’s to give, or that come with something else, are refused', async () => {
  const { ann, ben, sent } = await serve();
  const [asked, other] = [
    await ann.responses.create({ model: 'lead', input: 'x' }),
    await ann.responses.create({ model: 'lead', input: 'y' }),
  ];
  const yes = approve(asked.output, true);
  const statusOf = (request: Promise<unknown>) =>
    request.then(
      () => 200,
      (error: { status: number }) => error.status,
    );
  const send = (client: OpenAI, input: OpenAI.Responses.ResponseInput, previous?: string) =>
    statusOf(
      client.responses.create({
        model: 'lead',
        input,
        ...(previous === undefined ? {} : { previous_response_id: previous }),
      }),
    );
  expect(await send(ben, yes)).toBe(404);
  expect(await send(ben, yes, asked.id)).toBe(404);
  expect(await send(ann, yes, other.id)).toBe(400);
  expect(await send(ann, [...yes, ...approve(other.output, true)])).toBe(400);
  expect(await send(ann, [...yes, { role: 'user', content: 'And more.' }], asked.id)).toBe(400);
  expect(await send(ann, [{ ...yes[0]!, approval_request_id: 'q-none-1' } as never])).toBe(404);
  expect(await send(ann, [{ ...yes[0]!, approve: 'yes' } as never])).toBe(400);
  expect(sent).toEqual([]);
  expect(await send(ann, yes, asked.id)).toBe(200);
  // The same answer again gets the answer again; another one comes too late.
  expect(await send(ann, yes, asked.id)).toBe(200);
  expect(await send(ann, approve(asked.output, false), asked.id)).toBe(409);
  expect(sent).toEqual(['x']);
});
