// Marked tools in runs: what is asked, what an answer does, and what waiting costs.
import { expect, test } from 'vitest';
import type { JsonObject } from '#base';
import type { Agent, Frame, ToolDefinition } from '#contracts';
import { agent, call, calls, lines } from '../session/driver.ts';
import { problemsIn, replayOf, runAnswering, startAsking, withMarks } from './driver.ts';
import type { AskFrame } from './driver.ts';

const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'], additionalProperties: false };

/** A marked tool, and what it was called with. */
const marked = (name = 'send', approve: ToolDefinition['approve'] = true) => {
  const made: JsonObject[] = [];
  const tool: ToolDefinition = {
    name,
    description: `The tool ${name}.`,
    inputSchema: schema,
    approve,
    execute: (args) => {
      made.push(args);
      return `done ${JSON.stringify(args)}`;
    },
  };
  return { tool, made };
};

const once = (...questions: readonly string[]) =>
  lines({ lead: [calls(...questions.map((q) => ({ tool: 'send', args: { q } }))), 'Done.'] });

const stepsOf = (frames: readonly Frame[]) =>
  frames.flatMap(({ record }) => (record.type === 'begin' && record.name.startsWith('tool:') ? [record] : []));
const failuresOf = (frames: readonly Frame[]) =>
  frames.flatMap(({ record }) => (record.type === 'settle' && !record.ok ? [record.failure?.code] : []));
const shownIn = (requests: readonly { readonly prompt: unknown }[]): string => JSON.stringify(requests.at(-1)?.prompt);

const clean = async (frames: readonly Frame[], root: Agent): Promise<void> => {
  expect(await problemsIn(frames)).toEqual([]);
  expect(await replayOf(frames, root)).toMatchObject({ ok: true });
};

// invariants: marked-call-asks-first, question-recorded-before-wait
test('a marked call is a recorded question first, and nothing of it begins before the answer', async () => {
  const { tool, made } = marked();
  const run = startAsking(agent('lead', { tools: [tool] }), { says: once('a') });
  await run.settle();
  const [asked] = run.open() as readonly [AskFrame];
  expect(asked.record.question).toMatchObject({ tool: 'send', args: { q: 'a' }, why: 'tool' });
  expect(stepsOf(run.frames)).toEqual([]);
  await run.clock.advance(3_600_000);
  expect(made).toEqual([]);
  expect(await run.answer(asked)).toBe('allowed');
  await run.end();
  expect(made).toEqual([{ q: 'a' }]);
  const types = run.frames.slice(asked.no).map(({ record }) => record.type);
  expect(types.slice(0, 4)).toEqual(['begin', 'ruling', 'settle', 'begin']);
  expect(stepsOf(run.frames)[0]?.about).toMatchObject({ ask: asked.record.op });
});

test('a person who denies is quoted to the model, and the tool is not called', async () => {
  const { tool, made } = marked();
  const root = agent('lead', { tools: [tool] });
  const run = await runAnswering(root, { says: once('a') }, () => ({ allow: false, reason: 'It is too early.' }));
  expect(made).toEqual([]);
  expect(failuresOf(run.frames)).toEqual(['approval_denied']);
  expect(shownIn(run.requests)).toContain('They said: It is too early.');
  await clean(run.frames, root);
});

// invariant: answered-is-what-runs
test('a tool gets the arguments that the person wrote instead, and the model is told', async () => {
  const { tool, made } = marked();
  const root = agent('lead', { tools: [tool] });
  const run = await runAnswering(root, { says: once('a') }, () => ({ args: { q: 'better' } }));
  expect(made).toEqual([{ q: 'better' }]);
  expect(shownIn(run.requests)).toContain('A person changed the arguments of your call of send');
  await clean(run.frames, root);
});

// invariant: expired-is-denied
test('a question that nobody answers is denied after its time, and not before', async () => {
  const { tool, made } = marked();
  const root = agent('lead', { tools: [tool], limits: { questionTimeout: 5_000 } });
  const run = startAsking(root, { says: once('a') });
  await run.settle();
  await run.clock.advance(4_999);
  expect(run.open()).toHaveLength(1);
  await run.clock.advance(1);
  await run.end();
  expect(made).toEqual([]);
  expect(failuresOf(run.frames)).toEqual(['approval_expired']);
  await clean(run.frames, root);
});

