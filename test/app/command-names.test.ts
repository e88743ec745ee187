// What a caller passes to one command never becomes another one.
import { expect, test } from 'vitest';
import { always, agent, world } from '../core/session/driver.ts';
import { openCloister } from 'cloister';
import { rehearse } from '#testkit';

test('a field of a request cannot turn it into another command', async () => {
  const { clock, ids } = world();
  const root = agent('lead', { messages: ['children'] });
  const cloister = await openCloister({
    store: 'memory',
    agents: [root],
    models: [rehearse([always('Done.')], { clock })],
    clock,
    ids,
  });
  const session = cloister.run('lead', 'Go');
  const invalid = { code: 'options_invalid' };
  await expect(session.spawn({ agent: 'lead', do: 'cancel' } as never)).rejects.toMatchObject(invalid);
  expect(() => session.route('lead', 'lead', { categories: ['DIALOG'], do: 'cancel' } as never)).toThrow(
    expect.objectContaining(invalid),
  );
  await clock.runAll();
  expect((await session.outcome).status).toBe('completed');
  await cloister.close();
});
