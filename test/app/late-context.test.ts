// Context that is added to a run while its request is refused by the budget.
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { CloisterError } from 'cloister';
import { rehearse } from 'cloister/testkit';

/** Its budget leaves no room for a reply. With more context, raising the limit of replies would not help either, and the refusal says so. */
const poor = defineAgent({
  name: 'poor',
  description: 'Answers.',
  prompt: 'Answer.',
  grants: ['goal', 'result', 'history'],
  budget: { tokens: 900 },
  models: [rehearse([{ reply: 'Done.' }])],
});

const long = 'Boats come back early. '.repeat(300);

/** Adds context so many steps of the event loop's innermost queue after the run has begun. */
const addAfter = async (steps: number) => {
  await using cloister = await openCloister({ agents: [poor], store: 'memory' });
  const session = cloister.run('poor', 'Hi.');
  for (let step = 0; step < steps; step++) await Promise.resolve();
  let told = 'taken';
  try {
    session.addContext(long);
  } catch (error) {
    told = (error as CloisterError).code;
  }
  const outcome = await session.outcome;
  const { differences } = await cloister.replay(session.run);
  return { told, status: outcome.status, differences };
};

test('a run whose request the budget refuses replays the same, whenever context is added', async () => {
  const told: string[] = [];
  for (let steps = 0; steps < 60; steps++) {
    const { differences, status, ...rest } = await addAfter(steps);
    expect({ steps, status, differences }).toEqual({ steps, status: 'budget', differences: [] });
    told.push(rest.told);
  }
  // From some step on nothing is taken: the run makes no further request.
  const first = told.indexOf('cell_ended');
  expect(first).toBeGreaterThan(0);
  expect(new Set(told.slice(first))).toEqual(new Set(['cell_ended']));
});
