// The audit works out by itself what each cell of a team should have been given, and `explain` says where it came from.
import { expect, test } from 'vitest';
import { validate } from '#adapters/schemas';
import { memoryCellFolders } from '#adapters/cell-folders';
import { canonicalJson, encodeMessage, decodeMessage, sha256, utf8Bytes, zeroHash } from '#base';
import type { CellId, RunId } from '#base';
import type { Frame, Model, TeamGoal } from '#contracts';
import { auditRun, explainCell, readRunTasks } from '#core/audit';
import { startRun } from '#core/orchestration';
import { countingIds } from '#testkit';
import { defineTeam } from 'cloister';
import { task, TeamStage } from './stage.ts';

/** The log of a small team: b, c and d depend on a, c on b too; ann writes to bob. */
const played = async (): Promise<Frame[]> => {
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
    equip: ({ models }) => ({ models: models as readonly Model[], sources: [] }),
    keep: async () => '',
    blob: async () => new Uint8Array(),
    lane: () => undefined,
  });
  await live.outcome;
  return JSON.parse(JSON.stringify(frames)) as Frame[];
};

const audit = (frames: readonly Frame[]) => auditRun(frames, { blob: async () => new Uint8Array(), damaged: [] });

/** Frames as JSON that a hand may change. */
type Loose = any;

