import { expect, test } from 'vitest';
import { auditRun } from '#core/audit';
import type { Frame } from '#contracts';
import { goodRun, lead, researcher, reviewer } from './frames.ts';

const { frames: good, blob, blobs } = goodRun();

const audit = (frames: readonly Frame[], damaged: readonly string[] = []) =>
  auditRun(frames, { readBlob: blob, damaged });

test('a correct run has no problems, and the audit reports what it checked', async () => {
  const report = await audit(good);
  expect(report.problems).toEqual([]);
  const attempts = good.flatMap(({ attempt }) => attempt ?? []);
  expect(report).toMatchObject({
    run: good[0]!.run,
    ok: true,
    crossings: 4,
    refused: 1,
    prompts: 5,
    promptBytes: attempts.reduce((sum, { bytes }) => sum + bytes, 0),
    unattributedBytes: 0,
    cells: 2,
  });
});

// invariant: audit-reads-in-order
test('every prefix of a correct run is correct, so a run can be audited while it is running', async () => {
  for (let length = 1; length < good.length; length++)
    expect(await audit(good.slice(0, length))).toMatchObject({ ok: true, problems: [] });
});

test('a refused goal may appear in its parent’s ledger only', async () => {
  const frames = good.map((frame) =>
    frame.links === undefined ? frame : { ...frame, links: frame.links.filter(({ cell }) => cell !== reviewer) },
  );
  expect(await audit(frames)).toMatchObject({ ok: true, refused: 1 });
});

/** Positions of the frames that the cases change most. */
const at = { failed: 1, childBegin: 7, toolBegin: 8, searchSettle: 13, close: 19 } as const;

/** Frames as plain JSON that a case can change. */
type Mutable = any;
type Tampering = readonly [title: string, code: string, words: string, change: (frames: Mutable[]) => void];

const entryOf = (frames: Mutable[], no: number, cell: string): Mutable =>
  frames[no].links.find((link: Mutable) => link.cell === cell).entries[0];

