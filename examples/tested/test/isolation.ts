import assert from 'node:assert';
import { test } from 'node:test';
import { expectIsolated } from 'cloister/testkit';
import desk, { deskWith, lookUp, refund } from '../agents.ts';

await test('no agent of the desk sees what another keeps to itself', async () => {
  await expectIsolated({ agents: desk }, { pairs: 100 });
});

await test('a clerk that keeps its notes where the desk can read them is found out', async () => {
  let notes = 'none';
  const leaky = deskWith({
    lookUp: { ...lookUp, execute: ({ order }) => (notes = order as string) },
    refund: { ...refund, execute: () => `Refunded; the clerk’s notes say ${notes}.` },
  });
  await assert.rejects(
    expectIsolated({ agents: [leaky] }, { realTools: true }),
    /keeps to itself reaches another cell/u,
  );
});
