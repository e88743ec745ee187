// Runs that write files crash at any frame; then files are removed, changed or added: exactly those are reported.
import { existsSync, linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { defineAgent, openCloister } from 'cloister';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import { validate } from '#adapters/schemas';
import { jailedCellFolders, memoryCellFolders } from '#adapters/cell-folders';
import { CloisterError, sha256 } from '#base';
import type { CellId, RunId } from '#base';
import type { Frame, RunLog, CellFolders } from '#contracts';
import { writtenFiles } from '#core/audit';
import { startRun } from '#core/orchestration';
import { countingIds, rehearse, virtualClock } from '#testkit';
import type { RequestView, VirtualClock } from '#testkit';
import { gate } from './conversations-driver.ts';
import { checkFiles, fileProblemsText, restoreFiles } from '../../src/app/check-files.ts';

const run = 'a1b2c3d4e5f6' as RunId;

// What the agents do: a plan is a list of turns, and is passed as the goal.

type Step = { readonly write: Record<string, string | number> } | { readonly help: Plan } | 'dump';
type Plan = readonly (readonly Step[])[];

const replyTo = ({ goal, turn }: RequestView) => {
  const steps = (JSON.parse(goal) as Plan)[turn - 1];
  if (steps === undefined || steps.length === 0) return 'Done.';
  return {
    calls: steps.map((step) => {
      if (step === 'dump') return { tool: 'dump', args: {} };
      if ('write' in step) return { tool: 'write_file', args: step.write };
      return { tool: 'helper', args: { prompt: JSON.stringify(step.help) } };
    }),
  };
};

const dumped = 'd'.repeat(40_000);
const dump = {
  name: 'dump',
  description: 'Says a lot.',
  repeat: 'free',
  inputSchema: { type: 'object' },
  execute: () => dumped,
} as const;

const agentsOn = (clock: VirtualClock, toolTimeout = 100) => {
  const models = [rehearse([{ reply: replyTo }], { clock, keepRequests: false })];
  const common = { description: 'Writes.', prompt: 'Write.', models };
  const helper = defineAgent({
    ...common,
    name: 'helper',
    tools: ['write_file', dump],
    limits: { toolTimeout, max_output_files: 2, max_output_size_bytes: 40 },
  });
  return defineAgent({
    ...common,
    name: 'lead',
    tools: ['write_file', 'list_files', dump],
    agents: [helper],
    limits: { toolTimeout, parallelToolCalls: 3, max_output_files: 4, maxToolCallsPerTurn: 5 },
  });
};

/** How the disk handles a write: when it is stored, when that is reported, or that it fails; and whether it is stored though the process dies. */
type WriteFate = { readonly landMs: number; readonly ackMs: number; readonly fails: boolean; readonly lands: boolean };

type Case = {
  readonly plan: Plan;
  readonly fates: readonly WriteFate[];
  readonly framesMax: number;
  readonly cancelAtMs: number;
};

const never = new Promise<never>(() => undefined);

/** A slow disk. Nothing is written that the log does not know: the write waits for its record. */
const slowDisk = (
  inner: CellFolders,
  clock: VirtualClock,
  { fates, died }: { fates: readonly WriteFate[]; died(): boolean },
) => {
  const state = { busy: 0, next: 0 };
  const pause = (ms: number) => (ms === 0 ? undefined : new Promise<void>((resolve) => void clock.timer(ms, resolve)));
  const workspaces: CellFolders = {
    open: (id, cell) => {
      const { write, read, list } = inner.open(id, cell);
      return {
        read,
        list,
        write: async (path, bytes) => {
          const fate = fates[state.next++ % fates.length]!;
          await pause(fate.landMs);
          if (died() && !fate.lands) return never;
          if (fate.fails) throw new CloisterError('store_failed', 'The operating system reported ENOSPC.');
          state.busy++;
          try {
            await write(path, bytes);
          } finally {
            state.busy--;
          }
          await pause(fate.ackMs);
        },
      };
    },
  };
  return { workspaces, state };
};

/** Runs until `framesMax` frames are stored: then the process is dead. Writes that had begun may still be stored. */
const runUntilCrash = async ({ plan, fates, framesMax, cancelAtMs }: Case, inner: CellFolders) => {
  const clock = virtualClock(1_000_000);
  const frames: Frame[] = [];
  const died = () => frames.length >= framesMax;
  const log: RunLog = {
    append: (frame) => void (died() || frames.push(JSON.parse(JSON.stringify(frame)) as Frame)),
    durable: () => (died() ? never : undefined),
    close: async () => undefined,
  };
  const { workspaces, state } = slowDisk(inner, clock, { fates, died });
  const live = startRun(agentsOn(clock), JSON.stringify(plan), undefined, {
    run,
    log,
    clock,
    ids: countingIds('files'),
    workspaces,
    validate,
    resources: {
      resourcesFor: ({ resources: { models } }) => ({
        models: models.filter((model) => typeof model !== 'string'),
        sources: [],
      }),
    },
    storeBlob: async (bytes) => sha256(bytes),
    readBlob: async () => Buffer.from(dumped),
    lane: () => undefined,
  });
  clock.timer(cancelAtMs, () => live.do({ do: 'cancel' }));
  const real = () => new Promise((resolve) => setImmediate(resolve));
  for (let step = 0; step < 2_000 && (clock.waiting > 0 || state.busy > 0); step++) {
    while (state.busy > 0) await real();
    await clock.advance(10);
  }
  return frames;
};

// The expectation, from another part of the log than the one under test: the arguments of the step itself.

const settledFiles = (frames: readonly Frame[]) => {
  const writes = new Map<string, { path: string; content: string }>();
  const files = new Map<CellId, Map<string, string>>();
  for (const { cell, record } of frames) {
    if (record.type === 'open') files.set(record.birth.cell, new Map());
    if (record.type === 'begin' && record.birth !== undefined) files.set(record.birth.cell, new Map());
    if (record.type === 'begin' && record.name === 'tool:write_file')
      writes.set(`${cell}/${record.op}`, JSON.parse(record.about!['args'] as string) as never);
    const write = record.type === 'settle' && record.ok ? writes.get(`${cell}/${record.op}`) : undefined;
    if (write !== undefined) files.get(cell)!.set(write.path, write.content);
  }
  return files;
};

const outputsIn = (frames: readonly Frame[]) =>
  frames.flatMap(({ cell, record }) => {
    const output =
      record.type === 'settle' ? (record.value as { output?: { name: string } } | null)?.output : undefined;
    return output === undefined ? [] : [{ cell, path: output.name }];
  });

// The two kinds of cell folders, and changes made behind their back.

type ChangeableFolders = {
  workspaces: CellFolders;
  put(cell: CellId, path: string, bytes: Uint8Array): Promise<void>;
  remove(cell: CellId, path: string): Promise<void>;
};

const changeableMemoryFolders = (cells: () => readonly CellId[]): ChangeableFolders => {
  const folders: ChangeableFolders = {
    workspaces: memoryCellFolders(),
    put: (cell, path, bytes) => folders.workspaces.open(run, cell).write(path, bytes),
    // Files cannot be removed there: all the others are copied to a new one.
    remove: async (cell, path) => {
      const rest = memoryCellFolders();
      for (const one of cells()) {
        const from = folders.workspaces.open(run, one);
        for (const file of await from.list())
          if (one !== cell || file.path !== path)
            await rest.open(run, one).write(file.path, (await from.read(file.path)).bytes);
      }
      folders.workspaces = rest;
    },
  };
  return folders;
};

const changeableDiskFolders = (root: string): ChangeableFolders => {
  const placeOf = (cell: CellId, path: string) => join(root, 'runs', run, cell, 'outputs', path);
  return {
    workspaces: jailedCellFolders(root),
    put: async (cell, path, bytes) => {
      mkdirSync(dirname(placeOf(cell, path)), { recursive: true });
      writeFileSync(placeOf(cell, path), bytes);
    },
    remove: async (cell, path) => rmSync(placeOf(cell, path)),
  };
};

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

// Cases.

const paths = ['a.txt', 'ü.md', 'b', 'b/c.txt', 'b/d/e.txt', '../up.txt', 'dump_001.txt', ''];
const writes: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      write: fc.record({
        path: fc.constantFrom(...paths),
        content: fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.constantFrom('', '\ud800', 'same', '"')),
      }),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ write: { path: 'a.txt' } }, { write: { path: 1, content: 'x' } }) },
  { weight: 1, arbitrary: fc.constant('dump' as const) },
);
const turns = (step: fc.Arbitrary<Step>): fc.Arbitrary<Plan> =>
  fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });
