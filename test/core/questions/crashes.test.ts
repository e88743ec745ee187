// A run that asks people, crashed after every frame and answered by the next process; forks and replays of such runs.
import { expect, test } from 'vitest';
import { openCloister } from 'cloister';
import type { JsonObject } from '#base';
import type { Agent, Frame, ToolDefinition } from '#contracts';
import { countingIds, rehearse, virtualClock } from '#testkit';
import { agent, call, calls, lines, runUntilSettled } from '../session/driver.ts';
import { openIn, problemsIn, replayOf, runAnswering, startAsking, withMarks } from './driver.ts';
import type { AskFrame } from './driver.ts';

/** Both record their calls by key, whichever process makes them. */
const wire = (repeat: 'free' | 'keyed' = 'keyed') => {
  const made: string[] = [];
  const tool: ToolDefinition = {
    name: 'send',
    description: 'Sends.',
    inputSchema: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    repeat,
    approve: true,
    execute: (args: JsonObject, { key }) => {
      made.push(`${key} ${JSON.stringify(args['q'])}`);
      return 'sent';
    },
  };
  const below = agent('below', { tools: [tool] });
  const child = agent('child', { agents: [below], tools: [tool] });
  const root = agent('lead', { agents: [child], tools: [tool] });
  return { root, made };
};

const says = () =>
  lines({
    lead: [
      calls({ tool: 'send', args: { q: 'allow' } }, { tool: 'send', args: { q: 'deny' } }),
      call('child', { prompt: 'Go.' }),
      'Done.',
    ],
    child: [calls({ tool: 'send', args: { q: 'edit' } }, { tool: 'below', args: { prompt: 'Go.' } }), 'Child done.'],
    below: [
      call('send', { q: 'deny' }),
      call('send', { q: 'remember' }),
      call('send', { q: 'remember' }),
      'Below done.',
    ],
  });

const decide = ({ record: { question } }: AskFrame) => {
  const { q } = question.args;
  if (q === 'deny') return { allow: false, reason: 'No.' };
  if (q === 'edit') return { args: { q: 'edited' } };
  return q === 'remember' ? { remember: 'run' as const } : {};
};

const callsOf = (made: readonly string[]): readonly string[] =>
  [...new Set(made)].map((one) => JSON.parse(one.split(' ')[1]!) as string).sort();
const asksOf = (frames: readonly Frame[]) =>
  frames.filter(({ record }) => record.type === 'begin' && record.do === 'ask').length;
const rulingsOf = (frames: readonly Frame[]) => frames.filter(({ record }) => record.type === 'ruling').length;

const expected = ['allow', 'edited', 'remember', 'remember'];

test('after a crash behind any frame, nothing is asked again, answered twice or called twice', async () => {
  const whole = wire();
  const { frames } = await runAnswering(whole.root, { says: says() }, decide);
  expect(callsOf(whole.made)).toEqual(expected);
  expect([asksOf(frames), rulingsOf(frames)]).toEqual([6, 5]);
  for (let length = 1; length < frames.length; length++) {
    const { root, made } = wire();
    const from = frames.slice(0, length);
    const began = from.flatMap(({ cell, record }) =>
      record.type === 'begin' && record.name === 'tool:send' && record.about?.['ask'] !== undefined
        ? [`${cell}/${record.op}`]
        : [],
    );
    const run = await runAnswering(root, { says: remaining(from), at: 2_000_000, from }, decide);
    expect(run.outcome.status, `crash after frame ${length - 1}`).toBe('completed');
    expect([asksOf(run.frames), rulingsOf(run.frames)]).toEqual([6, 5]);
    expect(await problemsIn(run.frames)).toEqual([]);
    expect(await replayOf(run.frames, root)).toMatchObject({ ok: true });
    // What had settled is not called again; what was in flight is, with the same key.
    const settled = began.filter((key) =>
      from.some(({ cell, record }) => record.type === 'settle' && `${cell}/${record.op}` === key),
    );
    expect(made.map((one) => one.split(' ')[0]!).filter((key) => settled.includes(key))).toEqual([]);
    expect(new Set(made).size).toBe(made.length);
  }
});

/** The replies that the models have not given yet. */
const remaining = (frames: readonly Frame[]) => {
  const given = new Map<string, number>();
  for (const { cell, record } of frames) {
    const agentName = cell.split('-')[0]!;
    const isReply =
      record.type === 'settle' && record.ok && (record.value as { parts?: unknown } | null)?.parts !== undefined;
    if (isReply) given.set(agentName, (given.get(agentName) ?? 0) + 1);
  }
  return says().filter((line) => {
    const name = (line.when as { readonly agent: string }).agent;
    const left = given.get(name) ?? 0;
    given.set(name, left - 1);
    return left <= 0;
  });
};

const cutAfter = (frames: readonly Frame[], isLast: (frame: Frame) => boolean): readonly Frame[] =>
  frames.slice(0, frames.findIndex(isLast) + 1);

test('an answer that was recorded before a crash counts, even if its question had not ended', async () => {
  const { root } = wire();
  for (const allow of [true, false]) {
    const { frames } = await runAnswering(root, { says: says() }, () => ({ allow }));
    const from = cutAfter(frames, ({ record }) => record.type === 'ruling');
    const { made, ...next } = wire();
    const run = startAsking(next.root, { says: remaining(from), at: 2_000_000, from });
    await run.settle();
    expect(openIn(run.frames)).toHaveLength(1);
    expect(made).toHaveLength(allow ? 1 : 0);
    run.live.do({ do: 'cancel' });
    await run.end();
  }
});