// invariants: ruling-names-what-was-shown, ruling-by-those-who-may, question-settles-once
test.each([
  ['about other arguments', { sha256: 'f'.repeat(64) }, 'question_changed'],
  ['of somebody who did not request the run', { by: 'eve', right: 'caller' }, 'question_unknown'],
  ['of somebody who is said to be named', { by: 'eve', right: 'named' }, 'question_unknown'],
  ['with arguments that do not fit', { args: { p: 1 } }, 'answer_invalid'],
  ['that denies and changes arguments', { allow: false, args: { q: 'b' } }, 'answer_invalid'],
  ['that changes arguments and is to be remembered', { args: { q: 'b' }, remember: 'run' }, 'answer_invalid'],
  ['that denies and is to be remembered', { allow: false, remember: 'run' }, 'answer_invalid'],
  ['to a frame that asks nothing', { frame: 0 }, 'question_answered'],
] as const)('an answer %s changes nothing', async (_, given, code) => {
  const { tool, made } = marked();
  const run = startAsking(agent('lead', { tools: [tool] }), { says: once('a') });
  await run.settle();
  const [asked] = run.open() as readonly [AskFrame];
  const before = run.frames.length;
  await expect(run.answer(asked, given)).rejects.toMatchObject({ code });
  await run.settle();
  expect(run.frames).toHaveLength(before);
  expect(await run.answer(asked)).toBe('allowed');
  await expect(run.answer(asked)).rejects.toMatchObject({ code: 'question_answered' });
  await run.end();
  expect(made).toEqual([{ q: 'a' }]);
  expect(run.frames.filter(({ record }) => record.type === 'ruling')).toHaveLength(1);
});

