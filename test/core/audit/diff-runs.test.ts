import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CellId, Hash, RunId } from '#base';
import type { Amendment, CellDiff, Frame, FrameRecord, ReplyPart, RunDiff } from '#contracts';
import { diffRuns } from '#core/audit';
import {
  FrameWriter,
  birthOf,
  definitionOf,
  envelopeText,
  goodRun,
  lead,
  outcomeOf,
  researcher,
  usage,
  user,
} from './frames.ts';

/** A run as a tree of replies, tool results and child calls. */
type Plan = { readonly agent: string; readonly turns: readonly Turn[]; readonly answer: string };
type Turn = { readonly says: string; readonly tools: readonly Lookup[]; readonly children: readonly Plan[] };
type Lookup = { readonly tool: string; readonly args: string; readonly result: string };

/** Everything in which two recordings of the same plan may differ. */
type RecordingOptions = { readonly run: string; readonly ids: string; readonly startAt: number };

const definition = definitionOf('You work.', []);
const good = goodRun().frames;

/** Records a plan as the runtime would, with these ids and times. */
const record = (plan: Plan, { run, ids, startAt }: RecordingOptions): readonly Frame[] => {
  const log = new FrameWriter();
  let cellCount = 0;
  const newCell = (agent: string): CellId => `${agent}-${ids}${cellCount++}` as CellId;
  const work = (cell: CellId, { turns }: Plan): void => {
    let shown = 'the goal';
    for (const [index, { says, tools, children }] of turns.entries()) {
      const op = log.attempt(cell, index + 1, [
        { add: [{ origin: { rule: 'goal@1', of: [] }, category: 'DIALOG', part: user(shown) }] },
      ]);
      const calls = [...tools.map(({ tool }) => tool), ...children.map(({ agent }) => agent)].map(
        (name, nth): ReplyPart => ({ type: 'call', id: `call-${ids}-${nth}`, name, input: '{}' }),
      );
      log.reply(cell, op, [{ type: 'text', text: says }, ...calls], usage(10, says.length));
      for (const { tool, args, result } of tools) log.tool(cell, tool, { args }, { text: result });
      for (const child of children) spawn(cell, child);
      // What a model is shown includes the ids of its calls.
      shown = JSON.stringify({ calls, tools });
    }
  };
  const spawn = (parent: CellId, plan_: Plan): void => {
    const cell = newCell(plan_.agent);
    log.cross('goal', [parent, cell], 'Find out.');
    const birth = { ...birthOf(cell, parent, definition, {}), agent: plan_.agent };
    const op = log.begin(parent, { do: 'child', name: `agent:${plan_.agent}`, birth }, { ids: [cell] });
    work(cell, plan_);
    const outcome = outcomeOf(plan_.answer, {});
    const crossing = log.cross('result', [cell, parent], envelopeText(outcome));
    log.settle(parent, op, { ok: true, value: { crossing }, ended: { cell, outcome } });
  };
  const root = newCell(plan.agent);
  log.open({ ...birthOf(root, null, definition, {}), agent: plan.agent }, definition, 'Do it.');
  work(root, plan);
  const outcome = outcomeOf(plan.answer, { ms: startAt });
  log.cross('result', [root, 'outside'], envelopeText(outcome));
  log.write(root, { type: 'close', outcome });
  return log.frames.map((frame) => ({ ...frame, run: run as RunId, at: frame.at + startAt }));
};

