// Logs of runs that asked people, changed in one place: the audit refuses every one of them.
import { beforeAll, expect, test } from 'vitest';
import type { ToolDefinition } from '#contracts';
import { argumentsHash } from '#core/events';
import { agent, call, calls, lines } from '../session/driver.ts';
import { problemsIn, runAnswering, startAsking, withMarks } from './driver.ts';
import type { AskFrame } from './driver.ts';

/** An untyped copy, so that tests can change anything. */
type Loose = any;

const send: ToolDefinition = {
  name: 'send',
  description: 'Sends.',
  inputSchema: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
  approve: true,
  execute: () => 'sent',
};

const root = (mark: object) =>
  withMarks(agent('lead', { tools: [send], limits: { questionTimeout: 3_600_000 } }), { send: mark });

const says = lines({
  lead: [
    call('send', { q: 'allow' }),
    calls({ tool: 'send', args: { q: 'deny' } }, { tool: 'send', args: { q: 'edit' } }),
    call('send', { q: 'remember' }),
    call('send', { q: 'remember' }),
    call('send', { q: 'expire' }),
    'Done.',
  ],
});

const decide = ({ record: { question } }: AskFrame) => {
  switch (question.args['q']) {
    case 'deny':
      return { allow: false, reason: 'Not now.' };
    case 'edit':
      return { args: { q: 'edited' } };
    case 'remember':
      return { remember: 'run' as const };
    case 'expire':
      return null;
    default:
      return {};
  }
};

let plain: readonly Loose[];
let quorum: readonly Loose[];

beforeAll(async () => {
  plain = (await runAnswering(root({}), { says, caller: 'ann' }, decide)).frames;
  const two = startAsking(root({ by: ['ann', 'ben', 'cat'], need: 2, not: 'asker' }), {
    says: lines({ lead: [call('send', { q: 'allow' }), 'Done.'] }),
    caller: 'cat',
  });
  await two.settle();
  const [asked] = two.open() as readonly [AskFrame];
  for (const by of ['ann', 'ben']) await two.answer(asked, { by, right: 'named' });
  await two.end();
  quorum = two.frames;
});

const asking = (frames: Loose[], q: string): Loose => frames.find(({ record }) => record.question?.args.q === q);
const rulingOf = (frames: Loose[], q: string): Loose =>
  frames.find(({ record }) => record.type === 'ruling' && record.op === asking(frames, q).record.op);
const endOf = (frames: Loose[], q: string): Loose =>
  frames.find(({ record }) => record.type === 'settle' && record.op === asking(frames, q).record.op);
const stepOf = (frames: Loose[], q: string): Loose =>
  frames.find(({ record }) => record.type === 'begin' && record.about?.ask === asking(frames, q).record.op);
const stepEndOf = (frames: Loose[], q: string): Loose =>
  frames.find(({ record }) => record.type === 'settle' && record.op === stepOf(frames, q).record.op);
/** What came after it moves up. */
const without = (frames: Loose[], gone: Loose): void => {
  frames.splice(frames.indexOf(gone), 1);
  frames.forEach((frame, no) => (frame.no = no));
};
const move = (frames: Loose[], one: Loose, after: Loose): void => {
  without(frames, one);
  frames.splice(frames.indexOf(after) + 1, 0, one);
  frames.forEach((frame, no) => (frame.no = no));
};

type Change = readonly [what: string, change: (frames: Loose[]) => void, code: string];

