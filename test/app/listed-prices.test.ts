// The prices of models that are given as objects, and the files that they take.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { AgentOptions } from 'cloister';
import { rehearse } from 'cloister/testkit';

const base = { name: 'one', description: 'One.', prompt: 'Work.', budget: { usd: 1 } };

/** Answers like the rehearsal, under the name of a real model. */
const actingAs = ({ provider, modelId }: Pick<LanguageModelV4, 'provider' | 'modelId'>): LanguageModelV4 => ({
  ...rehearse([{ reply: { text: 'Done.', usage: { input: 1_000, output: 100 } } }]),
  provider,
  modelId,
});

const costOf = async (options: Partial<AgentOptions>, models: readonly LanguageModelV4[] = []) => {
  const agent = defineAgent({ ...base, ...options });
  await using cloister = await openCloister({ agents: [agent], models, store: 'memory' });
  const { run, status, spent } = await cloister.run('one', 'Go.', { budget: { usd: 5 } }).outcome;
  expect(status).toBe('completed');
  expect(await cloister.audit(run)).toMatchObject({ ok: true });
  expect(await cloister.replay(run)).toMatchObject({ ok: true });
  return spent.usd;
};

// invariant: own-price-first
test('a model object of the AI SDK has its price from the list, so that a budget in dollars works', async () => {
  const mini = actingAs(createOpenAI({ apiKey: 'x' })('gpt-5-mini'));
  expect(await costOf({ models: [mini] })).toBeCloseTo(0.000_45, 9);
  expect(await costOf({}, [mini])).toBeCloseTo(0.000_45, 9);
  expect(await costOf({ models: [actingAs({ provider: 'gateway', modelId: 'openai/gpt-5-mini' })] })).toBeCloseTo(
    0.000_45,
    9,
  );
  expect(await costOf({ models: [actingAs(createAnthropic({ apiKey: 'x' })('claude-sonnet-4-5'))] })).toBeGreaterThan(
    0.003,
  );
  expect(await costOf({ models: [{ language: mini, price: { input: 2, output: 10 } }] })).toBeCloseTo(0.003, 9);
});

test('a model that the list does not have is refused under a budget in dollars', async () => {
  await expect(costOf({ models: [actingAs({ provider: 'openai.responses', modelId: 'gpt-none' })] })).rejects.toThrow(
    expect.objectContaining({ code: 'model_unpriced' }),
  );
  await expect(costOf({ models: [actingAs({ provider: 'mine', modelId: 'gpt-5-mini' })] })).rejects.toThrow(/mini/u);
});

test.each([
  ['azure', 'gpt-5-mini', true],
  ['amazon-bedrock', 'anthropic.claude-sonnet-4-5-20250929-v1:0', true],
  ['amazon-bedrock', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
  ['amazon-bedrock', 'deepseek.r1-v1:0', false],
])('whether a model of a cloud takes files is decided by its vendor: %s, %s', async (provider, modelId, isTaken) => {
  const agent = defineAgent({ ...base, budget: {}, models: [actingAs({ provider, modelId })] });
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  const data = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010806', 'hex');
  const start = () => cloister.run('one', 'See.', { attachments: [{ mediaType: 'image/png', data }] }).outcome;
  if (isTaken) expect(await start()).toMatchObject({ status: 'completed' });
  else expect(start).toThrow(expect.objectContaining({ code: 'attachment_refused' }));
});

test('a rehearsal keeps the price of its script', async () => {
  const model = rehearse({
    price: { input: 1, output: 2 },
    lines: [{ reply: { text: 'Done.', usage: { input: 1_000, output: 500 } } }],
  });
  expect(await costOf({ models: [model] })).toBeCloseTo(0.002, 9);
  expect(await costOf({}, [model])).toBeCloseTo(0.002, 9);
  expect(await costOf({ models: [model.model] })).toBeCloseTo(0.002, 9);
});
