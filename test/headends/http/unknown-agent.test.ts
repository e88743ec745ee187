// A request for an unknown agent gets the same error in every protocol: which agents there are, and which one was probably meant.
import { defineAgent, hashToken, makeToken } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { serveAgents } from './driver.ts';
import { errorCodeIn, protocolOf } from './error-formats.ts';

const ask = (name: string): Readonly<Record<string, readonly [path: string, json?: unknown]>> => ({
  'REST, by address': [`/v1/${name}?q=hi`],
  'REST, by body': [`/v1/${name}`, { input: 'hi' }],
  'OpenAI, a model': [`/v1/models/${name}`],
  'OpenAI, chat': ['/v1/chat/completions', { model: name, messages: [{ role: 'user', content: 'hi' }] }],
  'OpenAI, a response': ['/v1/responses', { model: name, input: 'hi' }],
  'Anthropic, a message': ['/v1/messages', { model: name, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
  'Anthropic, a count': ['/v1/messages/count_tokens', { model: name, messages: [{ role: 'user', content: 'hi' }] }],
  MCP: ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { prompt: 'hi' } } }],
});

const startServer = async () => {
  const [some, none] = [makeToken(), makeToken()];
  const model = rehearse([{ reply: 'Hello.' }]);
  const served = await serveAgents({
    agents: ['lead', 'writer', 'hidden', 'gone'].map((name) =>
      defineAgent({ name, description: 'd', prompt: 'p', models: [model] }),
    ),
    tokens: [
      { name: 'some', sha256: hashToken(some), agents: ['lead', 'writer'] },
      { name: 'none', sha256: hashToken(none), agents: ['gone'] },
    ],
  });
  served.cloister.remove('gone');
  const told = async (token: string, name: string, way: string): Promise<string> => {
    const [path, json] = ask(name)[way]!;
    const response = await served.ask(path, {
      ...(json === undefined ? {} : { json }),
      headers: { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' },
    });
    const text = await response.text();
    if (way === 'MCP') {
      const { error } = JSON.parse(text.slice(text.indexOf('data: ') + 6)) as {
        error: { code: number; message: string };
      };
      expect(error.code).toBe(-32_602);
      return error.message;
    }
    expect(response.status).toBe(404);
    const protocol = protocolOf(path);
    expect(errorCodeIn(protocol, text)).toBe(protocol === 'openai' ? 'model_not_found' : 'agent_unknown');
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  };
  return { some, none, told };
};

test.for(Object.keys(ask('')))('%s', async (way) => {
  const { some, none, told } = await startServer();
  const said = 'No agent has that name.';
  expect(await told(some, 'laed', way)).toContain(`${said} "laed" is not one of: lead, writer. Did you mean "lead"?`);
  expect(await told(some, 'hidden', way)).toContain(`${said} "hidden" is not one of: lead, writer.`);
  expect(await told(some, 'hidden', way)).not.toContain('Did you mean');
  expect(await told(none, 'lead', way)).toContain(`${said} "lead": this token may not run any agent.`);
});
