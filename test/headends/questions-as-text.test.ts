// Protocols without approvals: a stream says that a person is asked, and goes on after the answer of another way in.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { askingAgent } from '../app/serve/asking-agent.ts';
import { serveAgents } from './http/driver.ts';

const serve = async (activity: boolean) => {
  const asking = askingAgent();
  const served = await serveAgents({ agents: [asking.agent], clients: { activity } });
  const { ask, cloister, url, token } = served;
  const allow = async (id: string): Promise<void> => {
    const { sha256 } = (await (await ask(`/v1/questions/${id}`)).json()) as { sha256: string };
    expect((await ask(`/v1/questions/${id}`, { json: { allow: true, sha256 } })).status).toBe(200);
  };
  const storedAnswer = async (): Promise<string> => (await cloister.show((await cloister.runs())[0]!.run)).output;
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: url, apiKey: token, maxRetries: 0 });
  return { ...asking, allow, storedAnswer, openai, anthropic };
};

const asksIn = (text: string): string | undefined => /Waiting for approval: (q-\S+) \(send\)/u.exec(text)?.[1];

const messages = [{ role: 'user' as const, content: 'x' }];

describe.each([
  ['as text', false],
  ['as reasoning, if activity is shown', true],
])('a question comes %s', (_how, activity) => {
  test('in a stream of chat completions', async () => {
    const { openai, allow, storedAnswer, sent } = await serve(activity);
    let [text, reasoning] = ['', ''];
    for await (const { choices } of await openai.chat.completions.create({ model: 'lead', messages, stream: true })) {
      const delta = choices[0]?.delta as { content?: string; reasoning_content?: string } | undefined;
      const before = asksIn(text + reasoning);
      text += delta?.content ?? '';
      reasoning += delta?.reasoning_content ?? '';
      const asked = asksIn(text + reasoning);
      if (before === undefined && asked !== undefined) await allow(asked);
    }
    expect(asksIn(activity ? reasoning : text)).toBeDefined();
    expect(asksIn(activity ? text : reasoning)).toBeUndefined();
    expect(text.endsWith('Results: sent to x')).toBe(true);
    expect(await storedAnswer()).toBe('Results: sent to x');
    expect(sent).toEqual(['x']);
  });

  test('in a stream of Anthropic messages', async () => {
    const { anthropic, allow, storedAnswer, sent } = await serve(activity);
    const stream = anthropic.messages.stream({ model: 'lead', max_tokens: 99, messages });
    const blocks: Record<string, string> = { text_delta: '', thinking_delta: '' };
    let isAsked = false;
    for await (const event of stream) {
      if (event.type !== 'content_block_delta') continue;
      const { delta } = event;
      if (delta.type === 'text_delta') blocks['text_delta'] += delta.text;
      if (delta.type === 'thinking_delta') blocks['thinking_delta'] += delta.thinking;
      const asked = asksIn(blocks['text_delta']! + blocks['thinking_delta']!);
      if (isAsked || asked === undefined) continue;
      isAsked = true;
      await allow(asked);
    }
    expect(asksIn(blocks[activity ? 'thinking_delta' : 'text_delta']!)).toBeDefined();
    expect(asksIn(blocks[activity ? 'text_delta' : 'thinking_delta']!)).toBeUndefined();
    expect(blocks['text_delta']!.endsWith('Results: sent to x')).toBe(true);
    expect(await storedAnswer()).toBe('Results: sent to x');
    expect(sent).toEqual(['x']);
  });
});
