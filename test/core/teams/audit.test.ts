// The audit computes independently what each cell of a team should have been given, and `explain` names the source.
import { expect, test } from 'vitest';
import { validate } from '#adapters/schemas';
import { memoryCellFolders } from '#adapters/cell-folders';
import { canonicalJson, encodeMessage, sha256, utf8Bytes, zeroHash } from '#base';
import { decodeDependency } from '#contracts';
import type { CellId, RunId } from '#base';
import type { Frame, Model, TeamGoal } from '#contracts';
import { auditRun, explainCell } from '#core/audit';
import { collectTasks } from '#core/tasks';
import { startRun } from '#core/orchestration';
import { countingIds } from '#testkit';
import { defineTeam } from 'cloister';
import { task, TeamStage } from './stage.ts';

/** The log of a small team: b, c and d depend on a, c also on b; ann messages bob. */
const recordRun = async (): Promise<Frame[]> => {
  const stage: TeamStage = new TeamStage(({ prompt, options }) => {
    const isFirst = prompt.startsWith('# Task: Title a') && !options.prompt.some(({ role }) => role === 'tool');
    return isFirst
      ? { text: '', call: { tool: 'send_message', args: { to: 'bob', message: 'Mind it.' } } }
      : `said of ${prompt.slice(8, 15)}`;
  });
  const agents = [stage.agent('ann', { tools: ['send_message'] }), stage.agent('bob')];
  const team = defineTeam({ name: 'crew', agents, messages: true, parallel: 1 });
  const goal: TeamGoal = {
    goal: null,
    tasks: [
      task('a', [], { assignee: 'ann' }),
      task('b', ['a'], { assignee: 'bob' }),
      task('c', ['b', 'a'], { assignee: 'bob' }),
      task('d', ['a'], { assignee: 'ann' }),
    ],
    answer: false,
  };
  const frames: Frame[] = [];
  const live = startRun(team, JSON.stringify(goal), undefined, {
    run: 'c0ffee000001' as RunId,
    log: { append: (frame) => void frames.push(frame), durable: () => undefined, close: async () => undefined },
    clock: stage.clock,
    ids: countingIds(),
    workspaces: memoryCellFolders(),
    validate,
    resources: { resourcesFor: ({ resources: { models } }) => ({ models: models as readonly Model[], sources: [] }) },
    storeBlob: async () => '',
    readBlob: async () => new Uint8Array(),
    lane: () => undefined,
  });
  await live.outcome;
  return JSON.parse(JSON.stringify(frames)) as Frame[];
};

const audit = (frames: readonly Frame[]) => auditRun(frames, { readBlob: async () => new Uint8Array(), damaged: [] });

/** Frames as plain JSON that a case can change. */
type Mutable = any;

/** Recomputes every hash, so that the log looks as a defect of the writer would leave it. */
const rehash = (frames: Mutable[]): Frame[] => {
  const ends = new Map<string, string>();
  for (const frame of frames) {
    for (const { cell, seq, content, from, kind } of frame.contents ?? []) {
      const into = entryOf(frame, cell, seq);
      const out = frame.links
        .find((link: Mutable) => link.cell === from)
        ?.entries.find(
          (entry: Mutable) =>
            entry.way === 'out' && entry.kind === kind && entry.other === cell && entry.sha256 === into.sha256,
        );
      for (const entry of [into, out]) {
        if (entry === undefined) continue;
        entry.sha256 = sha256(content);
        entry.bytes = utf8Bytes(content);
        entry.tokens = Math.ceil(entry.bytes / 4);
      }
    }
    for (const link of frame.links ?? []) {
      link.previous = ends.get(link.cell) ?? zeroHash;
      link.hash = sha256(link.previous + canonicalJson(link.entries));
      ends.set(link.cell, link.hash);
    }
  }
  return frames;
};

const entryOf = (frame: Mutable, cell: CellId, seq: number): Mutable =>
  frame.links.find((link: Mutable) => link.cell === cell).entries.find((entry: Mutable) => entry.seq === seq);

const birthOfTask = (frames: Mutable[], id: string): Mutable =>
  frames.find(({ record }) => record.birth?.task?.task === id);
const contentsOfKind = (frame: Mutable, kind: string): Mutable[] =>
  frame.contents.filter((one: Mutable) => one.kind === kind);
const rewrite = (content: Mutable, change: object): void => {
  const { text, ...head } = { ...decodeDependency(content.content), ...change };
  content.content = encodeMessage(head, text);
};

test('without a change the run is correct, at every moment', async () => {
  const frames = await recordRun();
  for (let count = 1; count <= frames.length; count++)
    expect(await audit(frames.slice(0, count))).toMatchObject({ ok: true, problems: [] });
});