const cases: fc.Arbitrary<Case> = fc.record({
  plan: turns(fc.oneof({ weight: 5, arbitrary: writes }, { weight: 1, arbitrary: fc.record({ help: turns(writes) }) })),
  fates: fc.array(
    fc.record({
      landMs: fc.constantFrom(0, 0, 10, 30, 60, 150, 400),
      ackMs: fc.constantFrom(0, 0, 20, 70),
      fails: fc.constantFrom(false, false, false, false, true),
      lands: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  framesMax: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 60 }), fc.constant(10_000)),
  cancelAtMs: fc.constantFrom(5, 40, 90, 5_000, 5_000, 5_000),
});

type FileChange = { readonly at: number; readonly does: 'remove' | 'flip' | 'longer' | 'add' | 'nest' | 'output' };
const fileChanges: fc.Arbitrary<readonly FileChange[]> = fc.array(
  fc.record({ at: fc.nat(), does: fc.constantFrom('remove', 'flip', 'longer', 'add', 'nest', 'output') }),
  { maxLength: 6 },
);

const problemsIn = async (frames: readonly Frame[], workspaces: CellFolders): Promise<readonly string[]> =>
  (await checkFiles(frames, workspaces, run)).map(({ kind, cell, path }) => `${kind} ${cell} ${path}`);

