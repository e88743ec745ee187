import { openCloister } from 'cloister';
import { expectIsolated, rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { deskWith } from '../src/agents.ts';
import { script } from '../src/rehearsal.ts';

const ask = async (question: string) => {
  const desk = deskWith([rehearse(script)]);
  await using cloister = await openCloister({ store: 'memory', agents: [desk] });
  const outcome = await cloister.run(desk, question).outcome;
  return { ...outcome, audit: await cloister.audit(outcome.run) };
};

test('a customer is told where an order is', async () => {
  const { status, output, audit } = await ask('Where is my order A-17?');
  expect({ status, ok: audit.ok }).toEqual({ status: 'completed', ok: true });
  expect(output).toMatch(/teapot left the warehouse/);
});

test('a customer without a number is asked for it, and nobody else is', async () => {
  const { output, spent } = await ask('Where is my order?');
  expect({ output, spawns: spent.spawns }).toEqual({ output: expect.stringContaining('Which order'), spawns: 0 });
});

test('no agent sees private content of another', async () => {
  await expect(expectIsolated({ agents: [deskWith()] }, { pairs: 50 })).resolves.toMatchObject({ ok: true });
}, 60_000);