const changes: readonly Change[] = [
  ['a ruling is missing', (all) => without(all, rulingOf(all, 'allow')), 'question-ruling'],
  ['a ruling that denied is missing', (all) => without(all, rulingOf(all, 'deny')), 'question-ruling'],
  ['a ruling is by somebody else', (all) => (rulingOf(all, 'allow').record.by = 'eve'), 'question-ruling'],
  [
    'a ruling claims that the rule names its sender',
    (all) => (rulingOf(all, 'allow').record.right = 'named'),
    'question-ruling',
  ],
  [
    'a ruling is about other arguments',
    (all) => (rulingOf(all, 'allow').record.argsHash = argumentsHash({ q: 'x' })),
    'question-ruling',
  ],
  [
    'a ruling came after the question had expired',
    (all) => (asking(all, 'allow').record.until = 1_000_000),
    'question-ruling',
  ],
  ['a ruling came after the end', (all) => move(all, rulingOf(all, 'allow'), endOf(all, 'allow')), 'question-ruling'],
  [
    'a person answered twice',
    (all) => move(all, all[all.push(structuredClone(rulingOf(all, 'allow'))) - 1], rulingOf(all, 'allow')),
    'question-ruling',
  ],
  [
    'a ruling that denies changes arguments',
    (all) => (rulingOf(all, 'deny').record.args = { q: 'x' }),
    'question-ruling',
  ],
  [
    'other arguments were allowed than crossed',
    (all) => (rulingOf(all, 'edit').record.args = { q: 'x' }),
    'crossing-ends',
  ],
  [
    'a reason is not the one that crossed',
    (all) => (rulingOf(all, 'deny').record.reason = 'Other words.'),
    'crossing-ends',
  ],
  [
    'a question that was denied ended as allowed',
    (all) => (endOf(all, 'deny').record.value.verdict = 'allow'),
    'question-ruling',
  ],
  [
    'a question that was allowed ended as denied',
    (all) => (endOf(all, 'allow').record.value.verdict = 'deny'),
    'question-ruling',
  ],
  [
    'a question that expired ended as allowed',
    (all) => (endOf(all, 'expire').record.value = { verdict: 'allow' }),
    'question-ruling',
  ],
  ['a question expired too early', (all) => (asking(all, 'expire').record.until += 1_000_000), 'question-ruling'],
  [
    'a question that was answered ended as expired',
    (all) => (endOf(all, 'deny').record.value = { verdict: 'deny', expired: true }),
    'question-ruling',
  ],
  [
    'a question ended with an answer that did not cross',
    (all) => (endOf(all, 'allow').record.value.said = 1),
    'question-ruling',
  ],
  [
    'an earlier answer is said to cover a call that it does not',
    (all) => (endOf(all, 'allow').record.value = { verdict: 'allow', remembered: 1 }),
    'question-ruling',
  ],
  [
    'an answer that covers a call was not to be remembered',
    (all) => delete rulingOf(all, 'remember').record.remember,
    'question-ruling',
  ],
  [
    'a question shows other arguments than its hash',
    (all) => (asking(all, 'allow').record.question.args = { q: 'x' }),
    'question-asked',
  ],
  [
    'a question is about a call that the model did not make',
    (all) =>
      Object.assign(asking(all, 'allow').record.question, { args: { q: 'x' }, argsHash: argumentsHash({ q: 'x' }) }),
    'question-asked',
  ],
  [
    'a question has another rule than its definition',
    (all) => (asking(all, 'allow').record.question.rule = { need: 1 }),
    'question-asked',
  ],
  [
    'a call has other arguments than were allowed',
    (all) => (stepOf(all, 'allow').record.about.argsHash = argumentsHash({ q: 'x' })),
    'question-call',
  ],
  ['a call names no question', (all) => delete stepOf(all, 'allow').record.about.ask, 'question-call'],
  [
    'a call names a question that another call used',
    (all) => (stepOf(all, 'edit').record.about.ask = asking(all, 'allow').record.op),
    'question-call',
  ],
  [
    'a call was made although it was denied',
    (all) => Object.assign(stepEndOf(all, 'deny').record, { ok: true, value: { text: 'sent' }, failure: undefined }),
    'question-call',
  ],
  [
    'a call was made although nobody answered',
    (all) => Object.assign(stepEndOf(all, 'expire').record, { ok: true, value: { text: 'sent' }, failure: undefined }),
    'question-call',
  ],
  [
    'a call began before its question ended',
    (all) => move(all, endOf(all, 'allow'), stepOf(all, 'allow')),
    'question-call',
  ],
  ['a call is of another tool', (all) => (stepOf(all, 'allow').record.name = 'tool:other'), 'question-call'],
];

// invariant: audit-marked-calls
test('a run in which people allowed, denied, changed, remembered and did not answer is accepted', async () => {
  expect(await problemsIn(plain)).toEqual([]);
  expect(await problemsIn(quorum)).toEqual([]);
});

test.each(changes)('refused: %s', async (_, change, code) => {
  const frames = structuredClone(plain) as Loose[];
  change(frames);
  expect((await problemsIn(frames)).map((problem) => problem.code)).toContain(code);
});

const quorumChanges: readonly Change[] = [
  ['one of two needed rulings is missing', (all) => without(all, rulingOf(all, 'allow')), 'question-ruling'],
  [
    'the same person is counted twice',
    (all) => all.forEach(({ record }) => record.type === 'ruling' && (record.by = 'ann')),
    'question-ruling',
  ],
  ['one of two is not named by the rule', (all) => (rulingOf(all, 'allow').record.by = 'eve'), 'question-ruling'],
  ['one of two requested the run', (all) => (rulingOf(all, 'allow').record.by = 'cat'), 'question-ruling'],
  [
    'one of two answers with another right',
    (all) => (rulingOf(all, 'allow').record.right = 'operator'),
    'question-ruling',
  ],
  [
    'the two allowed different arguments',
    (all) => (rulingOf(all, 'allow').record.args = { q: 'x' }),
    'question-ruling',
  ],
  [
    'the question needs fewer people than the definition says',
    (all) => (asking(all, 'allow').record.question.rule.need = 1),
    'question-asked',
  ],
  [
    'the question names more people than the definition',
    (all) => asking(all, 'allow').record.question.rule.by.push('eve'),
    'question-asked',
  ],
  [
    'the question may be answered by whoever requested the run',
    (all) => delete asking(all, 'allow').record.question.rule.not,
    'question-asked',
  ],
];

test.each(quorumChanges)('refused, of two people needed: %s', async (_, change, code) => {
  const frames = structuredClone(quorum) as Loose[];
  change(frames);
  expect((await problemsIn(frames)).map((problem) => problem.code)).toContain(code);
});

test('refused: an answer that crosses in another record than a ruling', async () => {
  const frames = structuredClone(plain) as Loose[];
  const ruling = rulingOf(frames, 'deny');
  const end = endOf(frames, 'deny');
  for (const key of ['links', 'contents']) {
    end[key] = ruling[key];
    delete ruling[key];
  }
  expect((await problemsIn(frames)).map((problem) => problem.code)).toContain('crossing-ends');
});

test('refused: a marked call about which nobody was asked', async () => {
  const frames = structuredClone(plain) as Loose[];
  const { op } = asking(frames, 'allow').record;
  delete stepOf(frames, 'allow').record.about.ask;
  for (const frame of frames.filter(({ record }) => record.op === op && record.type !== 'post')) without(frames, frame);
  expect((await problemsIn(frames)).map((problem) => problem.code)).toContain('question-call');
});
