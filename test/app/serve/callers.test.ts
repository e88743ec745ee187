import { expect, test } from 'vitest';
import { runCrowd } from './crowd.ts';

test(
  'with 1,000 concurrent callers and 10,000 answers, no caller sees anything of another',
  { timeout: 300_000 },
  async () => {
    const report = await runCrowd({ callers: 1_000, answers: 10_000, seed: 1 });
    expect(report.problems.slice(0, 5)).toEqual([]);
    expect(report).toMatchObject({ answers: 10_000, left: 0 });
    expect(report.aborted).toBeGreaterThan(900);
    expect(report.probed).toBeGreaterThan(900);
    expect(report.listed).toBeGreaterThan(900);
    for (const [what, least] of Object.entries(minimumCounts))
      expect(report.happened[what], what).toBeGreaterThan(least);
  },
);

/** Every kind of request was made, and access to others' resources was tried while they existed. */
const minimumCounts = {
  rest: 700,
  'rest-sse': 700,
  openai: 700,
  'openai-sse': 700,
  responses: 700,
  'responses-sse': 700,
  'a continued response': 150,
  anthropic: 700,
  'anthropic-sse': 700,
  mcp: 700,
  'mcp-sse': 100,
  'mcp-ws': 100,
  'a message to another’s session': 80,
  tools: 150,
  'a result for another’s call': 100,
  resident: 80,
};
