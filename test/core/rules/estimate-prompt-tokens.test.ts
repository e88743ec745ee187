// The estimate behind every hold, compared with what real tokenizers count for each kind of text. The counts are recorded: loading
// the tokenizers takes long. `npm run bench -- token-estimate` counts again.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimatePromptTokens, tokenizerMargin } from '#testing/core/rules';
import { tokenSamples } from '../../fixtures/token-samples.ts';

/** By o200k_base, cl100k_base, Llama 3, and the first tokenizer of Mistral, which stands for those that are not public. */
const counts: Readonly<Record<string, readonly [o200k: number, cl100k: number, llama3: number, other: number]>> = {
  english: [94, 95, 95, 97],
  german: [95, 123, 123, 140],
  french: [101, 115, 113, 132],
  spanish: [83, 112, 112, 128],
  polish: [126, 147, 146, 158],
  finnish: [119, 158, 156, 178],
  turkish: [106, 143, 110, 180],
  vietnamese: [100, 163, 91, 206],
  russian: [110, 180, 132, 160],
  greek: [127, 282, 133, 327],
  arabic: [107, 230, 126, 288],
  hebrew: [103, 262, 262, 276],
  hindi: [102, 335, 171, 341],
  thai: [93, 223, 114, 238],
  chinese: [105, 164, 109, 146],
  japanese: [128, 167, 111, 178],
  korean: [98, 158, 105, 192],
  typescript: [141, 138, 138, 179],
  python: [128, 127, 127, 164],
  json: [600, 588, 588, 904],
  'indented json': [411, 411, 411, 568],
  csv: [387, 387, 387, 661],
  'log lines': [535, 535, 535, 746],
  markdown: [108, 108, 108, 133],
  html: [88, 87, 87, 101],
  base64: [788, 855, 853, 936],
  'random base64': [833, 866, 864, 980],
  hex: [585, 577, 577, 934],
  uuids: [620, 621, 621, 864],
  digits: [267, 267, 267, 800],
  'random letters': [315, 324, 322, 355],
  capitals: [121, 129, 129, 185],
  punctuation: [267, 262, 262, 296],
  emoji: [312, 426, 419, 473],
  'mathematics and arrows': [345, 452, 379, 364],
  spaces: [110, 110, 110, 110],
};

// invariant: estimate-measured
test.for(Object.entries(tokenSamples))('the estimate covers what tokenizers count: %s', ([kind, text]) => {
  const estimate = estimatePromptTokens(JSON.stringify(text));
  const [o200k, cl100k, llama3, other] = counts[kind]!;
  const most = Math.max(o200k, cl100k, llama3);
  expect(estimate).toBeGreaterThanOrEqual(most);
  // Not by so much that small budgets are useless.
  expect(estimate).toBeLessThanOrEqual(Math.max(1.95 * most, most + 20));
  expect(estimate * tokenizerMargin('anthropic/claude-sonnet-4-5')).toBeGreaterThanOrEqual(other);
});

test('every kind of text was counted', () => {
  expect(Object.keys(counts)).toEqual(Object.keys(tokenSamples));
});

// invariant: estimate-linear
test('the more often a text is repeated, the more it costs, by the same amount each time', () => {
  for (const [kind, text] of Object.entries(tokenSamples)) {
    const estimate = (times: number) => estimatePromptTokens(JSON.stringify(`${text}.\n`.repeat(times)));
    const [two, four, six] = [estimate(2), estimate(4), estimate(6)];
    expect(Math.abs(six - four - (four - two)), kind).toBeLessThanOrEqual(2);
    expect(estimate(2), kind).toBe(two);
  }
});

test('the estimate is at most 5 % above the bytes of the JSON, and a longer text costs no less, but for rounding', () =>
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.string({ maxLength: 20 }), (text, more) => {
      const json = JSON.stringify(text);
      const estimate = estimatePromptTokens(json);
      expect(estimate).toBeLessThanOrEqual(Math.ceil(Buffer.byteLength(json) * 1.05));
      expect(estimatePromptTokens(JSON.stringify(text + more))).toBeGreaterThanOrEqual(estimate - 1);
    }),
  ));

test('an escape counts as the character it stands for', () => {
  const lines = 'one\ntwo\n\tthree "four"\n'.repeat(50);
  const words = 'one two three four '.repeat(50);
  expect(estimatePromptTokens(JSON.stringify(lines))).toBeLessThan(3 * estimatePromptTokens(JSON.stringify(words)));
});

test.for<[model: string, margin: number]>([
  ['openai/gpt-5-mini', 1],
  ['openai/o3', 1],
  ['openai/o4-mini', 1],
  ['openrouter/openai/gpt-4o', 1],
  ['ollama/llama3.1:8b', 1],
  ['openrouter/meta-llama/llama-3.3-70b', 1],
  ['anthropic/claude-sonnet-4-5', 1.6],
  ['google/gemini-2.5-flash', 1.6],
  ['ollama/llama2', 1.6],
  ['mistral/mistral-large', 1.6],
  ['mine/foo3', 1.6],
])('a model without a public tokenizer gets a larger margin: %s', ([model, margin]) => {
  expect(tokenizerMargin(model)).toBe(margin);
});