/** Applies each change to a different file. Returns what must be reported, and the number of changes. */
const applyChanges = async (frames: readonly Frame[], folders: ChangeableFolders, some: readonly FileChange[]) => {
  const done = settledFiles(frames);
  const cells = [...done.keys()];
  const outputs = new Set(outputsIn(frames).map(({ cell, path }) => `${cell} ${path}`));
  const touched = new Set<string>();
  const expected: string[] = [];
  for (const [index, { at, does }] of some.entries()) {
    const cell = cells[at % cells.length]!;
    const there = await folders.workspaces.open(run, cell).list();
    if (does === 'add' || does === 'nest' || does === 'output') {
      if (does === 'nest' && there.some(({ path }) => path === 'b')) continue;
      const path = { add: `more-${index}.txt`, nest: `b/more-${index}.txt`, output: `dump_9${index}0.txt` }[does];
      await folders.put(cell, path, Buffer.from('planted'));
      touched.add(`${cell} ${path}`);
      expected.push(`foreign ${cell} ${path}`);
      continue;
    }
    const { path } = there[at % Math.max(1, there.length)] ?? {};
    if (path === undefined || touched.has(`${cell} ${path}`)) continue;
    touched.add(`${cell} ${path}`);
    const { bytes } = await folders.workspaces.open(run, cell).read(path);
    if (does === 'remove') await folders.remove(cell, path);
    // No UTF-8 text contains this byte.
    else
      await folders.put(cell, path, does === 'flip' ? bytes.fill(0xff, -1) : Buffer.concat([bytes, Buffer.of(0xff)]));
    if (outputs.has(`${cell} ${path}`) || (does === 'flip' && bytes.length === 0)) continue;
    if (done.get(cell)!.has(path)) expected.push(`${does === 'remove' ? 'missing' : 'changed'} ${cell} ${path}`);
    else if (does !== 'remove') expected.push(`foreign ${cell} ${path}`);
  }
  return { expected, touched: touched.size };
};

const seen = { crashes: 0, named: 0, settled: 0, maybe: 0, cells: 0 };

const examine = async (
  one: Case,
  some: readonly FileChange[],
  makeShelf: (cells: () => readonly CellId[]) => ChangeableFolders,
) => {
  let frames: readonly Frame[] = [];
  const folders = makeShelf(() => [...settledFiles(frames).keys()]);
  frames = await runUntilCrash(one, folders.workspaces);
  for (const { cell, path } of outputsIn(frames).filter((_, index) => index % 2 === 0))
    await folders.put(cell, path, Buffer.from(dumped));
  expect(await problemsIn(frames, folders.workspaces), 'untouched').toEqual([]);

  const written = writtenFiles(frames);
  for (const [cell, files] of settledFiles(frames)) {
    const { files: said, problems } = written.get(cell)!;
    expect(new Map([...said].map(([path, { content }]) => [path, content]))).toEqual(files);
    expect(problems).toEqual([]);
    seen.settled += said.size;
    seen.maybe += written.get(cell)!.possible.size;
  }
  expect([...written.keys()]).toEqual([...settledFiles(frames).keys()]);

  const { expected } = await applyChanges(frames, folders, some);
  expect((await problemsIn(frames, folders.workspaces)).toSorted()).toEqual(expected.toSorted());
  seen.crashes += frames.length === one.framesMax ? 1 : 0;
  seen.named += expected.length;
  seen.cells += written.size;
};

