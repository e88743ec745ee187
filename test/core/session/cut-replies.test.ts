// Replies that end because the model reached its output limit.
import { expect, test } from 'vitest';
import { rehearse } from '#testkit';
import type { ScriptedReply } from '#testkit';
import { agent, always, ask, call, lines, ofType, tool } from './driver.ts';

const thought: ScriptedReply = { reasoning: 'Let me think.', finish: 'length', usage: { input: 90, output: 16_896 } };
const limits = { maxOutputTokens: 512 };

test('a reply that reasoning used up is an error that says so, and is not retried with the same model', async () => {
  const { outcome, requests } = await ask(agent('solo', { limits, settings: { reasoning: 'high' } }), {
    says: [always(thought)],
  });
  expect(requests).toHaveLength(1);
  expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'model_length' } });
  expect(outcome.failure!.detail).toBe(
    'rehearsal/rehearsal wrote no text in 16896 tokens, of at most 16896. Its reasoning counts towards them.',
  );
});

test('an empty reply that ended for length has another code than one that is only empty', async () => {
  const { outcome } = await ask(agent('solo', { limits }), {
    says: [always({ text: ' \n', finish: 'length', usage: 'none' })],
  });
  expect(outcome.failure).toEqual({
    code: 'model_length',
    detail: 'rehearsal/rehearsal wrote no text in at most 512 tokens.',
  });
});

test('after such a reply the next model answers', async () => {
  const [first, second] = [rehearse([always(thought)]), rehearse([always('Done.')])];
  const { outcome, events } = await ask(agent('solo', { limits }), { models: [first.model, second.model] });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(ofType(events, 'wait-start')).toEqual([]);
  expect(first.requests).toHaveLength(1);
});

test('an answer that was cut is partial, and names the limit', async () => {
  const { outcome } = await ask(agent('solo', { limits }), {
    says: [always({ text: 'Rows here, and', finish: 'length', usage: { input: 90, output: 512 } })],
  });
  expect(outcome).toMatchObject({ status: 'partial', output: 'Rows here, and', failure: { code: 'model_length' } });
  expect(outcome.failure!.detail).toMatch(/was cut off after 512 tokens, of at most 512\.$/u);
});

test('a parent hears that its sub-agent reached the limit, without the figures', async () => {
  const { outcome, requests } = await ask(agent('lead', { agents: [agent('solo', { limits })] }), {
    says: [...lines({ lead: [call('solo', { prompt: 'Think' }), 'Nothing.'], solo: [thought] })],
  });
  expect(outcome).toMatchObject({ status: 'partial', output: 'Nothing.', missing: ['solo'] });
  expect(requests.at(-1)!.text).toContain("The model's reply reached its output limit.");
  expect(requests.at(-1)!.text).not.toContain('512');
});

test.for<[what: string, args: object]>([
  ['no arguments yet', {}],
  ['arguments that happen to be complete', { only: 'tmp' }],
])('a tool call that the limit cut off is not executed: %s', async ([, args]) => {
  const executed: unknown[] = [];
  const remove = tool('remove', (given) => {
    executed.push(given);
    return 'removed';
  });
  const cut: ScriptedReply = {
    calls: [
      { tool: 'remove', args: { only: 'old' } },
      { tool: 'remove', args: args as never },
    ],
    finish: 'length',
  };
  const { outcome, requests } = await ask(agent('solo', { tools: [remove] }), {
    says: lines({ solo: [cut, 'Done.'] }),
  });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(executed).toEqual([{ only: 'old' }]);
  expect(requests.at(-1)!.text).toContain('reached its output limit in this tool call; the call was not executed.');
});
