import { expect, test } from 'vitest';
import { testRuns } from '../../test-seed.ts';
import { runCrowd } from './crowd.ts';

test('with 1,000 concurrent callers, no caller sees anything of another', async () => {
  const answers = testRuns(10_000);
  const report = await runCrowd({ callers: 1_000, answers, seed: 1 });
  expect(report.problems.slice(0, 5)).toEqual([]);
  expect(report).toMatchObject({ answers, left: 0 });
  for (const count of [report.aborted, report.probed, report.listed]) expect(count).toBeGreaterThan(answers * 0.09);
  for (const [what, least] of Object.entries(minimumShares))
    expect(report.happened[what], what).toBeGreaterThan(answers * least);
});

/** Every kind of request was made, and access to others' resources was tried while they existed. */
const minimumShares = {
  rest: 0.07,
  'rest-sse': 0.07,
  openai: 0.07,
  'openai-sse': 0.07,
  responses: 0.07,
  'responses-sse': 0.07,
  'a continued response': 0.015,
  anthropic: 0.07,
  'anthropic-sse': 0.07,
  mcp: 0.07,
  'mcp-sse': 0.01,
  'mcp-ws': 0.01,
  'a message to another’s session': 0.008,
  tools: 0.015,
  'a result for another’s call': 0.01,
  resident: 0.008,
};