const word = fc.constantFrom('red', 'green', 'blue');
const lookup = fc.record({ tool: fc.constantFrom('search', 'clock'), args: word, result: word });
const planOf = (depth: number): fc.Arbitrary<Plan> =>
  fc.record({
    agent: fc.constantFrom('lead', 'scout', 'writer'),
    answer: word,
    turns: fc.array(
      fc.record({
        says: word,
        tools: fc.array(lookup, { maxLength: 2 }),
        children: depth === 0 ? fc.constant([]) : fc.array(planOf(depth - 1), { maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  });
const plan = planOf(2);
const first: RecordingOptions = { run: 'run-1', ids: 'aa', startAt: 0 };
const second: RecordingOptions = { run: 'run-2', ids: 'bb', startAt: 5_000_000 };

const mirrored = (diff: RunDiff): RunDiff => ({
  ...diff,
  one: diff.other,
  other: diff.one,
  cells: diff.cells.map((cell): CellDiff => ({
    ...cell,
    one: cell.other,
    other: cell.one,
    parts: cell.parts && { ...cell.parts, one: cell.parts.other, other: cell.parts.one },
  })),
});

// invariant: diff-is-symmetric
test('a run is identical to itself, to its last frame', () =>
  fc.assert(
    fc.asyncProperty(plan, async (one) => {
      const frames = record(one, first);
      const diff = await diffRuns(frames, frames);
      expect(diff).toMatchObject({ same: true, sameFrames: frames.length, fork: null, one: 'run-1', other: 'run-1' });
      expect(diff.cells.every(({ same, parts }) => same && parts === null)).toBe(true);
    }),
  ));

// invariants: diff-ignores-times-and-ids, pairs-by-position
test('differences in times and in ids of runs, cells and calls are ignored', () =>
  fc.assert(
    fc.asyncProperty(plan, async (one) => {
      const diff = await diffRuns(record(one, first), record(one, second));
      expect(diff).toMatchObject({ same: true, sameFrames: 0 });
    }),
  ));

// invariants: diff-is-symmetric, pairs-keep-order
test('swapping the runs swaps the sides and nothing else', () =>
  fc.assert(
    fc.asyncProperty(plan, plan, async (one, other) => {
      const [left, right] = [record(one, first), record(other, second)];
      expect(await diffRuns(right, left)).toEqual(mirrored(await diffRuns(left, right)));
    }),
  ));

// invariant: diff-sides-differ-in-text
test('two runs are equal exactly when their plans are', () =>
  fc.assert(
    fc.asyncProperty(plan, plan, async (one, other) => {
      const { same, cells } = await diffRuns(record(one, first), record(other, second));
      expect(same).toBe(JSON.stringify(one) === JSON.stringify(other));
      expect(same).toBe(cells.every((cell) => cell.same));
      for (const { parts } of cells) if (parts !== null) expect(parts.one).not.toBe(parts.other);
    }),
  ));

/** Changes the result of one tool of one cell: the n-th in recording order. */
const withOtherResult = (one: Plan, nth: number): Plan => {
  let left = nth;
  const change = (given: Plan): Plan => ({
    ...given,
    turns: given.turns.map((turn) => ({
      ...turn,
      tools: turn.tools.map((tool) => (left-- === 0 ? { ...tool, result: `${tool.result} and more` } : tool)),
      children: turn.children.map(change),
    })),
  });
  return change(one);
};

test('a different tool result is where its cell diverges, and no other cell does', () =>
  fc.assert(
    fc.asyncProperty(plan, fc.nat({ max: 3 }), async (one, nth) => {
      const other = withOtherResult(one, nth);
      fc.pre(JSON.stringify(other) !== JSON.stringify(one));
      const { cells } = await diffRuns(record(one, first), record(other, second));
      const parted = cells.filter(({ same }) => !same);
      expect(parted).toHaveLength(1);
      expect(parted[0]!.parts).toMatchObject({
        one: expect.stringMatching(/^tool (search|clock) \w+: \w+$/u),
        other: expect.stringMatching(/ and more$/u),
      });
    }),
  ));

test('a different child answer is where its parent diverges', async () => {
  const answered = (answer: string): Plan => ({
    agent: 'lead',
    answer: 'done',
    turns: [{ says: 'go', tools: [], children: [{ agent: 'scout', answer, turns: [] }] }],
  });
  const { cells } = await diffRuns(record(answered('red'), first), record(answered('blue'), second));
  expect(cells).toMatchObject([
    {
      place: 'lead',
      parts: { op: 1, one: 'agent scout "Find out.": completed red', other: 'agent scout "Find out.": completed blue' },
    },
    { place: 'lead › scout #1', parts: null, same: false },
  ]);
});

/** Two children that were called together and answer in this order. */
const answeredInOrder = (order: readonly number[]): readonly Frame[] => {
  const log = new FrameWriter();
  const scouts = ['scout-1', 'scout-2'] as CellId[];
  log.open(birthOf(lead, null, definition, {}), definition, 'Do it.');
  const ops = scouts.map((cell) => {
    log.cross('goal', [lead, cell], 'Find out.');
    return log.begin(lead, { do: 'child', name: 'agent:scout', birth: birthOf(cell, lead, definition, {}) });
  });
  const seqs = new Map(
    order.map((nth) => {
      const outcome = outcomeOf(`I am ${nth}`, {});
      const crossing = log.cross('result', [scouts[nth]!, lead], envelopeText(outcome));
      log.settle(lead, ops[nth]!, { ok: true, value: { crossing }, ended: { cell: scouts[nth]!, outcome } });
      return [nth, crossing];
    }),
  );
  log.attempt(lead, 1, [
    {
      add: [0, 1].map((nth) => ({
        origin: { rule: 'child-result@1', of: [{ from: 'crossing', seq: seqs.get(nth)! }] },
        category: 'TOOLS',
        part: user(`I am ${nth}`),
      })),
    },
  ]);
  return log.frames;
};

// invariant: diff-ignores-times-and-ids
test('the order in which several children answer is ignored', async () => {
  expect(await diffRuns(answeredInOrder([0, 1]), answeredInOrder([1, 0]))).toMatchObject({ same: true, sameFrames: 3 });
});

test('a changed definition is a difference, both for its agent and where it is called', async () => {
  const { frames } = goodRun();
  const digest = 'c'.repeat(64);
  const renamed = frames.map((frame) => {
    const copy: any = structuredClone(frame);
    if (copy.record.birth?.cell === researcher) copy.record.birth.digest = digest;
    return copy as Frame;
  });
  const { cells } = await diffRuns(frames, renamed);
  expect(cells[0]!.parts?.other).toMatch(/^definition sha256 cccccccccccc…: agent researcher/u);
  expect(cells[1]).toMatchObject({ parts: null, same: false });
});

test('a different goal for a child is where its parent diverges', async () => {
  const given = (goal: string): readonly Frame[] => {
    const log = new FrameWriter();
    log.open(birthOf(lead, null, definition, {}), definition, 'Do it.');
    log.cross('goal', [lead, researcher], goal);
    log.begin(lead, { do: 'child', name: 'agent:researcher', birth: birthOf(researcher, lead, definition, {}) });
    return log.frames;
  };
  const { cells } = await diffRuns(given('Find out.'), given('Do less.'));
  expect(cells[0]!.parts).toEqual({
    op: 0,
    one: 'agent researcher "Find out.", not settled',
    other: 'agent researcher "Do less.", not settled',
  });
});

// invariant: pairs-by-position
test('cells are matched by agent and call order, and reported in tree order', async () => {
  const leaf = (agent: string, answer = 'red'): Plan => ({ agent, answer, turns: [] });
  const tree = (children: readonly Plan[]): Plan => ({
    agent: 'lead',
    answer: 'done',
    turns: [{ says: 'go', tools: [], children }],
  });
  const one = tree([leaf('scout'), leaf('writer'), leaf('scout', 'blue')]);
  const other = tree([leaf('writer'), leaf('scout'), leaf('editor')]);
  const { cells } = await diffRuns(record(one, first), record(other, second));
  expect(cells.map(({ place, same, one: left, other: right }) => [place, same, left?.status, right?.status])).toEqual([
    ['lead', false, 'completed', 'completed'],
    ['lead › scout #1', true, 'completed', 'completed'],
    ['lead › writer #1', true, 'completed', 'completed'],
    ['lead › editor #1', false, undefined, 'completed'],
    ['lead › scout #2', false, 'completed', undefined],
  ]);
  expect(cells[4]).toMatchObject({ one: { output: 'blue', crossings: ['goal from lead', 'result to lead'] } });
});

test('two runs of different agents have no cell in common', async () => {
  const leaf = (agent: string): Plan => ({ agent, answer: 'red', turns: [] });
  const { cells, same } = await diffRuns(record(leaf('scout'), first), record(leaf('lead'), second));
  expect(same).toBe(false);
  expect(cells).toMatchObject([
    { place: 'lead', one: null, parts: null },
    { place: 'scout', other: null, parts: null },
  ]);
});

/** Keeps the first `kept` frames of a run, records the amendment, and continues with the frames of another run. */
const forkOf = (kept: readonly Frame[], amendment: Amendment, rest: readonly Frame[]): readonly Frame[] => {
  const { run } = kept[0]!;
  const from = { run, frames: kept.length, hash: 'ab'.repeat(32) as Hash, at: `${lead}/0`, forkedAt: 5_000 };
  const fork: FrameRecord = { type: 'fork', from, amendment };
  const marker = { ...kept.at(-1)!, record: fork, links: [], contents: [] };
  return [...kept, marker, ...rest].map((frame, no) => ({ ...frame, run: 'run-fork' as RunId, no }));
};

test('the diff of a run and its fork names what was changed, and how much was kept', () =>
  fc.assert(
    fc.asyncProperty(plan, fc.nat(), fc.constantFrom('other/model', undefined), async (one, cut, model) => {
      const frames = record(one, first);
      const frameCount = 1 + (cut % (frames.length - 1));
      const amendment: Amendment = { agent: 'lead', ...(model === undefined ? {} : { model }), goal: 'Do less.' };
      const fork = forkOf(frames.slice(0, frameCount), amendment, []);
      const diff = await diffRuns(frames, fork);
      expect(diff).toMatchObject({
        same: false,
        sameFrames: frameCount,
        fork: { run: 'run-fork', amendment, from: { run: 'run-1' } },
      });
      expect((await diffRuns(fork, frames)).fork).toEqual(diff.fork);
    }),
  ));

test('a fork that behaves as before is equal', async () => {
  const { frames } = goodRun();
  const fork = forkOf(frames.slice(0, 5), { agent: 'lead' }, frames.slice(5));
  expect(await diffRuns(frames, fork)).toMatchObject({
    same: true,
    sameFrames: 5,
    fork: { amendment: { agent: 'lead' } },
  });
});

test('a fork of a fork is described by its newest change', async () => {
  const { frames } = goodRun();
  const once = forkOf(frames.slice(0, 5), { agent: 'lead', model: 'a/b' }, []);
  const twice = forkOf(once, { agent: 'lead', model: 'c/d' }, []).map((frame) => ({ ...frame, run: 'run-2' as RunId }));
  expect((await diffRuns(once, twice)).fork).toMatchObject({ run: 'run-2', amendment: { model: 'c/d' } });
  expect((await diffRuns(frames, twice)).fork).toMatchObject({ amendment: { model: 'a/b' } });
});

test('refusals are reported with their reason, with spending and models of both sides', async () => {
  const { frames } = goodRun();
  const { cells } = await diffRuns(frames, frames.slice(0, 12));
  expect(cells[0]!.one).toMatchObject({
    cell: lead,
    status: 'completed',
    models: ['rehearsal/small'],
    spent: { inputTokens: 620, outputTokens: 120, uncertain: 5_000 },
  });
  expect(cells[0]!.one!.crossings).toEqual([
    'goal from outside',
    'goal to researcher #1',
    'goal to nobody refused: no-grant',
    'result from researcher #1',
    'result to outside',
  ]);
  expect(cells[0]!.other).toMatchObject({ cell: lead, status: null, output: '' });
});

const changed = (frames: readonly Frame[], cell: CellId, change: (frame: any) => void): readonly Frame[] =>
  frames.map((frame) => {
    const copy = structuredClone(frame);
    if (frame.cell === cell) change(copy);
    return copy;
  });

const divergences: readonly (readonly [what: string, change: (frame: any) => void, words: RegExp])[] = [
  [
    'a different prompt',
    (frame) => frame.attempt?.turn === 2 && (frame.attempt.prompt = 'c'.repeat(64)),
    /^prompt sha256 cccccccccccc…: model rehearsal\/small: DuckDB is columnar\.$/u,
  ],
  [
    'a different reply',
    (frame) => frame.record.value?.parts?.[0]?.text && (frame.record.value.parts[0].text = 'No idea.'),
    /^model rehearsal\/small: No idea\.$/u,
  ],
  [
    'different arguments',
    (frame) => frame.record.about?.args && (frame.record.about.args = '{"query":"SQLite"}'),
    /^tool search \{"query":"SQLite"\}: DuckDB, “line by line”/u,
  ],
  [
    'a failure',
    (frame) => {
      if (frame.record.value?.output === undefined) return;
      frame.record.ok = false;
      frame.record.failure = { code: 'tool_failed', detail: 'no route' };
    },
    /^tool search \{"query":"DuckDB"\}, failed: tool_failed \(no route\)$/u,
  ],
  [
    'a different failure',
    (frame) => {
      if (frame.record.value?.output === undefined) return;
      frame.record.failure = { code: 'tool_timeout' };
    },
    /"code":"tool_timeout"/u,
  ],
  [
    'a different token usage',
    (frame) => frame.record.value?.usage && (frame.record.value.usage.inputTokens = 7),
    /"inputTokens":7/u,
  ],
];

test.each(divergences)('%s is where two cells diverge', async (_what, change, words) => {
  const { frames } = goodRun();
  const { cells } = await diffRuns(frames, changed(frames, researcher, change));
  const parts = cells[1]!.parts!;
  expect(parts.other).toMatch(words);
  expect(parts.one).not.toBe(parts.other);
  expect(cells[0]!.same).toBe(true);
});

test('the point where long texts diverge is shown, however far in it is', async () => {
  const found = (text: string): Plan => ({
    agent: 'lead',
    answer: '',
    turns: [{ says: '', tools: [{ tool: 'search', args: 'x', result: text }], children: [] }],
  });
  const same = 'word '.repeat(10_000);
  const { cells } = await diffRuns(record(found(`${same}one`), first), record(found(`${same}other`), second));
  expect(cells[0]!.parts).toMatchObject({
    op: 1,
    one: expect.stringMatching(/^tool search x: word .* … .*one$/u),
    other: expect.stringMatching(/other$/u),
  });
  expect(cells[0]!.parts!.one.length).toBeLessThan(400);
});

/** Also values that look like a reply or a tool's answer, and are neither. */
const anyValue = fc.oneof(
  fc.jsonValue(),
  fc.record({ parts: fc.oneof(fc.jsonValue(), fc.array(fc.oneof(fc.jsonValue(), fc.constant({ type: 'call' })))) }),
  fc.record({ text: fc.jsonValue() }),
);

// invariant: diff-reads-frames-only
test('handles any log: cut, duplicated, shuffled or mixed from two runs', () =>
  fc.assert(
    fc.asyncProperty(
      plan,
      fc.array(fc.nat(), { maxLength: 60 }),
      fc.array(fc.nat(), { maxLength: 60 }),
      async (one, picks, otherPicks) => {
        const frames = [...record(one, first), ...good];
        const pick = (index: number): Frame => frames[index % frames.length]!;
        const [odd, other] = [picks.map(pick), otherPicks.map(pick)];
        expect((await diffRuns(other, odd)).cells).toEqual(mirrored(await diffRuns(odd, other)).cells);
        expect(await diffRuns(odd, odd)).toMatchObject({ same: true, sameFrames: odd.length });
      },
    ),
  ));

test('handles any value: whatever an operation settled with is reported as it is', () =>
  fc.assert(
    fc.asyncProperty(fc.nat(), anyValue, async (index, value) => {
      const settles = good.filter(({ record: { type } }) => type === 'settle');
      const { no } = settles[index % settles.length]!;
      const odd = good.map((frame) =>
        frame.no === no ? ({ ...frame, record: { ...frame.record, value } } as Frame) : frame,
      );
      expect((await diffRuns(odd, good)).cells).toEqual(mirrored(await diffRuns(good, odd)).cells);
      expect(await diffRuns(odd, odd)).toMatchObject({ same: true });
    }),
    { numRuns: 300 },
  ));
