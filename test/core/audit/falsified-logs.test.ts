// Logs in which every hash is right and something else is wrong, as a defect of the writer would leave them.
import { expect, test } from 'vitest';
import { recordFormats } from '#base';
import type { CellId } from '#base';
import type { CrossingKind, CrossingEnd, Outcome } from '#contracts';
import { auditRun } from '#core/audit';
import {
  FrameWriter,
  birthOf,
  cacheTokens,
  definitions,
  envelopeText,
  fromDefinition,
  fromGoal,
  outcomeOf,
  usage,
  user,
} from './frames.ts';
import type { ShownSegment } from './frames.ts';

const root = 'lead-aaaaaaaaaaaa' as CellId;
const one = 'researcher-111111111111' as CellId;
const two = 'researcher-222222222222' as CellId;
const goal = 'Compare.';

type Falsification = {
  /** Runs after the creation of two children and before the root's only prompt. */
  readonly before?: (log: FrameWriter) => void;
  readonly shown?: readonly ShownSegment[];
  /** Runs after the prompt was shown. */
  readonly after?: (log: FrameWriter) => void;
  readonly outcome?: Partial<Outcome>;
};

/** With this maximum, its first attempt holds 5,000 tokens. */
const leading = { ...definitions.lead, limits: { maxOutputTokens: 4_099 } };

const auditFalsified = async ({ before, shown = [], after, outcome: changed }: Falsification) => {
  const log = new FrameWriter();
  log.open(birthOf(root, null, leading, { tokens: 9_000, spawns: 2 }), leading, goal);
  const children = [one, two].map((cell) => {
    log.cross('goal', [root, cell], 'Find out.');
    const birth = birthOf(cell, root, definitions.child, {});
    const extras = { definitions: [{ digest: birth.digest, definition: definitions.child }] };
    return [cell, log.begin(root, { do: 'child', name: 'agent:researcher', birth }, extras)] as const;
  });
  before?.(log);
  const asked = log.attempt(root, 1, [{ add: [...fromDefinition(leading), fromGoal(goal), ...shown] }]);
  log.reply(root, asked, [{ type: 'text', text: 'Done.' }], usage(100, 10));
  after?.(log);
  const failed: Outcome = { ...outcomeOf('', {}), status: 'cancelled' };
  for (const [cell, op] of children) {
    const seq = log.cross('result', [cell, root], envelopeText(failed));
    log.settle(root, op, { ok: true, value: { crossing: seq }, ended: { cell, outcome: failed } });
  }
  const spent = { inputTokens: 100, ...cacheTokens(1), outputTokens: 10, usd: 0.0001, spawns: 2 };
  const outcome = { ...outcomeOf('Done.', spent), ...changed };
  log.cross('result', [root, 'outside'], envelopeText(outcome));
  log.write(root, { type: 'close', outcome });
  return auditRun(log.frames, { readBlob: log.blob, damaged: [] });
};

const segmentFromCrossing = (seq: number, text: string): ShownSegment => ({
  origin: { rule: 'goal@1', of: [{ from: 'crossing', seq }] },
  category: 'DIALOG',
  part: user(`Your task: ${text}`),
});
const asleep = { ok: true, value: null } as const;
const sleep = (log: FrameWriter): number => log.begin(root, { do: 'sleep', name: 'sleep', until: 1_000_900 });
const crossing =
  (kind: CrossingKind, ends: readonly [CrossingEnd, CrossingEnd], content: string) => (log: FrameWriter) => {
    log.cross(kind, ends, content);
    log.settle(root, sleep(log), asleep);
  };

test('without a falsification the run is correct', async () => {
  expect((await auditFalsified({})).problems).toEqual([]);
});

