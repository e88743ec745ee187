// Questions to people during a tool call, with the official client.
// invariants: mcp-state-decides-nothing
import { PassThrough } from 'node:stream';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Transport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hashToken } from 'cloister';
import { askingAgent } from '../../app/serve/asking-agent.ts';
import { serveAgents } from '../http/driver.ts';
import { pipeTransport } from './clients.ts';
import type { ProtocolName } from './clients.ts';

/** Over HTTP with a token of this name, or over standard input. */
type CallerName = 'ann' | 'ben' | 'stdio';

const tokens = ['ann', 'ben'].map((name) => ({ name, sha256: hashToken(name) }));

type Response = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string | boolean> };

const serve = async () => {
  const asking = askingAgent();
  const other = askingAgent({}, { name: 'other' });
  const served = await serveAgents({ agents: [asking.agent, other.agent], tokens });
  const transportOf = async (caller: CallerName): Promise<Transport> => {
    const requestInit = { headers: { authorization: `Bearer ${caller}` } };
    if (caller !== 'stdio') return new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), { requestInit });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const stdio = await served.server.serveStdio({ input, output });
    return pipeTransport({ toServer: input, fromServer: output, served: stdio });
  };
  /** `answers`: what the person says to each form. Without any, the client cannot show forms. */
  const connect = async (
    caller: CallerName,
    protocol: ProtocolName,
    answers?: (form: any) => Response,
  ): Promise<Client> => {
    const client = new Client(
      { name: 'test', version: '1' },
      {
        versionNegotiation: { mode: protocol === '2026-07-28' ? { pin: protocol } : 'legacy' },
        ...(answers === undefined ? {} : { capabilities: { elicitation: { form: {} } } }),
      },
    );
    if (answers !== undefined) client.setRequestHandler('elicitation/create', async ({ params }) => answers(params));
    await client.connect(await transportOf(caller));
    onTestFinished(() => client.close());
    return client;
  };
  const rest = async (path: string, body?: object): Promise<any> =>
    (
      await fetch(served.url + path, {
        headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
    ).json();
  return { ...asking, ...served, connect, rest };
};

const httpOrStdio = ['ann', 'stdio'] as const;

const call = (client: Client, prompt: string, more: object = {}) =>
  client.callTool({ name: 'lead', arguments: { prompt }, ...more }) as Promise<any>;

const textOf = ({ content }: any): string => content.map(({ text }: { text: string }) => text).join('\n');

describe('a client that can show forms', () => {
  test('is shown characters that hide or turn text around as escapes', async () => {
    const { connect } = await serve();
    const forms: any[] = [];
    const client = await connect('ann', '2026-07-28', (form) => {
      forms.push(form);
      return { action: 'accept', content: { allow: false } };
    });
    await call(client, 'ops\u202Egro.live\u2066');
    expect(forms.map(({ message }) => message)).toEqual([
      'lead wants to call send with {"to":"ops\\u202egro.live\\u2066"}.',
    ]);
  });

  test.each(httpOrStdio)('is asked in the middle of its call, and its answer continues the run: %s', async (caller) => {
    const { connect, sent, cloister } = await serve();
    const forms: any[] = [];
    const client = await connect(caller, '2026-07-28', (form) => {
      forms.push(form);
      return { action: 'accept', content: { allow: true } };
    });
    expect(textOf(await call(client, 'x y'))).toBe('Results: sent to x | sent to y');
    expect(forms.map(({ message }) => message)).toEqual([
      'lead wants to call send with {"to":"x"}.',
      'lead wants to call send with {"to":"y"}.',
    ]);
    expect(sent).toEqual(['x', 'y']);
    expect(await cloister.runs()).toMatchObject([{ caller, state: 'ended' }]);
    const answered = await cloister.questions({ all: true });
    expect(answered.map(({ answers }) => answers.map(({ by }) => by))).toEqual([[caller], [caller]]);
  });

  describe.each(httpOrStdio)('over %s', (caller) => {
    test.each<[string, Response, string]>([
      ['denies with a reason', { action: 'accept', content: { allow: false, reason: 'Too early.' } }, 'Too early.'],
      ['declines', { action: 'decline' }, 'A person did not allow this call.'],
      ['sends a form without the field', { action: 'accept', content: {} }, 'A person did not allow this call.'],
      ['closes the form, and the run waits', { action: 'cancel' }, 'A person must answer a question'],
    ])('%s', async (_what, response, words) => {
      const { connect, sent, cloister } = await serve();
      const client = await connect(caller, '2026-07-28', () => response);
      expect(textOf(await call(client, 'x'))).toContain(words);
      expect(sent).toEqual([]);
      expect(await cloister.questions()).toHaveLength(response.action === 'cancel' ? 1 : 0);
    });
  });

  test('over standard input is told of the question of another caller no more than of an unknown one', async () => {
    const { connect, sent, rest } = await serve();
    await call(await connect('ann', '2026-07-28', () => ({ action: 'cancel' })), 'x');
    const [{ run }] = (await rest('/v1/questions')).questions;
    const stdio = await connect('stdio', '2026-07-28', () => ({ action: 'accept', content: { allow: true } }));
    const continued = async (of: string) => textOf(await call(stdio, 'x', { _meta: { 'cloister/run': of } }));
    expect(await continued(run)).toBe(await continued('ffffffffffff'));
    expect(sent).toEqual([]);
  });

  test('answers what the agent asks', async () => {
    const { connect } = await serve();
    const client = await connect('ann', '2026-07-28', ({ message }) => ({
      action: 'accept',
      content: { answer: `Green (${message}).` },
    }));
    expect(textOf(await call(client, 'Which colour?'))).toContain('Green (lead asks: Which colour?).');
  });

  test('reaches nothing with a state that it made up', async () => {
    const { connect, sent, rest } = await serve();
    const [ann, ben] = [
      await connect('ann', '2026-07-28', () => ({ action: 'cancel' })),
      await connect('ben', '2026-07-28', () => ({ action: 'accept', content: { allow: true } })),
    ];
    await call(ann, 'x');
    const [{ id, run }] = (await rest('/v1/questions')).questions;
    const forged = (client: Client, state: string, name = 'lead') =>
      client.callTool(
        {
          name,
          arguments: { prompt: 'x' },
          requestState: state,
          inputResponses: { [id]: { action: 'accept', content: { allow: true } } },
        } as never,
        { allowInputRequired: true },
      ) as Promise<any>;
    const unknown = textOf(await forged(ben, 'ffffffffffff'));
    expect(textOf(await forged(ben, run))).toBe(unknown);
    // Its own run, under another agent's name.
    expect(textOf(await forged(ann, run, 'other'))).toBe(unknown);
    expect(sent).toEqual([]);
    expect(textOf(await forged(ann, run))).toBe('Results: sent to x');
  });
});

describe.each<[string, ProtocolName]>([
  ['of the protocol version before', '2025-11-25'],
  ['that cannot show forms', '2026-07-28'],
])('a client %s', (_what, protocol) => {
  test('is told which question waits, and gets the answer of the run afterwards', async () => {
    const { connect, sent, rest, cloister } = await serve();
    const client = await connect('ann', protocol);
    const refused = await call(client, 'x');
    expect([refused.isError, refused._meta['cloister/error']]).toEqual([true, 'approval_needed']);
    const [{ id, run, sha256 }] = (await rest('/v1/questions')).questions;
    expect(textOf(refused)).toContain(`Run ${run} waits: ${id} (send).`);
    expect(textOf(refused)).toContain('POST /v1/questions/<id>');
    const again = { _meta: { 'cloister/run': run } };
    expect(textOf(await call(client, 'x', again))).toBe(textOf(refused));
    await rest(`/v1/questions/${id}`, { allow: true, sha256 });
    expect(textOf(await call(client, 'x', again))).toBe('Results: sent to x');
    expect([sent, (await cloister.runs()).length]).toEqual([['x'], 1]);
  });
});
