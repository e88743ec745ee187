// The estimate behind every hold against real tokenizers, for each kind of text: by how much it is above or below them.
// Loading the tokenizers takes long, so they are development dependencies only; `npm test` compares recorded counts.
import { estimatePromptTokens, tokenizerMargin } from '#testing/core/rules';
import { tokenSamples } from '../test/fixtures/token-samples.ts';
import type { Benchmark, Line } from './benchmark.ts';

export const tokenEstimateBenchmark: Benchmark = {
  name: 'token-estimate',
  about: 'estimated tokens against those that real tokenizers count; below 1 a request may cost more than was held',
  async run() {
    const counters = await loadTokenizers();
    return Object.entries(tokenSamples).flatMap(([kind, text]) => linesFor(kind, text, counters));
  },
};

type Counter = (text: string) => number;

const linesFor = (kind: string, text: string, { measured, other }: Counters): readonly Line[] => {
  const estimate = estimatePromptTokens(JSON.stringify(text));
  const counts = measured.map((count) => count(text));
  const line = (what: string, counted: number, estimated: number): Line => ({
    what: `${kind}, ${what}`,
    unit: 'tokens',
    raw: counted,
    cloister: estimated,
    figure: estimated / counted,
    figureUnit: '×',
    target: { atLeast: 1 },
  });
  const highest = (estimate / Math.min(...counts)).toFixed(2);
  return [
    line(`public tokenizers (at most ${highest})`, Math.max(...counts), estimate),
    line('any other', other(text), Math.ceil(estimate * tokenizerMargin('other'))),
  ];
};

/** `other` stands for tokenizers that are not public: it has a small vocabulary, and a token for each digit. */
type Counters = { readonly measured: readonly Counter[]; readonly other: Counter };

const loadTokenizers = async (): Promise<Counters> => {
  const { encode: o200k } = await import('gpt-tokenizer/encoding/o200k_base');
  const { encode: cl100k } = await import('gpt-tokenizer/encoding/cl100k_base');
  const { default: llama3 } = await import('llama3-tokenizer-js');
  const { default: mistral } = await import('mistral-tokenizer-js');
  return {
    measured: [
      (text) => o200k(text).length,
      (text) => cl100k(text).length,
      (text) => llama3.encode(text, { bos: false, eos: false }).length,
    ],
    other: (text) => mistral.encode(text, false, false).length,
  };
};
