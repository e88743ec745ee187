// Anthropic's client, unchanged, with tools of its own.
import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import type { RunSummary } from '#contracts';
import { serveAgents } from '../http/driver.ts';
import { scriptAgents, time, scriptedUsage, weather } from './scripted-agents.ts';

const openClient = async () => {
  const scripted = scriptAgents();
  const served = await serveAgents({ agents: scripted.agents, clients: { tools: true } });
  const client = new Anthropic({ baseURL: served.url, apiKey: served.token, maxRetries: 0 });
  return { ...served, ...scripted, client };
};

const tools = [weather, time].map(({ name, description, schema }): Anthropic.Tool => ({
  name,
  description,
  input_schema: schema as unknown as Anthropic.Tool.InputSchema,
}));
const common = { model: 'guide', max_tokens: 1000, tools };
const ask = (content: string): Anthropic.MessageParam => ({ role: 'user', content });

const toolUses = ({ content }: Anthropic.Message): readonly Anthropic.ToolUseBlock[] =>
  content.filter((block) => block.type === 'tool_use');

const messageText = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

const toolResults = (message: Anthropic.Message): Anthropic.MessageParam => ({
  role: 'user',
  content: toolUses(message).map(({ id, name, input }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: [{ type: 'text', text: `${name} of ${(input as { text: string }).text}` }],
  })),
});

test.each([
  ['at once', (client: Anthropic, body: Anthropic.MessageCreateParamsNonStreaming) => client.messages.create(body)],
  [
    'streamed',
    (client: Anthropic, body: Anthropic.MessageCreateParamsNonStreaming) =>
      client.messages.stream({ ...body, stream: true }).finalMessage(),
  ],
])(
  'messages end with tool calls and continue with their results until there is an answer: %s',
  async (_how, create) => {
    const { client, cloister } = await openClient();
    const messages = [ask('weather:Lisbon, time:now; weather:Porto')];
    const ends: (string | null)[] = [];
    const ids = new Set<string>();
    for (;;) {
      const message = await create(client, { ...common, messages });
      ends.push(message.stop_reason);
      ids.add(message.id);
      expect(message.usage).toMatchObject({ input_tokens: scriptedUsage.input, output_tokens: scriptedUsage.output });
      messages.push({ role: 'assistant', content: message.content });
      if (message.stop_reason !== 'tool_use') {
        expect(messageText(message)).toBe('Told: weather of Lisbon | time of now | weather of Porto');
        break;
      }
      expect(messageText(message)).toBe(`Round ${ends.length}.`);
      messages.push(toolResults(message));
    }
    expect([ends, ids.size]).toEqual([['tool_use', 'tool_use', 'end_turn'], 3]);
    const [{ run, status }] = (await cloister.runs()) as readonly [RunSummary];
    expect(status).toBe('completed');
    expect(await cloister.audit(run)).toMatchObject({ ok: true });
    const next = await create(client, { ...common, messages: [...messages, ask('time:x')] });
    expect(next.stop_reason).toBe('tool_use');
    expect((await cloister.runs()).length).toBe(2);
  },
);

test('the model sees an error result or an empty result as such', async () => {
  const { client, model } = await openClient();
  const messages = [ask('weather:Lisbon, time:now')];
  const first = await client.messages.create({ ...common, messages });
  const [one, other] = toolUses(first);
  const results: Anthropic.MessageParam = {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: one!.id, content: 'The sky fell.', is_error: true },
      { type: 'tool_result', tool_use_id: other!.id },
    ],
  };
  const sent = [...messages, { role: 'assistant' as const, content: first.content }, results];
  expect((await client.messages.create({ ...common, messages: sent })).stop_reason).toBe('end_turn');
  const shown = JSON.stringify(model.requests.at(-1)!.prompt);
  expect(shown).toContain('The tool call failed. The sky fell.');
});

test('the token count of a request includes its tools', async () => {
  const { client } = await openClient();
  const messages = [ask('Hello.')];
  const plain = await client.messages.countTokens({ model: 'guide', messages });
  const more = await client.messages.countTokens({ model: 'guide', messages, tools });
  expect(more.input_tokens).toBeGreaterThan(plain.input_tokens);
});