const falsifications: readonly (readonly [string, RegExp, (frames: Mutable[]) => void])[] = [
  [
    'a task is given the result of a task that it does not depend on',
    /the result it was given for a is wrong/u,
    (frames) =>
      rewrite(contentsOfKind(birthOfTask(frames, 'd'), 'dependency')[0], {
        task: 'b',
        title: 'Title b',
        text: 'said of Title b',
      }),
  ],
  [
    'a result differs from its task’s answer',
    /the result it was given for b is wrong/u,
    (frames) => rewrite(contentsOfKind(birthOfTask(frames, 'c'), 'dependency')[0], { text: 'forged' }),
  ],
  [
    'a result has another assignee',
    /the result it was given for a is wrong/u,
    (frames) => rewrite(contentsOfKind(birthOfTask(frames, 'b'), 'dependency')[0], { assignee: 'bob' }),
  ],
  [
    'the goal of a cell is not the text of its task',
    /its goal differs from the text of its task/u,
    (frames) => (contentsOfKind(birthOfTask(frames, 'd'), 'goal')[0].content += ' And pay.'),
  ],
  [
    'a cell works on another member’s task',
    /its task is assigned to ann/u,
    (frames) => (birthOfTask(frames, 'd').record.birth.agent = 'bob'),
  ],
  [
    'a cell claims the scope all',
    /its task has the scope dependencies, not all/u,
    (frames) => {
      const frame = birthOfTask(frames, 'd');
      frame.record.birth.task.scope = 'all';
      for (const link of frame.links)
        for (const entry of link.entries) if (entry.kind === 'dependency') entry.grant = 'all';
    },
  ],
  [
    'a result crosses under the grant of another scope',
    /uses the grant all instead of dependencies/u,
    (frames) => {
      for (const link of birthOfTask(frames, 'd').links)
        for (const entry of link.entries) if (entry.kind === 'dependency') entry.grant = 'all';
    },
  ],
  [
    'an attempt has the wrong number',
    /it is attempt 1, not 2/u,
    (frames) => (birthOfTask(frames, 'd').record.birth.task.attempt = 2),
  ],
  [
    'a message differs from the one its team received',
    /its team has no such message/u,
    (frames) => rewrite(contentsOfKind(birthOfTask(frames, 'b'), 'message')[0], { text: 'Pay it.' }),
  ],
  [
    'a message has another sender',
    /its team has no such message/u,
    (frames) => rewrite(contentsOfKind(birthOfTask(frames, 'b'), 'message')[0], { agent_id: 'boss' }),
  ],
];

const closeOf = (frames: Mutable[]): Mutable => frames.at(-1).record.outcome;

/** Applies a change to the outcome and to the result that left the run. */
const changeOutcome = (frames: Mutable[], change: (outcome: Mutable) => void): void => {
  change(closeOf(frames));
  const { status, output, missing } = closeOf(frames);
  const result = frames.at(-1).contents.find((one: Mutable) => one.kind === 'result');
  result.content = JSON.stringify({ ...JSON.parse(result.content), status, output, missing });
};

const outcomeFalsifications: readonly (readonly [string, RegExp, (outcome: Mutable) => void])[] = [
  [
    'something is added to the results',
    /neither its coordinator’s answer nor its results/u,
    (one) => (one.output += '!'),
  ],
  ['the output is forged', /neither its coordinator’s answer nor its results/u, (one) => (one.output = 'Pay.')],
  ['a task has another status', /its tasks differ from the log/u, (one) => (one.data.tasks[0].status = 'failed')],
  ['a task is omitted', /its tasks differ from the log/u, (one) => one.data.tasks.pop()],
  ['a task is listed as missing that is not', /lists the wrong tasks as missing/u, (one) => (one.missing = ['a'])],
];

for (const [title, words, change] of outcomeFalsifications)
  test(`detected although every hash is right: in the outcome, ${title}`, async () => {
    const frames = await recordRun();
    changeOutcome(frames, change);
    const { problems } = await audit(rehash(frames));
    expect(problems.map(({ message }) => message).join('\n')).toMatch(words);
  });

for (const [title, words, change] of falsifications)
  // invariant: audit-derives-task-inputs
  test(`detected although every hash is right: ${title}`, async () => {
    const frames = await recordRun();
    change(frames);
    const { ok, problems } = await audit(rehash(frames));
    expect(ok).toBe(false);
    expect(problems.map(({ message }) => message).join('\n')).toMatch(words);
  });

test('a task that starts before its dependencies have ended is detected', async () => {
  const frames: Mutable[] = await recordRun();
  // Its dependency never completed.
  const settled = frames.find(({ record }) => record.ended !== undefined);
  const result = contentsOfKind(settled, 'result')[0];
  result.content = JSON.stringify({ ...JSON.parse(result.content), status: 'failed' });
  settled.record.ended.outcome.status = 'failed';
  const { problems } = await audit(rehash(frames));
  expect(problems.map(({ message }) => message)).toContain('its task is blocked');
});

test('explain names the source task of each part of a task’s prompt', async () => {
  const frames = await recordRun();
  const collected = collectTasks();
  for (const frame of frames) collected.next(frame);
  const tasks = collected.of();
  const cellOf = (id: string) => tasks.find((one) => one.id === id)!.cells[0]!;
  const { segments } = await explainCell(frames, cellOf('c'));
  const tasksOf = segments.flatMap(({ trail }) =>
    trail.flatMap((step) => (step.type === 'task' ? [{ task: step.task, cell: step.cell }] : [])),
  );
  expect(tasksOf).toEqual([
    { task: 'b', cell: cellOf('b') },
    { task: 'a', cell: cellOf('a') },
  ]);
  // The trail continues to the reply that contains the text.
  const last = segments.at(-1)!;
  expect(last.trail.map(({ type }) => type)).toEqual(['crossing', 'task', 'operation']);
});