test('in memory, exactly the removed, changed and added files are reported, wherever the run was cut', async () => {
  await fc.assert(
    fc.asyncProperty(cases, fileChanges, (one, some) => examine(one, some, changeableMemoryFolders)),
    { numRuns: 400 },
  );
  // Otherwise the cases would test nothing.
  expect(seen.crashes).toBeGreaterThan(60);
  expect(seen.named).toBeGreaterThan(100);
  expect(seen.settled).toBeGreaterThan(100);
  expect(seen.maybe).toBeGreaterThan(25);
  expect(seen.cells).toBeGreaterThan(420);
});

test('in folders, exactly the removed, changed and added files are reported, wherever the run was cut', async () => {
  const top = newFolder();
  const named = seen.named;
  let next = 0;
  await fc.assert(
    fc.asyncProperty(cases, fileChanges, (one, some) =>
      examine(one, some, () => changeableDiskFolders(join(top, `${next++}`))),
    ),
    { numRuns: 60 },
  );
  expect(seen.named).toBeGreaterThan(named + 10);
});

test('files restored from the log into another run are exactly those that settled', () =>
  fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const frames = await runUntilCrash(one, memoryCellFolders());
      const [workspaces, other] = [memoryCellFolders(), 'other' as RunId];
      const count = await restoreFiles(frames, workspaces, other);
      const done = settledFiles(frames);
      expect(await checkFiles(frames, workspaces, other)).toEqual([]);
      expect(count).toBe([...done.values()].reduce((sum, files) => sum + files.size, 0));
      for (const [cell, files] of done) {
        const workspace = workspaces.open(other, cell);
        const listed = (await workspace.list()).map(({ path }) => path);
        expect(listed).toEqual([...files.keys()].toSorted());
        for (const path of listed)
          expect(Buffer.from((await workspace.read(path)).bytes)).toEqual(Buffer.from(files.get(path)!));
      }
    }),
    { numRuns: 100 },
  ));

// On a real disk, through the whole library.

const finished = async (folder: string) => {
  const lead = agentsOn(virtualClock(), 60_000);
  const plan: Plan = [
    [
      'dump',
      { write: { path: 'notes/one.md', content: 'one' } },
      { write: { path: 'two.txt', content: 'x'.repeat(900) } },
    ],
    [{ help: [[{ write: { path: 'own.txt', content: 'mine' } }, 'dump']] }],
    [{ write: { path: 'notes/one.md', content: 'One, again.' } }],
  ];
  await using cloister = await openCloister({ workspace: folder, agents: [lead] });
  const { run: id, status } = await cloister.run('lead', JSON.stringify(plan)).outcome;
  expect(status).toBe('completed');
  await cloister.close();
  const store = await openSqliteStore(folder);
  const frames = await store.read(id);
  await store.close();
  const [root, child] = [...writtenFiles(frames).keys()] as [CellId, CellId];
  const outputs = (cell: CellId) => join(folder, 'runs', id, cell, 'outputs');
  return {
    frames,
    id,
    root,
    child,
    at: (path: string) => join(outputs(root), path),
    own: join(outputs(child), 'own.txt'),
  };
};

// invariants: check-files-derived-may-miss, check-files-repairs-nothing
test('after a run in a workspace folder there are no problems, and offloaded outputs may be missing, truncated or present', async () => {
  const folder = newFolder();
  const { frames, id, at } = await finished(folder);
  const problems = () => checkFiles(frames, jailedCellFolders(folder), id);
  expect(await problems()).toEqual([]);
  writeFileSync(at('dump_001.txt'), 'cut by a cra');
  expect(await problems()).toEqual([]);
  rmSync(at('dump_001.txt'));
  expect(await problems()).toEqual([]);
  expect(existsSync(at('dump_001.txt'))).toBe(false);
  writeFileSync(at('dump_002.txt'), 'of no call');
  for (const found of [await problems(), await problems()])
    expect(found).toMatchObject([{ kind: 'foreign', path: 'dump_002.txt' }]);
});

test('a link, a hard link or a folder in place of a file is reported, and so are the files in that folder', async () => {
  const folder = newFolder();
  const { frames, id, at, own, root, child } = await finished(folder);
  renameSync(at('two.txt'), join(folder, 'two.txt'));
  symlinkSync(join(folder, 'two.txt'), at('two.txt'));
  linkSync(own, join(folder, 'second-name'));
  rmSync(at('notes/one.md'));
  mkdirSync(at('notes/one.md'));
  writeFileSync(join(at('notes/one.md'), 'One, again.'), 'One, again.');
  expect(await checkFiles(frames, jailedCellFolders(folder), id)).toEqual([
    {
      kind: 'missing',
      cell: root,
      path: 'notes/one.md',
      message: 'operation 7 wrote 11 bytes, but the file is missing',
    },
    { kind: 'foreign', cell: root, path: 'notes/one.md/One, again.', message: 'this agent did not write it' },
    { kind: 'missing', cell: root, path: 'two.txt', message: 'operation 3 wrote 900 bytes, but the file is missing' },
    { kind: 'missing', cell: child, path: 'own.txt', message: 'operation 1 wrote 4 bytes, but the file is missing' },
  ]);
});