const falsifications: readonly (readonly [title: string, code: string, lie: Falsification])[] = [
  ['siblings cross to each other', 'crossing-grant', { before: crossing('message', [one, two], 'psst') }],
  [
    'a kind crosses that no default grant allows',
    'crossing-grant',
    { before: crossing('share', [root, one], 'my notes') },
  ],
  [
    'a cell other than the root sends to the outside',
    'crossing-ends',
    { before: crossing('result', [one, 'outside'], 'hello') },
  ],
  [
    'a second goal crosses while a cell is running',
    'crossing-ends',
    { before: crossing('goal', [root, one], 'And more.') },
  ],
  ['a result crosses before its cell ends', 'crossing-ends', { before: crossing('result', [one, root], '{}') }],
  [
    'a prompt shows different text than its origin has',
    'prompt-part',
    { shown: [segmentFromCrossing(0, 'Something longer.')] },
  ],
  ['a prompt shows different text of the same length', 'prompt-hash', { shown: [segmentFromCrossing(0, 'compare.')] }],
  ['a prompt shows content that only left the cell', 'prompt-source', { shown: [segmentFromCrossing(1, 'Find out.')] }],
  [
    'a prompt shows an operation that had not settled',
    'prompt-source',
    {
      before: sleep,
      shown: [{ origin: { rule: 'repair@1', of: [{ from: 'operation', no: 2 }] }, category: 'DIALOG', part: user('') }],
      after: (log) => log.settle(root, 2, asleep),
    },
  ],
  [
    'a prompt shows a segment of itself',
    'prompt-source',
    {
      shown: [{ origin: { rule: 'compact@1', of: [{ from: 'segment', id: 4 }] }, category: 'DIALOG', part: user('') }],
    },
  ],
  [
    'a rule has sources it does not accept',
    'prompt-source',
    {
      shown: [{ origin: { rule: 'reply@1', of: [{ from: 'crossing', seq: 0 }] }, category: 'DIALOG', part: user('') }],
    },
  ],
  ['an answer is not the model’s reply', 'outcome-answer', { outcome: { output: 'Finished.' } }],
  [
    'a limit that was not reached is named',
    'outcome-limit',
    { outcome: { status: 'limit', failure: { code: 'agent_limit', limit: 'timeout_ms' } } },
  ],
  [
    'the limit that ended a cell has no name',
    'outcome-limit',
    { outcome: { status: 'limit', failure: { code: 'agent_limit' } } },
  ],
  ['the data differ from the output', 'outcome-envelope', { outcome: { output: '{"a":1}', data: { a: 2 } } }],
  [
    'a child is created above the cap',
    'cap-exceeded',
    {
      before: (log) => {
        log.cross('goal', [root, 'x-333333333333' as CellId], 'Go.');
        const birth = birthOf('x-333333333333' as CellId, root, definitions.child, {});
        log.settle(root, log.begin(root, { do: 'child', name: 'agent:x', birth }), {
          ok: false,
          failure: { code: 'cancelled' },
        });
      },
    },
  ],
  [
    'a child may start agents at deeper levels than its parent',
    'limit-widened',
    {
      before: (log) => {
        const deep = { ...definitions.child, depth: 9 };
        log.cross('goal', [root, 'x-333333333333' as CellId], 'Go.');
        const birth = birthOf('x-333333333333' as CellId, root, deep, {});
        const extras = { definitions: [{ digest: birth.digest, definition: deep }] };
        log.begin(root, { do: 'child', name: 'agent:x', birth }, extras);
      },
    },
  ],
];

test('an agent with more than its parent may pass on is reported, if it was spawned', async () => {
  const limited = { ...definitions.lead, limits: { max_steps: 4, timeout_ms: 9_000 } };
  const child = 'x-333333333333' as CellId;
  const codesFor = async (more: object, limits: object) => {
    const log = new FrameWriter();
    log.open(birthOf(root, null, limited, {}), limited, goal);
    log.cross('goal', [root, child], 'Go.');
    const definition = { ...definitions.child, limits };
    const birth = { ...birthOf(child, root, definition, {}), ...more };
    const extras = { definitions: [{ digest: birth.digest, definition }] };
    log.begin(root, { do: 'child', name: 'agent:x', birth }, extras);
    const { problems } = await auditRun(log.frames, { readBlob: log.blob, damaged: [] });
    return problems.flatMap(({ code, message }) => (code === 'limit-widened' ? [message] : []));
  };
  const spawned = { spawned: { name: 'x', workflow: null, topics: [] } };
  expect(await codesFor(spawned, {})).toEqual(['it has more max_steps, timeout_ms than its parent may pass on']);
  expect(await codesFor(spawned, { max_steps: 4, timeout_ms: 8_000 })).toEqual([]);
  expect(await codesFor({}, {})).toEqual([]);
});

// invariants: audit-sources-own-records, audit-derives-grants, audit-reads-in-order
test.each(falsifications)('%s: %s', async (_title, code, lie) => {
  const { ok, problems, unattributedBytes } = await auditFalsified(lie);
  expect(ok).toBe(false);
  expect(problems.map((problem) => problem.code)).toContain(code);
  expect(unattributedBytes > 0).toBe(code.startsWith('prompt-'));
});

