// One scheduler saves all changes: one timer while there are changes, none otherwise.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunId } from '#base';
import { virtualClock } from '#testkit';
import { Autosave } from '../../src/app/conversations/autosave.ts';
import { gate, newWorkspace, openTalk, ref, takeTurn, waitsFirst } from './conversations-driver.ts';

const openSaving = (fails: () => boolean = () => false) => {
  const clock = virtualClock();
  const saved: string[] = [];
  const autosave = new Autosave({
    clock,
    everyMs: 1_000,
    save: async (run, ended) => {
      saved.push(`${clock.now()} ${run}${ended ? ' ended' : ''}`);
      if (fails()) throw new Error('no');
    },
  });
  return { clock, saved, autosave, run: (name: string) => name as RunId };
};

describe('the scheduler', () => {
  // invariant: autosave-idle-costs-nothing
  test('sets no timer while nothing changes, and only one however much changes', () => {
    const { clock, autosave, run } = openSaving();
    expect(clock.waiting).toBe(0);
    for (let nth = 0; nth < 10_000; nth++) autosave.touch(run(`run-${nth}`));
    expect(clock.waiting).toBe(1);
    for (let nth = 0; nth < 10_000; nth++) autosave.end(run(`run-${nth}`));
    expect(clock.waiting).toBe(0);
  });

  // invariant: autosave-at-end
  test('saves changes periodically, and a finished run immediately', async () => {
    const { clock, saved, autosave, run } = openSaving();
    autosave.touch(run('a'));
    await clock.advance(600);
    autosave.touch(run('a'));
    autosave.touch(run('b'));
    await clock.advance(399);
    expect(saved).toEqual([]);
    await clock.advance(1);
    expect(saved).toEqual(['1000 a', '1000 b']);
    expect(clock.waiting).toBe(0);
    autosave.touch(run('b'));
    await clock.advance(500);
    autosave.end(run('b'));
    await clock.advance(5_000);
    expect(saved.slice(2)).toEqual(['1500 b ended']);
  });

  // invariant: autosave-failure-harmless
  test('continues after a failure, and saves nothing once it is closed', async () => {
    let failing = true;
    const { clock, saved, autosave, run } = openSaving(() => failing);
    autosave.touch(run('a'));
    await clock.advance(1_000);
    failing = false;
    autosave.touch(run('a'));
    await clock.advance(1_000);
    expect(saved.length).toBe(2);
    autosave.touch(run('a'));
    await autosave.close();
    autosave.touch(run('b'));
    expect(clock.waiting).toBe(0);
    await clock.advance(5_000);
    expect(saved.length).toBe(2);
  });

  const acts = fc.array(
    fc.oneof(
      fc.record({ act: fc.constant('touch' as const), run: fc.nat(4) }),
      fc.record({ act: fc.constant('end' as const), run: fc.nat(4) }),
      fc.record({ act: fc.constant('wait' as const), ms: fc.nat(1_500) }),
    ),
  );

  test('whatever happens, a timer is set exactly while there are changes, and no change waits longer than the interval', () =>
    fc.assert(
      fc.asyncProperty(acts, async (some) => {
        const { clock, saved, autosave, run } = openSaving();
        const changed = new Map<string, number>();
        const seen = (): void => {
          for (const line of saved.splice(0)) {
            const [at, which] = line.split(' ') as [string, string];
            const since = changed.get(which);
            if (since !== undefined) expect(Number(at) - since).toBeLessThanOrEqual(1_000);
            changed.delete(which);
          }
        };
        for (const one of some) {
          if (one.act === 'wait') await clock.advance(one.ms);
          else {
            const which = `run-${one.run}`;
            autosave[one.act](run(which));
            if (one.act === 'touch' && !changed.has(which)) changed.set(which, clock.now());
          }
          await autosave.settled();
          seen();
          expect(clock.waiting).toBe(changed.size === 0 ? 0 : 1);
        }
      }),
      { numRuns: 60 },
    ));
});

describe('conversations', () => {
  test('10,000 idle agents need no timer', async () => {
    const clock = virtualClock();
    const { cloister, agents } = await openTalk({ store: 'memory', clock });
    const [lead] = agents;
    for (let nth = 0; nth < 100; nth++) await takeTurn({ cloister }, 'Hello.', { conversation: `talk ${nth}` });
    for (let nth = 0; nth < 10_000; nth++) cloister.register({ ...lead!, name: `agent-${nth}` });
    expect(clock.waiting).toBe(0);
  });

  test('a run is saved while it is running, with a checkpoint and its file, and again when it ends', async () => {
    const clock = virtualClock(1_000);
    const workspace = newWorkspace();
    const { tool, open, reached } = gate();
    const says = waitsFirst;
    const { cloister } = await openTalk({
      workspace,
      clock,
      says,
      autosaveMs: 500,
      agents: { lead: { tools: [tool] } },
    });
    const session = await cloister.runTurn('lead', 'Wait.');
    await reached;
    const path = join(workspace, 'conversations', 'lead', 'main.json');
    await clock.advance(500);
    const [saved, ...none] = await cloister.checkpoints.list();
    expect(none).toEqual([]);
    expect(saved).toMatchObject({ why: 'autosave', run: session.run, at: 1_500, conversation: ref('main') });
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      running: [session.run],
      entries: [{ text: 'Wait.' }],
    });
    await clock.advance(10_000);
    expect(await cloister.checkpoints.list()).toHaveLength(1);
    open();
    await session.outcome;
    expect(await cloister.checkpoints.list()).toHaveLength(2);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ running: [], entries: [{}, {}] });
  });

  test('closing waits for a save in progress', async () => {
    const workspace = newWorkspace();
    const { cloister } = await openTalk({ workspace });
    const session = await cloister.runTurn('lead', 'Hello.');
    await session.outcome;
    await cloister.close();
    const file = JSON.parse(readFileSync(join(workspace, 'conversations', 'lead', 'main.json'), 'utf8'));
    expect(file.entries.length).toBe(2);
  });

  test.for([{ autosaveMs: 0 }, { retention: { most: 0 } }, { retention: { allMs: Number.NaN } }, { defaultAgent: 7 }])(
    'refuse the option %j, and the error says why',
    async (options) => {
      await expect(openTalk({ store: 'memory', ...(options as object) })).rejects.toMatchObject({
        code: 'options_invalid',
        failure: { detail: expect.stringContaining('expected') },
      });
    },
  );

  test('a plain run is not saved automatically', async () => {
    const clock = virtualClock();
    const { cloister } = await openTalk({ store: 'memory', clock });
    await cloister.run('lead', 'Hello.').outcome;
    expect(await cloister.checkpoints.list()).toEqual([]);
  });
});