test('of two answers at the same moment one is taken, and the other one is told so', async () => {
  const { tool, made } = marked();
  const run = startAsking(agent('lead', { tools: [tool] }), { says: once('a') });
  await run.settle();
  const [asked] = run.open() as readonly [AskFrame];
  const answers = await Promise.allSettled([
    run.answer(asked, { allow: false }),
    run.answer(asked, { by: 'helper', right: 'answers' }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  await run.end();
  expect(made).toEqual([]);
});

const byTwo = { by: ['ann', 'ben', 'cat'], need: 2 };
const named = (by: string) => ({ by, right: 'named' as const });

test('a call that two people must allow waits for two different ones, for the same arguments', async () => {
  const { tool, made } = marked();
  const root = withMarks(agent('lead', { tools: [tool] }), { send: byTwo });
  const run = startAsking(root, { says: once('a') });
  await run.settle();
  const [asked] = run.open() as readonly [AskFrame];
  await expect(run.answer(asked)).rejects.toMatchObject({ code: 'question_unknown' });
  await expect(run.answer(asked, named('eve'))).rejects.toMatchObject({ code: 'question_unknown' });
  expect(await run.answer(asked, named('ann'))).toBe('waiting');
  await expect(run.answer(asked, named('ann'))).rejects.toMatchObject({ code: 'question_answered' });
  expect(await run.answer(asked, { ...named('ben'), args: { q: 'b' } })).toBe('waiting');
  expect(made).toEqual([]);
  expect(await run.answer(asked, { ...named('cat'), args: { q: 'b' } })).toBe('allowed');
  await run.end();
  expect(made).toEqual([{ q: 'b' }]);
  await clean(run.frames, root);
});

test('one of those who may answer is enough to deny', async () => {
  const { tool, made } = marked();
  const root = withMarks(agent('lead', { tools: [tool] }), { send: byTwo });
  const run = startAsking(root, { says: once('a') });
  await run.settle();
  const [asked] = run.open() as readonly [AskFrame];
  expect(await run.answer(asked, named('ann'))).toBe('waiting');
  expect(await run.answer(asked, { ...named('ben'), allow: false, reason: 'No.' })).toBe('denied');
  await run.end();
  expect(made).toEqual([]);
  await clean(run.frames, root);
});

test('whoever requested the run does not answer where the rule says so', async () => {
  const { tool } = marked();
  const root = withMarks(agent('lead', { tools: [tool] }), { send: { not: 'asker' } });
  const run = startAsking(root, { says: once('a'), caller: 'ann' });
  await run.settle();
  const [asked] = run.open() as readonly [AskFrame];
  await expect(run.answer(asked)).rejects.toMatchObject({ code: 'question_unknown' });
  await expect(run.answer(asked, { right: 'answers' })).rejects.toMatchObject({ code: 'question_unknown' });
  expect(await run.answer(asked, { by: 'ben', right: 'answers' })).toBe('allowed');
  await run.end();
  await clean(run.frames, root);
});

test('fifty marked calls in one turn are fifty questions, a few at a time, each answered for itself', async () => {
  const { tool, made } = marked();
  const root = agent('lead', { tools: [tool], limits: { max_steps: 200 } });
  const all = Array.from({ length: 50 }, (_, index) => `n${index}`);
  let most = 0;
  const run = await runAnswering(root, { says: once(...all) }, (_asked, nth) => ({ allow: nth % 3 !== 0 }));
  for (let no = 0; no < run.frames.length; no++) {
    const upTo = run.frames.slice(0, no + 1);
    const begun = upTo.filter(({ record }) => record.type === 'begin' && record.do === 'ask').length;
    const over = upTo.filter(
      ({ record }) =>
        record.type === 'settle' && (record.value as { verdict?: string } | undefined)?.verdict !== undefined,
    ).length;
    most = Math.max(most, begun - over);
  }
  expect(most).toBe(4);
  expect(run.frames.filter(({ record }) => record.type === 'ruling')).toHaveLength(50);
  expect(made).toHaveLength(33);
  expect(new Set(made.map(({ q }) => q)).size).toBe(33);
  await clean(run.frames, root);
});

test('a denied tool that is called again and again ends by its limits, with each denial recorded', async () => {
  const { tool, made } = marked();
  const root = agent('lead', { tools: [tool], limits: { maxToolTurns: 5 } });
  const run = await runAnswering(root, { says: [{ reply: call('send', { q: 'please' }) }] }, () => ({ allow: false }));
  expect(run.outcome).toMatchObject({ failure: { code: 'turns_used' } });
  expect(made).toEqual([]);
  const denials = failuresOf(run.frames).filter((code) => code === 'approval_denied');
  expect(denials).toHaveLength(run.frames.filter(({ record }) => record.type === 'ruling').length);
  expect(denials.length).toBeGreaterThanOrEqual(5);
  await clean(run.frames, root);
});

const functions: readonly (readonly [title: string, approve: () => unknown, asked: number])[] = [
  ['throws', () => JSON.parse('no JSON'), 1],
  ['returns nothing', () => undefined, 1],
  ['returns a promise', () => Promise.resolve(false), 1],
  ['says yes', () => true, 1],
  ['says no', () => false, 0],
];

test.each(functions)('a function of the arguments that %s', async (_, approve, asked) => {
  const { tool, made } = marked('send', approve as () => boolean);
  const root = withMarks(agent('lead', { tools: [tool] }), { send: { when: 'arguments' } });
  const run = await runAnswering(root, { says: once('a') });
  expect(run.frames.filter(({ record }) => record.type === 'ruling')).toHaveLength(asked);
  expect(made).toEqual([{ q: 'a' }]);
  await clean(run.frames, root);
});

test('what is remembered for the run covers the same call later, and no other arguments', async () => {
  const { tool, made } = marked();
  const root = agent('lead', { tools: [tool] });
  const says = lines({
    lead: [
      call('send', { q: 'a' }),
      calls({ tool: 'send', args: { q: 'a' } }, { tool: 'send', args: { q: 'b' } }),
      'Done.',
    ],
  });
  const run = await runAnswering(root, { says }, (_asked, nth) => (nth === 0 ? { remember: 'run' } : { allow: false }));
  expect(made).toEqual([{ q: 'a' }, { q: 'a' }]);
  const results = run.frames.flatMap(({ record }) =>
    record.type === 'settle' && (record.value as { verdict?: string } | undefined)?.verdict !== undefined
      ? [record.value]
      : [],
  );
  const first = run.frames.find(({ record }) => record.type === 'ruling')!.no;
  expect(results).toEqual([{ verdict: 'allow' }, { verdict: 'allow', remembered: first }, { verdict: 'deny' }]);
  await clean(run.frames, root);
});

test('waiting for a person uses up neither the deadline of the cell nor that of those above it', async () => {
  const { tool, made } = marked();
  const child = agent('child', { tools: [tool], budget: { ms: 2_000 } });
  const root = agent('lead', { agents: [child], budget: { ms: 5_000 } });
  const says = lines({ lead: [call('child', { prompt: 'Go.' }), 'Done.'], child: [call('send', { q: 'a' }), 'Sent.'] });
  const run = startAsking(root, { says });
  await run.settle();
  await run.clock.advance(3_600_000);
  const [asked] = run.open() as readonly [AskFrame];
  await run.answer(asked);
  expect(await run.end()).toMatchObject({ status: 'completed' });
  expect(made).toEqual([{ q: 'a' }]);
  expect((await run.live.outcome).spent.ms).toBeLessThan(1_000);
  await clean(run.frames, root);
});

const waitsAnd = (sibling: Agent, timeoutMs: number) => {
  const { tool, made } = marked();
  const asks = agent('asks', { tools: [tool] });
  const root = agent('lead', { agents: [asks, sibling], gather: { timeoutMs } });
  return { root, made };
};
const gatherBoth = {
  calls: [
    {
      tool: 'gather',
      args: {
        tasks: [
          { agent: 'asks', prompt: 'Ask.' },
          { agent: 'works', prompt: 'Work.' },
        ],
      },
    },
  ],
};

test('`gather` does not count the time in which a member waits for a person, and counts that of the others', async () => {
  const hang: ToolDefinition = {
    name: 'hang',
    description: 'Never answers.',
    inputSchema: { type: 'object' },
    timeoutMs: 9_000_000,
    execute: () => new Promise(() => undefined),
  };
  const works = agent('works', { tools: [hang], limits: { toolTimeout: 9_000_000, timeout_ms: 9_000_000 } });
  const { root, made } = waitsAnd(works, 10_000);
  const says = lines({
    lead: [gatherBoth, 'Done.'],
    asks: [call('send', { q: 'a' }), 'Sent.'],
    works: [call('hang'), 'Worked.'],
  });
  const run = startAsking(root, { says });
  await run.settle();
  await run.clock.advance(11_000);
  const ended = run.frames.flatMap(({ record }) => (record.type === 'settle' && record.ended ? [record.ended] : []));
  expect(ended.map(({ cell, outcome }) => [cell.split('-')[0], outcome.failure?.code])).toEqual([
    ['works', 'deadline_passed'],
  ]);
  await run.clock.advance(20 * 3_600_000);
  const [asked] = run.open() as readonly [AskFrame];
  await run.answer(asked);
  expect(await run.end()).toMatchObject({ status: 'partial', missing: ['works'] });
  expect(made).toEqual([{ q: 'a' }]);
  // It looks again from time to time, and more and more rarely.
  const sleeps = run.frames.filter(({ record }) => record.type === 'begin' && record.do === 'sleep').length;
  expect(sleeps).toBeGreaterThan(2);
  expect(sleeps).toBeLessThan(250);
  await clean(run.frames, root);
});

test('a member that works again after a person answered is ended when `gather` has waited long enough for it', async () => {
  const { tool } = marked();
  const slow: ToolDefinition = {
    name: 'slow',
    description: 'Never answers.',
    inputSchema: { type: 'object' },
    timeoutMs: 9_000_000,
    execute: () => new Promise(() => undefined),
  };
  const asks = agent('asks', { tools: [tool, slow], limits: { toolTimeout: 9_000_000, timeout_ms: 9_000_000 } });
  const root = agent('lead', { agents: [asks], gather: { timeoutMs: 10_000 } });
  const says = lines({
    lead: [{ calls: [{ tool: 'gather', args: { tasks: [{ agent: 'asks', prompt: 'Ask.' }] } }] }, 'Done.'],
    asks: [call('send', { q: 'a' }), call('slow')],
  });
  const run = startAsking(root, { says });
  await run.settle();
  await run.clock.advance(30_000);
  await run.answer(run.open()[0]!);
  await run.clock.advance(12_500);
  expect(await run.live.outcome).toMatchObject({ status: 'partial', missing: ['asks'] });
  await clean(run.frames, root);
});

test('nothing of a question reaches the parent or a sibling', async () => {
  const works = agent('works');
  const { root } = waitsAnd(works, 600_000);
  const says = lines({
    lead: [gatherBoth, 'Done.'],
    asks: [call('send', { q: 'a' }), 'Finished.'],
    works: ['Worked.'],
  });
  const promptsOf = async (given: JsonObject): Promise<readonly string[]> => {
    const { requests } = await runAnswering(root, { says }, () => given);
    return requests
      .map(({ prompt }) => JSON.stringify(prompt))
      .filter((prompt) => !prompt.includes('You do what asks does'));
  };
  const first = await promptsOf({});
  expect(first.length).toBe(3);
  expect(await promptsOf({ allow: false, reason: 'Secret words.' })).toEqual(first);
  expect(await promptsOf({ args: { q: 'changed' } })).toEqual(first);
});

test('a cancelled run does not wait for people', async () => {
  const { tool, made } = marked();
  const root = agent('lead', { tools: [tool] });
  const run = startAsking(root, { says: once('a', 'b') });
  await run.settle();
  run.live.do({ do: 'cancel' });
  expect(await run.end()).toMatchObject({ status: 'cancelled' });
  expect(run.open()).toEqual([]);
  expect(made).toEqual([]);
  expect(run.clock.waiting).toBe(0);
  const asked = run.frames.find(({ record }) => record.type === 'begin' && record.do === 'ask');
  await expect(Promise.resolve().then(() => run.answer(asked as AskFrame))).rejects.toMatchObject({
    code: 'cell_ended',
  });
  await clean(run.frames, root);
});