test('a listed file that cannot be read is reported as changed; a failing disk is an error', async () => {
  const folder = newFolder();
  const { frames, id, child } = await finished(folder);
  const failing = (code: 'file_refused' | 'store_failed'): CellFolders => ({
    open: (...place) => {
      const { write, list, read } = jailedCellFolders(folder).open(...place);
      const refuse = () => Promise.reject(new CloisterError(code));
      return { write, list, read: place[1] === child ? refuse : read };
    },
  });
  expect(await checkFiles(frames, failing('file_refused'), id)).toMatchObject([
    { kind: 'changed', cell: child, path: 'own.txt' },
  ]);
  await expect(checkFiles(frames, failing('store_failed'), id)).rejects.toMatchObject({ code: 'store_failed' });
});

// invariant: check-files-owner-only
test('of a run that is still running, the owner is named, and its files are not checked', async () => {
  const folder = newFolder();
  const { tool, open, reached } = gate();
  const calls = [{ tool: 'wait', args: {} }];
  const models = [rehearse([{ when: { turn: 1 }, reply: { calls } }, { reply: 'Done.' }])];
  const tools = ['write_file' as const, tool];
  const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'You lead.', models, tools });
  await using cloister = await openCloister({ workspace: folder, agents: [lead] });
  const session = cloister.run('lead', 'Go.');
  await reached;
  const [root] = session.agents();
  const outputs = join(folder, 'runs', session.run, root!.cell, 'outputs');
  mkdirSync(outputs, { recursive: true });
  writeFileSync(join(outputs, 'foreign.txt'), 'planted');
  await expect(cloister.resume(session.run)).rejects.toMatchObject({ code: 'run_owned' });
  open();
  await session.outcome;
});

// invariant: check-files-needs-file-tools
test('the folder of a cell whose agent has no file tools is not checked', async () => {
  const plain = { fates: [], framesMax: 10_000, cancelAtMs: 5_000, plan: [] };
  const workspaces = memoryCellFolders();
  const frames = await runUntilCrash(plain, workspaces);
  const [cell] = writtenFiles(frames).keys();
  await workspaces.open(run, cell!).write('more.txt', Buffer.from('planted'));
  expect(await problemsIn(frames, workspaces)).toEqual([`foreign ${cell} more.txt`]);
  const without = JSON.parse(
    JSON.stringify(frames).replaceAll(/"name":"(?:write_file|list_files)"/gu, '"name":"other"'),
  );
  expect(await problemsIn(without as readonly Frame[], workspaces)).toEqual([]);
});

test('where cells cannot have files, a run without files has no problem, and a run with files gets the reason', async () => {
  const nowhere: CellFolders = {
    open: () => {
      throw new CloisterError('files_unsupported');
    },
  };
  const plain = { fates: [{ landMs: 0, ackMs: 0, fails: false, lands: true }], framesMax: 10_000, cancelAtMs: 5_000 };
  const without = await runUntilCrash({ ...plain, plan: [['dump']] }, memoryCellFolders());
  expect(await checkFiles(without, nowhere, run)).toEqual([]);
  const plan: Plan = [[{ write: { path: 'a.txt', content: 'a' } }]];
  const withFile = await runUntilCrash({ ...plain, plan }, memoryCellFolders());
  await expect(checkFiles(withFile, nowhere, run)).rejects.toMatchObject({ code: 'files_unsupported' });
});

test('the summary names the first five files and counts the rest', () => {
  const problem = (path: string) => ({ kind: 'missing', cell: 'lead-1' as CellId, path, message: 'gone' }) as const;
  const text = fileProblemsText(['1', '2', '3', '4', 'x'.repeat(200), '6', '7'].map(problem));
  expect(text).toBe(
    `missing "1" of lead-1: gone; missing "2" of lead-1: gone; missing "3" of lead-1: gone; missing "4" of lead-1: gone; missing "${'x'.repeat(80)}…" of lead-1: gone; and 2 more.`,
  );
  const [unclear] = [{ kind: 'unclear', cell: 'lead-1' as CellId, path: '', message: 'operation 1 …' }] as const;
  expect(fileProblemsText([unclear])).toBe('lead-1: operation 1 ….');
});
