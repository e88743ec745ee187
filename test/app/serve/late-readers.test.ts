// Readers that come while a model writes: what it has written, and then the rest.
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import type { RunEvent } from '#contracts';
import { ann, inMemory, serve } from './serving-driver.ts';
import { Gate } from './gated-agent.ts';

/** A model that writes its next piece when a test says so. */
const slowWriter = (text: string) => {
  const gate = new Gate();
  const clock = { timer: (_ms: number, due: () => void) => gate.hold(due) };
  const model = rehearse([{ reply: { text, delayMs: 1, pieceDelayMs: 1 } }], { clock });
  return { gate, agent: defineAgent({ name: 'writer', description: 'Writes.', prompt: 'Write.', models: [model] }) };
};

const text = 'One two three four five six seven eight nine ten.';

const textOf = (events: readonly RunEvent[]): string =>
  events.reduce((sum, event) => {
    if (event.type === 'text-reset') return '';
    return event.type === 'text-delta' ? sum + event.text : sum;
  }, '');

test('a reader who comes in the middle of a text is told its beginning, once, and the rest as it is written', async () => {
  const { agent, gate } = slowWriter(text);
  await using cloister = await inMemory(agent);
  const service = serve(cloister);
  const { run, outcome } = await service.startRun(ann, { agent: 'writer', input: 'Go.' });
  const step = async (): Promise<void> => {
    await gate.arrived(1);
    gate.open({ stay: true });
    await gate.arrived(1);
  };
  for (let pieces = 0; pieces < 4; pieces++) await step();
  const found = await service.find(ann, run);
  const [early, late]: [RunEvent[], RunEvent[]] = [[], []];
  const read = async (into: RunEvent[]): Promise<void> => {
    for await (const event of found.events({})) into.push(event);
  };
  const first = read(early);
  await step();
  const second = read(late);
  await step();
  gate.open();
  await Promise.all([first, second, outcome]);
  for (const events of [early, late]) {
    expect(textOf(events)).toBe(text);
    const types = events.map(({ type }) => type);
    // After the start of its attempt, which would take it back.
    expect(types.indexOf('text-reset')).toBeGreaterThan(types.indexOf('model-start'));
    expect(types.filter((type) => type === 'text-reset')).toHaveLength(1);
  }
  const after: RunEvent[] = [];
  for await (const event of (await service.find(ann, run)).events({})) after.push(event);
  expect(after.filter(({ type }) => type.startsWith('text-'))).toEqual([]);
});
