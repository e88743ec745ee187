// What a turn costs, live and in each report, does not depend on how many turns came before it. Counted, not timed.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister, Limits } from 'cloister';
import type { RunId } from '#base';
import { fastModel, goals } from '../../bench/models.ts';
import { WorkCounter } from '../count-work.ts';

const [few, many] = [60, 180];

const sessions: Readonly<Record<string, Limits>> = {
  'in a window that holds everything': { contextTokensMax: 1_000_000_000 },
  'in a window in which old turns are compacted': { contextTokensMax: 3_000, maxOutputTokens: 500 },
};

const runSession = async (turns: number, limits: Limits, counter: WorkCounter) => {
  const lookup = {
    name: 'lookup',
    description: 'Looks',
    inputSchema: { type: 'object' },
    execute: () => 'Found nothing. '.repeat(60),
  };
  const agent = defineAgent({
    name: 'solo',
    description: 'Works',
    prompt: 'Work.',
    models: [fastModel()],
    tools: [lookup],
    limits: { maxToolTurns: turns + 1, ...limits },
  });
  const cloister = await openCloister({ store: 'memory', agents: [agent] });
  const session = cloister.run('solo', goals.lookups(turns));
  const work = await counter.count(() => session.outcome);
  expect((await session.outcome).status).toBe('completed');
  const { cell } = (await cloister.show(session.run)).cells[0]!;
  return { cloister, run: session.run, cell, work };
};

type Recorded = { readonly cloister: Cloister; readonly run: RunId; readonly cell: string };

const reports: Readonly<Record<string, (recorded: Recorded) => Promise<unknown>>> = {
  explain: ({ cloister, run, cell }) => cloister.explain(run, cell, { find: 'Found' }),
  transcript: ({ cloister, run }) => cloister.transcript(run),
  windows: ({ cloister, run }) => cloister.windows(run),
  diff: ({ cloister, run }) => cloister.diff(run, run),
};

let counter: WorkCounter;
beforeAll(async () => void (counter = await WorkCounter.start()));
afterAll(() => counter[Symbol.asyncDispose]());

/** Per turn. Some of the work is done once, so a turn of a long session costs less; a window fills up before it is compacted. */
const growthMax = 1.2;

describe.each(Object.entries(sessions))('%s', (_where, limits) => {
  // invariant: explain-linear
  test('three times as many turns are three times the work, and so are the reports on them', async () => {
    const short = await runSession(few, limits, counter);
    const long = await runSession(many, limits, counter);
    const growth = new Map([['run', long.work / many / (short.work / few)]]);
    const sizes = new Map<string, number>();
    for (const [name, read] of Object.entries(reports)) {
      const results: string[] = [];
      const countOf = (recorded: Recorded) =>
        counter.count(async () => void results.push(JSON.stringify(await read(recorded))));
      const [before, after] = [await countOf(short), await countOf(long)];
      growth.set(name, after / many / (before / few));
      sizes.set(name, results[1]!.length / many / (results[0]!.length / few));
    }
    await Promise.all([short.cloister.close(), long.cloister.close()]);
    expect([...growth].filter(([, factor]) => factor > growthMax)).toEqual([]);
    expect([...sizes].filter(([, factor]) => factor > growthMax)).toEqual([]);
  });
});
