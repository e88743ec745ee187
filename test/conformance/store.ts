// What every store must do. A new store is done when `conformStore` passes.
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { recordFormats } from '#base';
import type { CellId, Hash, RunId } from '#base';
import type { Birth, Frame, FrameRecord, Outcome, RunQuery, Store } from '#contracts';

export const newRun = (): RunId => randomUUID() as RunId;

const rootCell = 'lead-1' as CellId;

export const birthOf = (cell: string, agent = 'lead', parent: string | null = null): Birth => ({
  cell: cell as CellId,
  parent: parent as CellId | null,
  agent,
  digest: '0'.repeat(64) as Hash,
  depth: parent === null ? 0 : 1,
  caps: {},
  deadline: 0,
});

export const outcomeOf = (status: Outcome['status'] = 'completed', failure: Outcome['failure'] = null): Outcome => ({
  status,
  output: 'done',
  data: null,
  failure,
  missing: [],
  spent: {
    inputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    usd: null,
    ms: 0,
    steps: 0,
    spawns: 0,
    uncertain: 0,
  },
});

export const goalContent = (cell: string, content: string): NonNullable<Frame['contents']>[number] => ({
  cell: cell as CellId,
  seq: 0,
  kind: 'goal',
  from: 'outside',
  to: cell as CellId,
  labels: [],
  content,
});

/** Frames of one run, numbered as they are created. */
export const framesOf = (run: RunId, start = 0, at = 1000) => {
  let no = start;
  const next = (record: FrameRecord, more: Partial<Frame> = {}): Frame => {
    const frame = { run, no, at: at + no, cell: rootCell, record, ...more };
    no += 1;
    return frame;
  };
  return {
    next,
    open: (goal = 'Compare SQLite and DuckDB'): Frame =>
      next(
        { type: 'open', recordedBy: { format: recordFormats.newest, build: 'test' }, birth: birthOf(rootCell) },
        { contents: [goalContent(rootCell, goal)] },
      ),
    step: (text = 'körper 🧵'): Frame => next({ type: 'settle', op: no, ok: true, value: { text } }),
    close: (status: Outcome['status'] = 'completed'): Frame => next({ type: 'close', outcome: outcomeOf(status) }),
  };
};

