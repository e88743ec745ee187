// How tokens are counted: an estimate, corrected by reported usage, refined by a tokenizer.
import { expect, test } from 'vitest';
import { rehearse } from '#testkit';
import type { ScriptLine } from '#testkit';
import { agent, always, ask, call, lines, ofType, tool } from '../session/driver.ts';

const talk = tool('talk', ({ word }: any) => `${String(word)} `.repeat(100));
const turns = Array.from({ length: 8 }, (_, index) => call('talk', { word: `word${index}` }));
const says = (reply: object = {}): ScriptLine[] => [
  ...lines({ solo: turns.map((turn) => ({ ...turn, ...reply })) }),
  always('Done.', 'solo'),
];
const limits = { maxToolTurns: 30, maxOutputTokens: 200, contextTokensMax: 2_200, maxRetries: 0 };

const askWith = (script: readonly ScriptLine[], countTokens?: (text: string) => number) => {
  const model = rehearse(script);
  const models = [{ language: model, ...(countTokens && { countTokens }) }];
  return ask(agent('solo', { tools: [talk], models, limits }), { says: [] }).then((asked) => ({
    ...asked,
    prompts: model.requests.map(({ prompt, tools }) => JSON.stringify([prompt, tools ?? []]).length),
  }));
};

const most = (prompts: readonly number[]): number => Math.max(...prompts);

test('a model that reports more tokens than estimated is shown less', async () => {
  const plain = await askWith(says({ usage: 'none' }));
  const dense = await askWith(says({ usage: { input: 1_900, output: 10 } }));
  expect(plain.outcome.status).toBe('completed');
  expect(dense.outcome.status).toBe('completed');
  expect(most(plain.prompts)).toBeGreaterThan(4_000);
  expect(most(dense.prompts)).toBeLessThan(most(plain.prompts));
});

test('a tokenizer is used when a prompt comes near the limit, and its count is recorded', async () => {
  const asked: number[] = [];
  const { outcome, events, prompts } = await askWith(says({ usage: 'none' }), (text) => {
    asked.push(text.length);
    return Math.ceil(text.length / 2);
  });
  expect(outcome.status).toBe('completed');
  expect(asked.length).toBeGreaterThan(0);
  // Two characters per token: half of what the estimate would show.
  for (const chars of prompts.slice(5)) expect(chars / 2).toBeLessThanOrEqual(2_200);
  expect(ofType(events, 'window-trim').length).toBeGreaterThan(0);
});

test.for<[string, (text: string) => number]>([
  [
    'throws',
    () => {
      throw new Error('no vocabulary');
    },
  ],
  ['returns zero', () => 0],
  ['returns an impossible count', () => NaN],
])('with a tokenizer that %s the estimate is used', async ([, countTokens]) => {
  const { outcome, audit } = await askWith(says({ usage: 'none' }), countTokens);
  expect(outcome.status).toBe('completed');
  expect(audit.ok).toBe(true);
});