test('a run whose goal was refused reports that and is correct', async () => {
  const log = new FrameWriter();
  log.cross('goal', ['outside', root], goal, true);
  const birth = birthOf(root, null, leading, {});
  const extras = { definitions: [{ digest: birth.digest, definition: leading }] };
  log.write(root, { type: 'open', recordedBy: { format: recordFormats.newest, build: 'test' }, birth }, extras);
  const outcome: Outcome = { ...outcomeOf('', {}), status: 'failed' };
  log.cross('result', [root, 'outside'], envelopeText(outcome));
  log.write(root, { type: 'close', outcome });
  const report = await auditRun(log.frames, { readBlob: log.blob, damaged: [] });
  expect(report).toMatchObject({ ok: true, crossings: 1, refused: 1, problems: [] });
});

test('a refused result leaves no content and is counted as refused', async () => {
  const log = new FrameWriter();
  log.open(birthOf(root, null, leading, {}), leading, goal);
  const outcome: Outcome = { ...outcomeOf('', {}), status: 'failed', failure: { code: 'model_missing' } };
  log.cross('result', [root, 'outside'], 'secret', true);
  log.write(root, { type: 'close', outcome });
  const report = await auditRun(log.frames, { readBlob: log.blob, damaged: [] });
  expect(report).toMatchObject({ ok: true, crossings: 1, refused: 1, problems: [] });
});

test('a hold that was refused or had to wait exceeds no cap', async () => {
  const log = new FrameWriter();
  log.open(birthOf(root, null, leading, { tokens: 5_100 }), leading, goal);
  const asked = log.attempt(root, 1, [{ add: [...fromDefinition(leading), fromGoal(goal)] }]);
  log.reply(root, asked, [{ type: 'text', text: 'Done, nearly.' }], usage(100, 10));
  const refused = log.attempt(root, 2, [], { waits: true });
  log.settle(root, refused, { ok: false, failure: { code: 'budget_refused' } });
  const outcome: Outcome = {
    ...outcomeOf('Done, nearly.', { inputTokens: 100, ...cacheTokens(1), outputTokens: 10, usd: 0.0001 }),
    status: 'budget',
  };
  log.cross('result', [root, 'outside'], envelopeText(outcome));
  log.write(root, { type: 'close', outcome });
  expect((await auditRun(log.frames, { readBlob: log.blob, damaged: [] })).problems).toEqual([]);
});

// invariant: audit-holds-within-caps
test.each([
  [10_000, []],
  [9_999, ['cap-exceeded']],
])('an attempt that is repeated after a crash needs its hold twice: with %i tokens', async (tokens, codes) => {
  const log = new FrameWriter();
  log.open(birthOf(root, null, leading, { tokens }), leading, goal);
  const asked = log.attempt(root, 1, [{ add: [...fromDefinition(leading), fromGoal(goal)] }]);
  log.write(root, { type: 'again', op: asked, uncertain: { tokens: 5_000, nanoUsd: 9_000_000 } });
  log.write(root, { type: 'held', op: asked });
  log.reply(root, asked, [{ type: 'text', text: 'Done.' }], usage(100, 10));
  const spent = { inputTokens: 100, ...cacheTokens(1), outputTokens: 10, usd: 0.0001, uncertain: 5_000 };
  const outcome = outcomeOf('Done.', spent);
  log.cross('result', [root, 'outside'], envelopeText(outcome));
  log.write(root, { type: 'close', outcome });
  expect((await auditRun(log.frames, { readBlob: log.blob, damaged: [] })).problems.map(({ code }) => code)).toEqual(
    codes,
  );
});

test('the audit of a session of 2,000 turns finds no problem', async () => {
  const log = new FrameWriter();
  log.open(birthOf(root, null, leading, {}), leading, goal);
  for (let turn = 1; turn <= 2_000; turn++) {
    const asked = log.attempt(root, turn, [
      { add: turn === 1 ? [...fromDefinition(leading), fromGoal(goal)] : [segmentFromCrossing(0, goal)] },
    ]);
    log.reply(root, asked, [{ type: 'text', text: 'More.' }], usage(1, 1));
  }
  const audit = await auditRun(log.frames, { readBlob: log.blob, damaged: [] });
  expect(audit).toMatchObject({ problems: [], prompts: 2_000 });
});