const tamperings: readonly Tampering[] = [
  ['a frame is deleted', 'frame-number', 'frame 9', (frames) => frames.splice(at.toolBegin, 1)],
  ['a frame is written twice', 'frame-number', 'frame 9', (frames) => frames.splice(10, 0, frames[9])],
  ['two frames are swapped', 'frame-number', 'frame 9', (frames) => frames.splice(8, 2, frames[9], frames[8])],
  ['the first frame is cut off', 'run-start', 'frame 1', (frames) => frames.shift()],
  ['a frame is of another run', 'frame-run', 'frame 5', (frames) => (frames[5].run = 'run-eeeeeeeeeeee')],
  ['a record has an unknown type', 'frame-unreadable', 'frame 4', (frames) => (frames[4].record.type = 'setttle')],
  ['a record is emptied', 'frame-unreadable', 'frame 4', (frames) => (frames[4].record = null)],
  [
    'a prompt in a definition is changed',
    'definition-digest',
    'frame 0',
    (frames) => (frames[0].definitions[0].definition.prompt += '!'),
  ],
  ['a definition is removed', 'definition-missing', 'frame 7', (frames) => delete frames[7].definitions],
  [
    'a cell gets another definition',
    'definition-missing',
    'frame 7',
    (frames) => (frames[7].record.birth.digest = 'f'.repeat(64)),
  ],
  [
    'an operation moves to another cell',
    'operation-number',
    `frame 8, cell ${researcher}`,
    (frames) => (frames[8].cell = researcher),
  ],
  [
    'an operation moves to a cell that never existed',
    'cell-unknown',
    `frame 8, cell ${reviewer}`,
    (frames) => (frames[8].cell = reviewer),
  ],
  ['an operation is renumbered', 'operation-number', 'operation 9', (frames) => (frames[8].record.op = 9)],
  ['a settlement names no operation', 'operation-unknown', 'operation 7', (frames) => (frames[9].record.op = 7)],
  ['an operation settles twice', 'operation-twice', 'operation 0', (frames) => (frames[4].record.op = 0)],
  [
    'an operation is left open',
    'cell-ended',
    `cell ${researcher}, operation 1`,
    (frames) => (frames[at.searchSettle].record = { type: 'cancel' }),
  ],
  ['a child’s parent is changed', 'cell-birth', researcher, (frames) => (frames[7].record.birth.parent = researcher)],
  ['a child’s depth is changed', 'cell-birth', researcher, (frames) => (frames[7].record.birth.depth = 2)],
  ['a child’s id was not drawn', 'cell-birth', researcher, (frames) => (frames[7].ids = [reviewer])],
  ['a child’s cap is raised', 'cap-widened', researcher, (frames) => (frames[7].record.birth.caps.tokens = 99_000)],
  ['a model attempt loses its prompt', 'operation-record', 'frame 5', (frames) => delete frames[5].attempt],
  ['a model is renamed', 'operation-record', 'frame 5', (frames) => (frames[5].record.name = 'model:rehearsal/large')],
  ['a tool is renamed', 'operation-record', 'frame 8', (frames) => (frames[8].record.name = 'tool:click')],
  ['a chain’s link is removed', 'chain-previous', `frame 8, cell ${lead}`, (frames) => delete frames[7].links],
  ['a link’s hash is changed', 'chain-hash', 'frame 0', (frames) => (frames[0].links[0].hash = 'f'.repeat(64))],
  ['a granted entry becomes a refusal', 'chain-hash', 'frame 7', (f) => (entryOf(f, 7, lead).verdict = 'no-grant')],
  ['an entry’s time is changed', 'chain-hash', 'frame 16', (frames) => entryOf(frames, 16, lead).at++],
  ['an entry is renumbered', 'chain-seq', 'frame 16', (frames) => (entryOf(frames, 16, lead).seq = 5)],
  ['an entry’s tokens are changed', 'entry-size', 'frame 0', (frames) => entryOf(frames, 0, lead).tokens++],
  ['a goal is changed', 'content-changed', researcher, (frames) => (frames[7].contents[0].content += ' Now.')],
  ['a goal’s content is removed', 'content-missing', researcher, (frames) => delete frames[7].contents],
  ['a result’s content occurs twice', 'content-missing', lead, (f) => f[16].contents.push(f[16].contents[0])],
  ['a content gets a label', 'content-entry', 'frame 16', (frames) => frames[16].contents[0].labels.push('secret')],
  ['a content gets another sender', 'content-entry', 'frame 16', (f) => (f[16].contents[0].from = reviewer)],
  [
    'the receiver’s half of a crossing is removed',
    'crossing-unmatched',
    'frame 16',
    (frames) => (frames[16].links = frames[16].links.filter((link: Mutable) => link.cell !== lead)),
  ],
  ['an entry names another grant', 'crossing-grant', 'frame 7', (f) => (entryOf(f, 7, researcher).grant = 'all')],
  ['an entry names another cell', 'crossing-ends', 'frame 16', (f) => (entryOf(f, 16, lead).other = reviewer)],
  ['a cell is created without a goal', 'goal-missing', researcher, (frames) => delete frames[7].links],
  [
    'a prompt names an operation that has not settled',
    'prompt-source',
    'frame 14',
    (frames) => (frames[14].attempt.changes[0].add[1].origin.of[1].no = 2),
  ],
  [
    'a prompt names an entry that is not in the ledger',
    'prompt-source',
    'frame 17',
    (frames) => (frames[17].attempt.changes[0].add[1].origin.of[2].seq = 9),
  ],
  [
    'a prompt names the definition of another cell',
    'prompt-source',
    'frame 10',
    (frames) => (frames[10].attempt.changes[0].add[0].origin.of[0].digest = frames[0].definitions[0].digest),
  ],
  ['a rule is renamed', 'prompt-source', 'frame 14', (f) => (f[14].attempt.changes[1].by.origin.rule = 'compact@2')],
  ['a tool result is changed', 'prompt-hash', 'frame 17', (frames) => (frames[9].record.value.text = 'moon')],
  ['a tool result is shortened', 'prompt-part', 'frame 17', (frames) => (frames[9].record.value.text = 'noo')],
  ['a reply is changed', 'prompt-hash', 'frame 17', (f) => (f[6].record.value.parts[1].id = 'call-9')],
  ['a prompt’s hash is changed', 'prompt-hash', 'frame 5', (f) => (f[5].attempt.prompt = 'f'.repeat(64))],
  ['a segment loses its position', 'prompt-view', 'frame 17', (f) => (f[17].attempt.changes[0].add[0].id = 9)],
  ['a segment is dropped that is not there', 'prompt-view', 'frame 14', (f) => (f[14].attempt.changes[2].drop[1] = 4)],
  ['a prompt’s size is changed', 'prompt-bytes', 'frame 17', (frames) => frames[17].attempt.bytes++],
  ['an attempt belongs to another turn', 'prompt-turn', 'frame 17', (frames) => frames[17].attempt.turn++],
  [
    'a result is shown as another tool’s',
    'prompt-call',
    'frame 17',
    (frames) => (frames[7].record.name = 'agent:reviewer'),
  ],
  ['an output’s address is changed', 'output-missing', researcher, (f) => (f[13].record.value.output.ref = 'f')],
  ['an output’s size is changed', 'output-changed', 'operation 1', (f) => f[13].record.value.output.bytes++],
  ['an output’s name is changed', 'output-preview', 'operation 1', (f) => (f[13].record.value.output.name = 'x')],
  ['a cap was too small', 'cap-exceeded', 'frame 1,', (frames) => (frames[0].record.birth.caps.tokens = 4_000)],
  ['a cap on children was too small', 'cap-exceeded', 'frame 7', (f) => (f[0].record.birth.caps.spawns = 0)],
  ['a cost was above its hold', 'overdraft', 'frame 11', (frames) => (frames[10].record.hold.tokens = 100)],
  ['an uncertain amount was above its hold', 'uncertain-amount', 'frame 2', (f) => (f[1].record.hold.tokens = 4_999)],
  ['a cost is not the usage', 'cost-usage', 'frame 6', (f) => f[6].record.cost.usage.cacheReadTokens++],
  [
    'a reply that broke off counts as nothing',
    'cost-usage',
    'frame 2',
    (f) =>
      Object.assign(f[2].record, {
        failure: { code: 'model_cut' },
        uncertain: undefined,
        cost: { usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }, nanoUsd: 0 },
      }),
  ],
  ['a cost is removed', 'outcome-spent', `frame 19, cell ${lead}`, (frames) => delete frames[6].record.cost],
  ['a price is changed', 'outcome-spent', researcher, (frames) => frames[15].record.cost.nanoUsd++],
  ['an outcome’s time is changed', 'outcome-spent', lead, (f) => (f[19].record.outcome.spent.ms = 1e9)],
  ['an outcome’s figures are changed', 'outcome-spent', lead, (f) => f[19].record.outcome.spent.inputTokens--],
  ['an outcome’s status is changed', 'outcome-envelope', lead, (f) => (f[19].record.outcome.status = 'partial')],
  ['an outcome’s output is changed', 'outcome-envelope', lead, (f) => (f[19].record.outcome.output += '.')],
  ['the last answer is changed', 'outcome-answer', lead, (f) => (f[18].record.value.parts[0].text = 'None.')],
  ['a child’s value names another entry', 'operation-record', 'frame 16', (f) => (f[16].record.value.crossing = 1)],
  ['another cell ends', 'cell-ended', 'frame 16', (f) => (f[16].record.ended.cell = lead)],
  [
    'a cell ends twice',
    'cell-ended',
    'has already ended',
    (f) => f.push({ ...f[16], no: 20, links: undefined, contents: undefined }),
  ],
  [
    'a child ends without its outcome',
    'cell-ended',
    'not the one this operation started',
    (f) => delete f[16].record.ended,
  ],
  ['a cell continues after its end', 'cell-ended', 'ended before this operation', (f) => f.push({ ...f[8], no: 20 })],
  ['the root leaves an operation open', 'cell-ended', 'operation 4', (f) => (f[9].record = { type: 'cancel' })],
  ['the run is opened twice', 'run-start', 'already open', (frames) => frames.push({ ...frames[0], no: 20 })],
  ['the run ends twice', 'run-end', 'already ended', (frames) => frames.push({ ...frames[19], no: 20 })],
  [
    'the run opens in another cell',
    'cell-birth',
    'does not open in the cell',
    (frames) => (frames[0].cell = researcher),
  ],
  ['a cell is created twice', 'cell-birth', 'already exists', (f) => (f[8].record.birth = f[7].record.birth)],
  [
    'a tool creates a cell',
    'operation-record',
    'not a child operation',
    (f) => (f[8].record.birth = f[7].record.birth),
  ],
  ['an attempt may not be repeated', 'operation-record', 'always repeatable', (f) => (f[5].record.repeat = 'never')],
  [
    'a settlement contains an attempt',
    'operation-record',
    'without a begin record',
    (f) => (f[6].attempt = f[5].attempt),
  ],
  ['a failure is not in the catalogue', 'operation-record', 'catalogue', (f) => (f[2].record.failure.code = 'oops')],
  ['a sleep has a value', 'operation-record', 'a sleep has no value', (frames) => (frames[4].record.value = 1)],
  [
    'a repeated operation had already ended',
    'operation-unknown',
    'was not in flight',
    (frames) => (frames[4].record = { type: 'again', op: 0, uncertain: {} }),
  ],
  [
    'a cell that was never created has a ledger',
    'cell-unknown',
    'does not exist',
    (f) => (entryOf(f, 8, reviewer).kind = 'note'),
  ],
  ['a content has no entry', 'content-entry', 'without a ledger entry', (f) => (f[16].contents[0].seq = 9)],
  ['the run ends in another cell', 'run-end', 'frame 19', (frames) => (frames[19].cell = researcher)],
];