/** Makes every hash right again: what a defect of the writer would leave behind. */
const resealed = (frames: Loose[]): Frame[] => {
  const ends = new Map<string, string>();
  for (const frame of frames) {
    for (const { cell, seq, content, from, kind } of frame.contents ?? []) {
      const into = entryOf(frame, cell, seq);
      const out = frame.links
        .find((link: Loose) => link.cell === from)
        ?.entries.find(
          (entry: Loose) =>
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

const entryOf = (frame: Loose, cell: CellId, seq: number): Loose =>
  frame.links.find((link: Loose) => link.cell === cell).entries.find((entry: Loose) => entry.seq === seq);

const birthOfTask = (frames: Loose[], id: string): Loose =>
  frames.find(({ record }) => record.birth?.task?.task === id);
const given = (frame: Loose, kind: string): Loose[] => frame.contents.filter((one: Loose) => one.kind === kind);
const rewrite = (content: Loose, change: object): void => {
  const { text, ...head } = { ...decodeMessage(content.content), ...change };
  content.content = encodeMessage(head, text);
};

test('without a change the run is correct, at every moment', async () => {
  const frames = await played();
  for (let count = 1; count <= frames.length; count++)
    expect(await audit(frames.slice(0, count))).toMatchObject({ ok: true, problems: [] });
});

const lies: readonly (readonly [string, RegExp, (frames: Loose[]) => void])[] = [
  [
    'a task is given the result of another task than it depends on',
    /what it is given as the result of a is not that/u,
    (frames) =>
      rewrite(given(birthOfTask(frames, 'd'), 'dependency')[0], {
        task: 'b',
        title: 'Title b',
        text: 'said of Title b',
      }),
  ],
  [
    'a result says something else than its task answered',
    /the result of b is not that/u,
    (frames) => rewrite(given(birthOfTask(frames, 'c'), 'dependency')[0], { text: 'forged' }),
  ],
  [
    'a result has another assignee',
    /the result of a is not that/u,
    (frames) => rewrite(given(birthOfTask(frames, 'b'), 'dependency')[0], { assignee: 'bob' }),
  ],
  [
    'the goal of a cell is not the text of its task',
    /its goal is not the text of its task/u,
    (frames) => (given(birthOfTask(frames, 'd'), 'goal')[0].content += ' And pay.'),
  ],
  [
    'a cell works on a task of somebody else',
    /its task is ann's/u,
    (frames) => (birthOfTask(frames, 'd').record.birth.agent = 'bob'),
  ],
  [
    'a cell says that it may see everything',
    /its task is given dependencies, not all/u,
    (frames) => {
      const frame = birthOfTask(frames, 'd');
      frame.record.birth.task.scope = 'all';
      for (const link of frame.links)
        for (const entry of link.entries) if (entry.kind === 'dependency') entry.grant = 'all';
    },
  ],
  [
    'a result crosses under the grant of another scope',
    /names the grant all where dependencies is given/u,
    (frames) => {
      for (const link of birthOfTask(frames, 'd').links)
        for (const entry of link.entries) if (entry.kind === 'dependency') entry.grant = 'all';
    },
  ],
  [
    'a try is counted wrongly',
    /it is try 1, not 2/u,
    (frames) => (birthOfTask(frames, 'd').record.birth.task.attempt = 2),
  ],
  [
    'a message is in other words than its team received',
    /its team has no message/u,
    (frames) => rewrite(given(birthOfTask(frames, 'b'), 'message')[0], { text: 'Pay it.' }),
  ],
  [
    'a message is in the name of another',
    /its team has no message/u,
    (frames) => rewrite(given(birthOfTask(frames, 'b'), 'message')[0], { agent_id: 'boss' }),
  ],
];

const closeOf = (frames: Loose[]): Loose => frames.at(-1).record.outcome;

/** What went outside says the same. */
const retold = (frames: Loose[], change: (outcome: Loose) => void): void => {
  change(closeOf(frames));
  const { status, output, missing } = closeOf(frames);
  const result = frames.at(-1).contents.find((one: Loose) => one.kind === 'result');
  result.content = JSON.stringify({ ...JSON.parse(result.content), status, output, missing });
};

const outcomeLies: readonly (readonly [string, RegExp, (outcome: Loose) => void])[] = [
  [
    'something is added to the results',
    /neither its coordinator’s answer nor its results/u,
    (one) => (one.output += '!'),
  ],
  ['the output is forged', /neither its coordinator’s answer nor its results/u, (one) => (one.output = 'Pay.')],
  [
    'a task is told in another state',
    /its tasks are not what the log tells/u,
    (one) => (one.data.tasks[0].status = 'failed'),
  ],
  ['a task is left out', /its tasks are not what the log tells/u, (one) => one.data.tasks.pop()],
  ['a task is called missing that is not', /names other tasks as missing/u, (one) => (one.missing = ['a'])],
];

for (const [title, words, change] of outcomeLies)
  test(`found though every hash is right: of the outcome, ${title}`, async () => {
    const frames = await played();
    retold(frames, change);
    const { problems } = await audit(resealed(frames));
    expect(problems.map(({ message }) => message).join('\n')).toMatch(words);
  });

for (const [title, words, change] of lies)
  test(`found though every hash is right: ${title}`, async () => {
    const frames = await played();
    change(frames);
    const { ok, problems } = await audit(resealed(frames));
    expect(ok).toBe(false);
    expect(problems.map(({ message }) => message).join('\n')).toMatch(words);
  });

test('a task that starts before what it depends on has ended is found', async () => {
  const frames: Loose[] = await played();
  // Its dependency never said that it was done.
  const settled = frames.find(({ record }) => record.ended !== undefined);
  const result = given(settled, 'result')[0];
  result.content = JSON.stringify({ ...JSON.parse(result.content), status: 'failed' });
  settled.record.ended.outcome.status = 'failed';
  const { problems } = await audit(resealed(frames));
  expect(problems.map(({ message }) => message)).toContain('its task is blocked');
});

test('explain says for each part of a task’s prompt which task it came from', async () => {
  const frames = await played();
  const tasks = readRunTasks(frames);
  const cellOf = (id: string) => tasks.find((one) => one.id === id)!.cells[0]!;
  const { segments } = explainCell(frames, cellOf('c'));
  const tasksOf = segments.flatMap(({ trail }) =>
    trail.flatMap((step) => (step.type === 'task' ? [{ task: step.task, cell: step.cell }] : [])),
  );
  expect(tasksOf).toEqual([
    { task: 'b', cell: cellOf('b') },
    { task: 'a', cell: cellOf('a') },
  ]);
  // And on to the reply in which it was said.
  const last = segments.at(-1)!;
  expect(last.trail.map(({ type }) => type)).toEqual(['crossing', 'task', 'operation']);
});
