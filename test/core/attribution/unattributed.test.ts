// A request with a byte that has no origin is not sent.
import { afterEach, expect, test, vi } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { ContextWindow } from '#core/memory';
import type { ModelRequest } from '#core/memory';

afterEach(() => vi.restoreAllMocks());

const runWith = async (change: (request: ModelRequest) => void) => {
  const render = ContextWindow.prototype.render;
  vi.spyOn(ContextWindow.prototype, 'render').mockImplementation(function (this: ContextWindow, ...about) {
    const rendered = render.apply(this, about);
    change(rendered.request);
    return rendered;
  });
  const model = rehearse([{ reply: 'Done.' }]);
  const tool = { name: 'look', description: 'Looks', inputSchema: { type: 'object' }, execute: () => 'seen' };
  const agent = defineAgent({ name: 'solo', description: 'Works', prompt: 'Work.', models: [model], tools: [tool] });
  await using cloister = await openCloister({ store: 'memory', agents: [agent] });
  const outcome = await cloister.run('solo', 'Go').outcome;
  return { outcome, sent: model.requests.length };
};

const changes: Record<string, (request: ModelRequest) => void> = {
  'one more message': ({ prompt }) => void prompt.push({ role: 'user', content: [{ type: 'text', text: '.' }] }),
  'a message less': ({ prompt }) => void prompt.pop(),
  'an equal copy in place of a message': ({ prompt }) => void prompt.splice(0, 1, structuredClone(prompt[0]!)),
  'messages in another order': ({ prompt }) => void prompt.reverse(),
  'one more tool': ({ tools }) => void tools.push({ type: 'function', name: 'x', inputSchema: {} }),
  'no tools': ({ tools }) => void tools.splice(0),
};

// invariant: window-of-segments
test.each(Object.entries(changes))('%s: nothing is sent', async (_name, change) => {
  const { outcome, sent } = await runWith(change);
  expect(sent).toBe(0);
  expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'unattributed' } });
});

test('the request is sent as it was rendered', async () => {
  const { outcome, sent } = await runWith(() => undefined);
  expect(sent).toBe(1);
  expect(outcome.status).toBe('completed');
});

test('a message in the window cannot be changed', async () => {
  const { outcome, sent } = await runWith(({ prompt }) => {
    expect(() => Object.assign(prompt[1]!, { role: 'system' })).toThrow(TypeError);
    expect(() => (prompt[1] as { content: unknown[] }).content.push('x')).toThrow(TypeError);
  });
  expect([outcome.status, sent]).toEqual(['completed', 1]);
});
