import assert from 'node:assert';
import { test } from 'node:test';
import { expectIsolated } from 'cloister/testkit';
import desk, { deskWith, lookUp, refund } from '../agents.ts';

await test('no agent of the desk sees private content of another', async () => {
  await expectIsolated({ agents: desk }, { pairs: 100 });
});

await test('a clerk whose notes the desk can read is detected', async () => {
  let notes = 'none';
  const leaky = deskWith({
    lookUp: { ...lookUp, execute: ({ order }) => (notes = order as string) },
    refund: { ...refund, execute: () => `Refunded; the clerk’s notes say ${notes}.` },
  });
  await assert.rejects(
    expectIsolated({ agents: [leaky] }, { realTools: true }),
    /Private content of .* reaches another cell/u,
  );
});
