// A run keeps the format in which it was started: a later build continues, replays and audits it with the versions of that format.
import { afterEach, expect, test } from 'vitest';
import { recordFormats } from '#base';
import type { RunId } from '#base';
import type { Frame, RunPorts } from '#contracts';
import { auditRun } from '#core/audit';
import { checkResume, defineAgent, defineTeam, replayRun, resumeRun, startRun } from '#core/orchestration';
import { rules, versionsByFormat } from '#core/rules';
import { holdRulesByVersion } from '#testing/core/rules';
import type { HoldRules } from '#core/rules';
import { newestTeamTexts, teamTextsByVersion } from '#core/tasks';
import type { TeamTexts } from '#core/tasks';
import { memoryCellFolders } from '#adapters/cell-folders';
import { validate } from '#adapters/schemas';
import { rehearse } from '#testkit';

const older = recordFormats.oldest - 1;
const tables = [rules, versionsByFormat, holdRulesByVersion, teamTextsByVersion] as unknown as Record<
  string,
  unknown
>[];
const [ruleTable, formatTable, holdTable, textTable] = tables as [
  Record<string, (typeof rules)['goal@1']>,
  Record<number, (typeof versionsByFormat)[number]>,
  Record<number, HoldRules>,
  Record<number, TeamTexts>,
];

/** An invented earlier format, in which the goal, the holds and the goals of tasks were different. */
const addOlderFormat = (): void => {
  recordFormats.oldest = older;
  const newest = rules['goal@1'];
  ruleTable['goal@0'] = (sources, numbers) =>
    JSON.parse(JSON.stringify(newest(sources, numbers)).replace('Your task', 'Work'));
  holdTable[0] = { ...holdRulesByVersion[1]!, hold: () => ({ tokens: 77 }) };
  textTable[0] = { ...newestTeamTexts, taskGoal: (title, text) => `Old task ${title}: ${text}` };
  formatTable[older] = { earlierRules: { 'goal@1': 'goal@0' }, holdEstimate: 0, teamTexts: 0 };
};

afterEach(() => {
  recordFormats.oldest = older + 1;
  delete ruleTable['goal@0'];
  delete holdTable[0];
  delete textTable[0];
  delete formatTable[older];
});

const member = defineAgent({
  name: 'member',
  description: 'Works.',
  prompt: 'Work.',
  tools: [
    { name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, repeat: 'free', execute: () => 'seen' },
  ],
});
const team = defineTeam({ name: 'team', agents: [member] });
const agents = [member, team];

const worldFor = (frames: Frame[], format: number): RunPorts => {
  let ids = frames.length;
  const model = rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'look', args: {} }] } }, { reply: 'Done.' }]);
  return {
    run: 'run-1' as RunId,
    log: { append: (frame) => void frames.push(frame), durable: () => undefined, close: async () => undefined },
    clock: { now: () => 1_000, timer: () => () => undefined },
    ids: { random: () => String(++ids) },
    recordedBy: { format, build: `build of format ${format}` },
    workspaces: memoryCellFolders(),
    validate,
    resources: { resourcesFor: () => ({ models: [{ language: model }], sources: [] }) },
    storeBlob: async () => '',
    readBlob: async () => new Uint8Array(),
    lane: () => undefined,
  };
};

const findAgent = (name: string) => agents.find((agent) => agent.name === name);
const auditOf = (frames: readonly Frame[]) => auditRun(frames, { readBlob: async () => new Uint8Array(), damaged: [] });

const start = async (name: 'member' | 'team', format: number): Promise<Frame[]> => {
  const frames: Frame[] = [];
  const goal =
    name === 'member'
      ? 'Count'
      : JSON.stringify({ goal: null, answer: false, tasks: [{ id: 'a', title: 'Count', description: 'Count it.' }] });
  await startRun(findAgent(name)!, goal, undefined, worldFor(frames, format)).outcome;
  return frames;
};

// invariant: format-for-life
test.each(['member', 'team'] as const)(
  'a run of an earlier format is audited, replayed and resumed as it was (%s)',
  async (name) => {
    addOlderFormat();
    const frames = await start(name, older);
    const text = JSON.stringify(frames);
    const expected = name === 'member' ? '"goal@0"' : 'Old task Count: Count it.';
    expect(text).toContain(expected);
    expect(text).toContain('"hold":{"tokens":77');
    expect(await auditOf(frames)).toMatchObject({ ok: true, problems: [] });
    const ports = worldFor([], recordFormats.newest);
    expect(await replayRun(frames, findAgent, ports)).toMatchObject({ ok: true, differences: [] });
    for (let kept = 1; kept < frames.length; kept++) {
      const resumed = frames.slice(0, kept);
      await resumeRun(checkResume(resumed.slice(), findAgent), worldFor(resumed, recordFormats.newest)).outcome;
      expect(resumed.at(-1)?.record).toMatchObject({ type: 'close', outcome: { status: 'completed' } });
      expect(resumed[kept]?.record).toMatchObject({ type: 'resume', build: `build of format ${recordFormats.newest}` });
      const later = resumed.slice(kept).filter(({ record }) => record.type === 'begin' && record.hold !== undefined);
      for (const { record } of later) expect(record).toMatchObject({ hold: { tokens: 77 } });
      expect(await auditOf(resumed)).toMatchObject({ ok: true, problems: [] });
    }
  },
);

test('a run that this build starts has the newest format', async () => {
  addOlderFormat();
  const text = JSON.stringify(await start('member', recordFormats.newest));
  expect(text).toContain('"goal@1"');
  expect(text).not.toContain('"goal@0"');
  expect(text).not.toContain('"hold":{"tokens":77');
});
