import { expect, test } from 'vitest';
import { runCrowd } from './crowd.ts';

test('of 1,000 callers at once, none is told anything of another in 10,000 answers', { timeout: 300_000 }, async () => {
  const report = await runCrowd({ callers: 1_000, answers: 10_000, seed: 1 });
  expect(report.problems.slice(0, 5)).toEqual([]);
  expect(report).toMatchObject({ answers: 10_000, left: 0 });
  expect(report.aborted).toBeGreaterThan(900);
  expect(report.probed).toBeGreaterThan(900);
  expect(report.listed).toBeGreaterThan(900);
  for (const [what, least] of Object.entries(leastOf)) expect(report.happened[what], what).toBeGreaterThan(least);
});

/** Everything that there is to ask was asked, and what is another's was tried while it was there. */
const leastOf = {
  rest: 700,
  'rest-sse': 700,
  openai: 700,
  'openai-sse': 700,
  responses: 700,
  'responses-sse': 700,
  'a response that goes on': 150,
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