test('a person who denied one of two equal calls is heard, although the other one was to be remembered', async () => {
  const { root } = wire();
  const same = lines({
    lead: [calls({ tool: 'send', args: { q: 'a' } }, { tool: 'send', args: { q: 'a' } }), 'Done.'],
  });
  const { frames } = await runAnswering(root, { says: same }, (_asked, nth) =>
    nth === 0 ? { remember: 'run' } : { allow: false },
  );
  const rulings = frames.filter(({ record }) => record.type === 'ruling');
  expect(rulings).toHaveLength(2);
  const from = cutAfter(frames, (frame) => frame === rulings[1]);
  const { made, ...next } = wire();
  const run = await runAnswering(next.root, { says: [{ reply: 'Done.' }], at: 2_000_000, from });
  expect(made.length).toBeLessThanOrEqual(1);
  const verdicts = run.frames.flatMap(({ record }) =>
    record.type === 'settle' && (record.value as { verdict?: string } | null)?.verdict !== undefined
      ? [record.value]
      : [],
  );
  expect(verdicts).toEqual([{ verdict: 'allow' }, { verdict: 'deny' }]);
  expect(await problemsIn(run.frames)).toEqual([]);
});

test('a quorum that had one answer before a crash needs only the other one', async () => {
  const wired = wire();
  const marks = { send: { by: ['ann', 'ben'], need: 2 } };
  const root = withMarks(agent('lead', { tools: wired.root.resources.tools }), marks);
  const one = lines({ lead: [call('send', { q: 'a' }), 'Done.'] });
  const first = startAsking(root, { says: one });
  await first.settle();
  await first.answer(first.open()[0]!, { by: 'ann', right: 'named' });
  const next = startAsking(root, { says: [{ reply: 'Done.' }], at: 2_000_000, from: first.frames });
  await next.settle();
  const [asked] = next.open() as readonly [AskFrame];
  await expect(next.answer(asked, { by: 'ann', right: 'named' })).rejects.toMatchObject({ code: 'question_answered' });
  expect(await next.answer(asked, { by: 'ben', right: 'named' })).toBe('allowed');
  await next.end();
  expect(wired.made).toHaveLength(1);
  expect(await problemsIn(next.frames)).toEqual([]);
});

test('a question whose time passed while the run was down has expired', async () => {
  const { root, made } = wire();
  const first = startAsking(root, { says: says() });
  await first.settle();
  const next = startAsking(root, { says: remaining(first.frames), at: 1_000_000 + 86_400_001, from: first.frames });
  await next.settle();
  const denied = next.frames.filter(
    ({ record }) => record.type === 'settle' && record.failure?.code === 'approval_expired',
  );
  expect(denied).toHaveLength(2);
  expect(made).toEqual([]);
  next.live.do({ do: 'cancel' });
  await next.end();
});

test('the answer about a tool that is safe to retry is durable before the tool is called', async () => {
  const { root, made } = wire('free');
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = startAsking(root, { says: says(), answersDurable: promise });
  await run.settle();
  await run.answer(run.open()[0]!);
  await run.settle();
  expect(made).toEqual([]);
  resolve();
  await run.settle();
  expect(made).toHaveLength(1);
  run.live.do({ do: 'cancel' });
  await run.end();
});

test('a fork asks again what had not been answered where it begins', async () => {
  const { tool, clock, cloister, root } = await openForked();
  const session = cloister.run(root.name, 'Find it');
  const heard = answerAll(session, tool.answers);
  await runUntilSettled(clock, session.outcome);
  await heard;
  const { cells } = await cloister.show(session.run);
  const fork = await cloister.fork(session.run, { at: `${cells[0]!.cell}/1` });
  const again = answerAll(fork, tool.answers);
  expect(await runUntilSettled(clock, fork.outcome)).toMatchObject({ status: 'completed' });
  await again;
  expect(tool.answers).toHaveLength(2);
  expect(await cloister.audit(fork.run)).toMatchObject({ ok: true });
  expect(await cloister.replay(fork.run)).toMatchObject({ ok: true });
  await cloister.close();
});

const openForked = async () => {
  const clock = virtualClock(1_000_000);
  const tool = { answers: [] as string[] };
  const root: Agent = agent('lead', {
    tools: [
      { name: 'send', description: 'Sends.', inputSchema: { type: 'object' }, approve: true, execute: () => 'sent' },
    ],
  });
  const model = rehearse([{ times: 1, reply: call('send', { q: 'a' }) }, { reply: 'Done.' }], { clock });
  const cloister = await openCloister({ store: 'memory', agents: [root], models: [model], clock, ids: countingIds() });
  return { clock, tool, root, cloister };
};

const answerAll = async (
  session: Awaited<ReturnType<Awaited<ReturnType<typeof openForked>>['cloister']['fork']>>,
  answers: string[],
): Promise<void> => {
  for await (const event of session) {
    if (event.type !== 'question') continue;
    answers.push(event.question);
    const frame = Number(event.question.split('-').at(-1));
    const { sha256 } = event;
    await session.do({
      do: 'answer',
      frame,
      by: 'operator',
      right: 'operator',
      id: event.question,
      allow: true,
      sha256,
    });
  }
};
