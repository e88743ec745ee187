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

test('a listed tool says whether a person must allow it, and a tool that says nothing is listed as before', async () => {
  const listed = await new SourceSession({ source, only: null }).list(signal);
  expect(listed.map(({ name, approve }) => [name, approve])).toEqual([
    ['bank__look', undefined],
    ['bank__close', 'always'],
    ['bank__pay', 'arguments'],
  ]);
  expect(Object.keys(listed[0]!)).not.toContain('approve');
});

test('the function of a listed tool decides while its source is open; before that, the answer is to ask', async () => {
  const listed = await new SourceSession({ source, only: null }).list(signal);
  const session = new SourceSession({ source, only: null });
  const approvals = () => listed.map((one) => session.definition(one).approve);
  const asks = (amount: number) => {
    const [, , pay] = approvals();
    return (pay as (args: object) => boolean)({ amount });
  };
  expect(approvals().slice(0, 2)).toEqual([undefined, true]);
  expect([asks(101), asks(99)]).toEqual([true, true]);
  await session.list(signal);
  expect([asks(101), asks(99)]).toEqual([true, false]);
});