// invariants: audit-never-throws, audit-records-judge-nothing, audit-sources-own-records, audit-holds-within-caps
test.each(tamperings)('%s: %s', async (_title, code, words, change) => {
  const frames = JSON.parse(JSON.stringify(good)) as Mutable[];
  change(frames);
  const { ok, problems } = await audit(frames);
  expect(ok).toBe(false);
  const named = problems.filter((problem) => problem.code === code);
  expect(named.map(({ where, message }) => `${where}: ${message}`).join('\n')).toContain(words);
});

test('the named positions are those of the expected frames', () => {
  expect(good.map(({ record }) => record.type)).toHaveLength(at.close + 1);
  expect(good[at.close]!.record.type).toBe('close');
  expect(good[at.childBegin]!.record).toMatchObject({ do: 'child' });
});

test('a record that the store could not read is reported as a problem', async () => {
  const { ok, problems } = await audit(good, ['frame 3 of run-dddddddddddd']);
  expect(ok).toBe(false);
  expect(problems).toEqual([expect.objectContaining({ code: 'record-damaged', where: 'frame 3 of run-dddddddddddd' })]);
});

test('an output that was changed in the store is detected', async () => {
  const changed = async (ref: string) => Buffer.from(`${Buffer.from(blobs.get(ref)!).toString()}!`);
  const { problems } = await auditRun(good, { readBlob: changed, damaged: [] });
  expect(problems.map(({ code }) => code)).toEqual(['output-changed', 'output-preview']);
});

// invariant: audit-guesses-nothing
test('bytes without an origin are counted in every prompt that showed them', async () => {
  const frames = JSON.parse(JSON.stringify(good)) as Mutable[];
  const goalSegment = frames[at.failed].attempt.changes[0].add.at(-1);
  goalSegment.origin.of[0].seq = 7;
  const { unattributedBytes } = await audit(frames);
  expect(unattributedBytes).toBe(3 * goalSegment.bytes);
});

test('an empty list of frames is not a run', async () => {
  expect(await audit([])).toMatchObject({ ok: false, problems: [{ code: 'run-start' }] });
});