export const conformStore = (name: string, open: () => Promise<Store>): void => {
  describe(`the ${name} store`, () => {
    const opened: Store[] = [];
    const openStore = async (): Promise<Store> => {
      const store = await open();
      opened.push(store);
      return store;
    };
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    test('returns the frames of a run in order', async () => {
      const store = await openStore();
      const [one, other] = [newRun(), newRun()];
      const logs = [await store.acquireRun(one), await store.acquireRun(other)];
      const written = [one, other].map((run) => {
        const make = framesOf(run);
        return [make.open(), make.step(), make.step('line\nbreak "quoted" \u0000 \ud800'), make.close()];
      });
      for (let at = 0; at < 4; at++) logs.forEach((log, which) => log.append(written[which]![at]!));
      for (const log of logs) await log.durable();
      expect(await store.read(one)).toEqual(written[0]);
      expect(await store.read(other)).toEqual(written[1]);
      expect(await store.inspect(one)).toEqual({ frames: written[0], problems: [] });
    });

    test('has nothing pending when nothing was appended, or once everything appended is durable', async () => {
      const store = await openStore();
      const run = newRun();
      const log = await store.acquireRun(run);
      expect(log.durable()).toBeUndefined();
      log.append(framesOf(run).open());
      await log.durable();
      expect(log.durable()).toBeUndefined();
    });

    test('keeps frames that were appended before a run was released', async () => {
      const store = await openStore();
      const run = newRun();
      const log = await store.acquireRun(run);
      const make = framesOf(run);
      const frames = [make.open(), make.step()];
      for (const frame of frames) log.append(frame);
      await log.close();
      await log.close();
      expect(await store.read(run)).toEqual(frames);
    });

    test('continues a run that was released', async () => {
      const store = await openStore();
      const run = newRun();
      const make = framesOf(run);
      const frames = [make.open(), make.step(), make.close()];
      for (const frame of frames) {
        const log = await store.acquireRun(run);
        log.append(frame);
        await log.close();
      }
      expect(await store.read(run)).toEqual(frames);
    });

    test('allows one owner of a run at a time', async () => {
      const store = await openStore();
      const run = newRun();
      const log = await store.acquireRun(run);
      await expect(async () => store.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
      await expect(async () => store.acquireRun(run, { takeOver: true })).rejects.toMatchObject({ code: 'run_owned' });
      await log.close();
      await (await store.acquireRun(run)).close();
    });

    test('names the run that it does not have', async () => {
      const store = await openStore();
      await expect(store.read(newRun())).rejects.toMatchObject({ code: 'run_unknown' });
      await expect(store.inspect(newRun())).rejects.toMatchObject({ code: 'run_unknown' });
    });

    test('rejects a run id that cannot be a path segment', async () => {
      const store = await openStore();
      await expect(async () => store.acquireRun('../x' as RunId)).rejects.toMatchObject({ code: 'name_invalid' });
    });

    test('lists runs newest first, with their state', async () => {
      const store = await openStore();
      const [ended, running, given] = [newRun(), newRun(), newRun()];
      const logs = await Promise.all([ended, running, given].map(async (run) => store.acquireRun(run)));
      const makes = [ended, running, given].map((run, which) => framesOf(run, 0, 1000 * (which + 1)));
      makes.forEach((make, which) => logs[which]!.append(make.open(`goal ${which} ${'x'.repeat(300)}`)));
      logs[0]!.append(makes[0]!.close('partial'));
      const child = { type: 'begin', op: 0, do: 'child', name: 'c', birth: birthOf('c-1', 'c', 'lead-1') } as const;
      logs[1]!.append(makes[1]!.next(child));
      await logs[1]!.durable();
      await logs[0]!.close();
      await logs[2]!.close();
      const list = await store.list();
      expect(list.map(({ run, state, status, cells }) => ({ run, state, status, cells }))).toEqual([
        { run: given, state: 'interrupted', status: null, cells: 1 },
        { run: running, state: 'running', status: null, cells: 2 },
        { run: ended, state: 'ended', status: 'partial', cells: 1 },
      ]);
      expect(list[2]).toMatchObject({ agent: 'lead', startedAt: 1000, endedAt: 1001, owner: null });
      expect(list[2]!.goal).toBe(`goal 0 ${'x'.repeat(193)}`);
      expect(list[1]!.owner).toContain('process');
      expect(await store.list({ runs: [ended, newRun(), given] })).toEqual([list[0], list[2]]);
      expect(await store.list({ runs: [] })).toEqual([]);
    });

    test('lists the runs of one caller, newest first, and no other caller’s', async () => {
      const store = await openStore();
      const [ours, theirs, newest, withoutCaller] = [newRun(), newRun(), newRun(), newRun()];
      const callers = new Map([
        [ours, 'ours'],
        [theirs, 'theirs'],
        [newest, 'ours'],
      ]);
      for (const [which, run] of [ours, theirs, newest, withoutCaller].entries()) {
        const log = await store.acquireRun(run);
        const { record, ...frame } = framesOf(run, 0, 1000 * (which + 1)).open('goal');
        if (record.type !== 'open') throw new Error('the first record opens the run');
        const caller = callers.get(run);
        log.append({ ...frame, record: { ...record, ...(caller === undefined ? {} : { caller }) } });
        await log.close();
      }
      const listed = async (caller: string) => (await store.list({ caller })).map(({ run }) => run);
      expect(await listed('ours')).toEqual([newest, ours]);
      expect(await listed('theirs')).toEqual([theirs]);
      expect(await listed('our')).toEqual([]);
      expect(await listed('')).toEqual([]);
      expect(await store.list({ caller: 'theirs' })).toEqual(await store.list({ runs: [theirs] }));
      const some = async (of: { most?: number; since?: number }) =>
        (await store.list({ caller: 'ours', ...of })).map(({ run }) => run);
      expect(await Promise.all([some({ most: 1 }), some({ most: 9 }), some({ most: 0 })])).toEqual([
        [newest],
        [newest, ours],
        [],
      ]);
      const [{ startedAt: newestAt } = { startedAt: 0 }] = await store.list({ runs: [newest] });
      expect(await Promise.all([some({ since: newestAt }), some({ since: newestAt + 1 })])).toEqual([[newest], []]);
    });

    test('lists runs in the order in which they began, whatever their clocks said, and page by page', async () => {
      const store = await openStore();
      const runs = ['aa', 'ab', 'ba', 'bb'].map((start) => `${start}${newRun()}` as RunId);
      // The clock was set back after the first one.
      for (const [which, run] of runs.entries()) {
        const log = await store.acquireRun(run);
        const make = framesOf(run, 0, which === 0 ? 9000 : 1000 + which);
        log.append(make.open());
        if (which === 1) log.append(make.close());
        await log.close();
      }
      const newestFirst = runs.toReversed();
      const listed = async (query?: RunQuery) => (await store.list(query)).map(({ run }) => run);
      expect(await listed()).toEqual(newestFirst);
      // To resume a run does not make it newer.
      await (await store.acquireRun(runs[0]!)).close();
      expect(await listed({ most: 2 })).toEqual(newestFirst.slice(0, 2));
      expect(await listed({ most: 9, before: newestFirst[1]! })).toEqual(newestFirst.slice(2));
      expect(await listed({ before: newestFirst[3]! })).toEqual([]);
      expect(await listed({ before: newRun() })).toEqual([]);
      expect(await listed({ prefix: 'a' })).toEqual([runs[1], runs[0]]);
      expect(await listed({ prefix: 'ab' })).toEqual([runs[1]]);
      expect((await listed({ prefix: 'b', most: 1 })).length).toBe(1);
      expect(await listed({ prefix: 'c' })).toEqual([]);
      expect(await listed({ prefix: runs[2]! })).toEqual([runs[2]]);
      expect(await listed({ open: true })).toEqual(newestFirst.filter((run) => run !== runs[1]));
      expect(await listed({ open: true, most: 1, before: newestFirst[1]! })).toEqual([runs[0]]);
    });

    test('lists nothing when new', async () => {
      const store = await openStore();
      expect(await store.list()).toEqual([]);
    });

    test('stores bytes under their hash, as they were when passed in', async () => {
      const store = await openStore();
      const bytes = new Uint8Array([0, 1, 2, 255]);
      const kept = store.putBlob(bytes);
      bytes[0] = 9;
      const ref = await kept;
      expect(ref).toBe('3d1f57c984978ef98a18378c8166c1cb8ede02c03eeb6aee7e2f121dfeee3e56');
      expect([...(await store.getBlob(ref))]).toEqual([0, 1, 2, 255]);
      expect(await store.putBlob(new Uint8Array([0, 1, 2, 255]))).toBe(ref);
      expect((await store.getBlob(await store.putBlob(new Uint8Array()))).length).toBe(0);
      await expect(store.getBlob('0'.repeat(64))).rejects.toMatchObject({ code: 'file_missing' });
    });

    test('can be closed twice, and without having been used', async () => {
      const store = await openStore();
      await store.close();
      await expect(store.close()).resolves.toBeUndefined();
    });
  });
};
