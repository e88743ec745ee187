// A provider that does not answer is tried last for a while, by the cells that have met with it and by no others.
// invariants: circuit-of-own-attempts, circuit-only-orders
import { expect, test } from 'vitest';
import type { Model } from '#contracts';
import { rehearse } from '#testkit';
import type { ScriptLine } from '#testkit';
import { agent, always, ask, call, calls, lines, ofType, tool, world } from './driver.ts';

const echo = tool('echo', () => 'heard');

/** Two models of two providers, in order of preference. */
const askTwo = async (
  root: ReturnType<typeof agent>,
  first: readonly ScriptLine[],
  second: readonly ScriptLine[],
  { clock }: { readonly clock: ReturnType<typeof world>['clock'] } = world(),
) => {
  const of = (provider: string, says: readonly ScriptLine[]): Model => ({
    language: {
      ...rehearse({ lines: [...says], modelId: provider, price: { input: 1, output: 2 } }, { clock }),
      provider,
    },
  });
  const asked = await ask(root, {
    clock,
    models: [of('first', first), of('second', second)],
  });
  const started = ofType(asked.events, 'model-start') as readonly { readonly cell: string; readonly model: string }[];
  const askedBy = (name: string) =>
    started.filter(({ cell }) => cell.startsWith(`${name}-`)).map(({ model }) => model.split('/')[0]);
  return { ...asked, askedBy };
};

const solo = (maxRetries = 1) => agent('solo', { tools: [echo], limits: { maxRetries } });
const down = [always({ fault: 500 })];

test('the next turns begin with the provider that answers', async () => {
  const { askedBy, outcome } = await askTwo(solo(), down, [
    ...lines({ solo: [call('echo'), call('echo')] }),
    always('Done.'),
  ]);
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(askedBy('solo')).toEqual(['first', 'first', 'second', 'second', 'second']);
});

test('after half a minute its provider comes first again, and after a second failure it stays last for longer', async () => {
  const { clock } = world();
  const pause = tool('pause', () => new Promise((resolve) => void clock.timer(31_000, () => resolve('Later.'))), {
    timeoutMs: 60_000,
  });
  const root = agent('solo', { tools: [pause], limits: { maxRetries: 0 } });
  const second = [...lines({ solo: [call('pause'), call('pause'), call('pause')] }), always('Done.')];
  const { askedBy } = await askTwo(root, down, second, { clock });
  expect(askedBy('solo')).toEqual(['first', 'second', 'first', 'second', 'second', 'first', 'second']);
});

test('a request that the provider refuses says nothing about the provider', async () => {
  const refused = [...lines({ solo: [{ fault: 400 }] }), always('First again.')];
  const { askedBy } = await askTwo(solo(), refused, lines({ solo: [call('echo')] }));
  expect(askedBy('solo')).toEqual(['first', 'second', 'first']);
});

test('if the other one fails too, it is tried, and the run ends as it did', async () => {
  const { askedBy, outcome } = await askTwo(
    solo(0),
    [...lines({ solo: [{ fault: 500 }] }), always('Up again.')],
    [...lines({ solo: [call('echo')] }), always({ fault: 503 })],
  );
  expect(askedBy('solo')).toEqual(['first', 'second', 'second', 'first']);
  expect(outcome).toMatchObject({ status: 'completed', output: 'Up again.' });
});

/** The order in which `quiet` asks while the requests of its sibling end like this. */
const orderBeside = async (fails: boolean) => {
  const [quiet, busy] = ['quiet', 'busy'].map((name) => agent(name, { tools: [echo], limits: { maxRetries: 0 } }));
  const root = agent('lead', { agents: [quiet!, busy!], limits: { maxRetries: 0 } });
  const both = calls({ tool: 'busy', args: { prompt: 'Go.' } }, { tool: 'quiet', args: { prompt: 'Go.' } });
  const says = (busyFails: boolean): readonly ScriptLine[] => [
    ...(busyFails ? [always({ fault: 500 }, 'busy')] : lines({ busy: [call('echo'), 'Busy is done.'] })),
    ...lines({ lead: [both, 'Done.'], quiet: [call('echo'), call('echo'), call('echo'), 'Quiet is done.'] }),
  ];
  const { askedBy, outcome } = await askTwo(root, says(fails), says(false));
  expect(outcome.status).toBe('completed');
  return { quiet: askedBy('quiet'), lead: askedBy('lead'), busy: askedBy('busy') };
};

test('what a sibling meets with changes nothing for others: two runs that differ in it alone', async () => {
  const [well, failing] = [await orderBeside(false), await orderBeside(true)];
  expect(failing.busy).not.toEqual(well.busy);
  expect(failing.quiet).toEqual(well.quiet);
  expect(failing.lead).toEqual(well.lead);
});
