// What reads a long log makes pauses, so that a server answers others meanwhile.
import { expect, test, vi } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';

/** An agent that asks another one, which looks something up four times, three times in a row. */
const openBusy = async (): Promise<Cloister> => {
  const look = { name: 'look', inputSchema: { type: 'object' as const }, execute: () => 'Seen.' };
  const reply = ({ agent, turn }: RequestView): ScriptedReply => {
    if (turn > 3) return { text: 'Done.' };
    if (agent === 'lead') return { calls: [{ tool: 'aide', args: { prompt: 'Help.' } }] };
    return { calls: Array.from({ length: 4 }, () => ({ tool: 'look' })) };
  };
  const common = { description: 'Works.', prompt: 'Work.', models: [rehearse([{ reply }])] };
  const aide = defineAgent({ ...common, name: 'aide', tools: [look] });
  return openCloister({ agents: [defineAgent({ ...common, name: 'lead', agents: [aide] })], store: 'memory' });
};

/** How often the event loop turned while something was read, if every look at the clock says that 20 ms have passed. */
const turnsDuring = async <T>(read: () => Promise<T>): Promise<{ readonly turns: number; readonly result: T }> => {
  let [now, turns, isOver] = [performance.now(), 0, false];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 20));
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    const result = await read();
    return { turns, result };
  } finally {
    isOver = true;
    clock.mockRestore();
  }
};

const readers: Readonly<Record<string, (cloister: Cloister, run: string) => Promise<unknown>>> = {
  show: (cloister, run) => cloister.show(run),
  windows: (cloister, run) => cloister.windows(run),
  diff: (cloister, run) => cloister.diff(run, run),
  replay: (cloister, run) => cloister.replay(run),
};

test.each(Object.keys(readers))('%s lets others work between two records, and finds the same', async (name) => {
  await using cloister = await openBusy();
  const { run } = await cloister.run('lead', 'Go.').outcome;
  const { frames } = await cloister.replay(run);
  expect(frames).toBeGreaterThan(80);
  const read = readers[name]!;
  const atOnce = await read(cloister, run);
  const { turns, result } = await turnsDuring(() => read(cloister, run));
  expect(result).toEqual(atOnce);
  expect(turns).toBeGreaterThanOrEqual(frames);
});

test('a replay pauses between the operations of its cells, too, not only when it compares', async () => {
  await using cloister = await openBusy();
  const { run } = await cloister.run('lead', 'Go.').outcome;
  const { frames, ok } = await cloister.replay(run);
  const { turns } = await turnsDuring(() => cloister.replay(run));
  // One for each record to hash it, one to make events of it, and one for each time a cell waits for its operations.
  expect([ok, turns > 2 * frames + 12]).toEqual([true, true]);
});
