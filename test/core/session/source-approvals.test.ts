// Marks for approval that a tool source brings: recorded when its tools are listed.
import { expect, test } from 'vitest';
import type { ToolDefinition } from '#contracts';
import { SourceSession } from '../../../src/core/session/source-session.ts';

const tool = (name: string, approve?: ToolDefinition['approve']): ToolDefinition => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  ...(approve === undefined ? {} : { approve }),
  execute: () => name,
});

const source = {
  name: 'bank',
  list: async () => ({ tools: [tool('look'), tool('close', true), tool('pay', ({ amount }) => Number(amount) > 100)] }),
};

const { signal } = new AbortController();

test('a listed tool says that a person must allow it, also if a function would decide, and one that says nothing is listed as before', async () => {
  const listed = await new SourceSession({ source, only: null }).list(signal);
  expect(listed.map(({ name, approve }) => [name, approve])).toEqual([
    ['bank__look', undefined],
    ['bank__close', true],
    ['bank__pay', true],
  ]);
  expect(Object.keys(listed[0]!)).not.toContain('approve');
});
