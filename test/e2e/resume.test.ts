import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  fileAppears,
  cloisterJson,
  cloister,
  inPackage,
  newFolder,
  nodeNoise,
  startCloister,
  team,
  value,
} from './driver.ts';
import type { ProcessResult } from './driver.ts';

/** The arguments after `npx cloister` of a command printed for pasting. */
const pastedArgs = (text: string, name: string): readonly string[] => {
  const line = text.split('\n').find((one) => one.trim().startsWith(`npx cloister ${name} `));
  if (line === undefined) throw new Error(`No command to paste in:\n${text}`);
  return line.trim().split(' ').slice(2);
};

/** A folder with a run that was killed while it waited in a tool. */
const killRun = async (agent: 'gated' | 'stuck'): Promise<string> => {
  const cwd = newFolder();
  const { kill, ended } = startCloister(['run', agent, 'wait', '--agents', team], { cwd });
  await fileAppears(join(cwd, 'entered'));
  kill('SIGKILL');
  await ended;
  return cwd;
};
let gated: Promise<string> | undefined;

/** Each test that asks for `gated` gets its own copy of the folder. */
const killedRun = async (agent: 'gated' | 'stuck') => {
  const from = await (agent === 'gated' ? (gated ??= killRun(agent)) : killRun(agent));
  const cwd = newFolder();
  cpSync(from, cwd, { recursive: true });
  return { cwd, effects: () => readFileSync(join(cwd, 'effects'), 'utf8') };
};

describe.concurrent('resume', () => {
  test('the command that `runs` prints completes a killed run, and no settled effect happens twice', async () => {
    const { cwd, effects } = await killedRun('gated');
    const { stdout } = await cloister(['runs'], { cwd });
    expect(stdout).toContain('◌ interrupted');
    writeFileSync(join(cwd, 'go'), '');
    const resumed = await cloister(pastedArgs(stdout, 'resume'), { cwd });
    expect(resumed).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    expect(resumed.stderr).toMatch(/started run \w+: wait\n[^]*tool note ok[^]* resumed after [^]*tool gate ok/u);
    expect(resumed.stderr).toMatch(/^total +completed/mu);
    expect(resumed.stderr).not.toMatch(nodeNoise);
    expect(effects()).toBe('before\nat the gate\nat the gate\nafter\n');
    expect((await cloister(['runs'], { cwd })).stdout).not.toContain('resume');
    expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
    expect(await cloisterJson(['replay', 'last'], { cwd })).toMatchObject({ ok: true, differences: [] });
  });

  test('show says how far it got; the tool that may not be repeated is not called again', async () => {
    const { cwd } = await killedRun('stuck');
    const { stdout } = await cloister(['show', 'last'], { cwd });
    expect(stdout).toMatch(/^reached .*: 1 operation settled, 1 in flight$/mu);
    expect(stdout).toMatch(/^stuck-\w+\/1 +tool hang .*not settled$/mu);
    const resumed = await cloister([...pastedArgs(stdout, 'resume'), '--jsonl'], { cwd });
    const events = resumed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ id, type }) => id !== undefined || type === 'outcome');
    expect(events.map(({ type }) => type)).toEqual([
      'session-start',
      'crossing',
      'model-start',
      'model-end',
      'tool-start',
      'run-resume',
      'tool-end',
      'model-start',
      'model-end',
      'crossing',
      'session-end',
      'outcome',
    ]);
    expect(events.find(({ type }) => type === 'tool-end')).toMatchObject({ error: { code: 'indeterminate' } });
    expect(events.at(-1)).toMatchObject({ status: 'completed', output: 'Unstuck.' });
    expect(readFileSync(join(cwd, 'entered'), 'utf8')).toMatch(/^(?:entered\n)?$/u);
  });

  test('a run that is killed again while it is resumed can be resumed again', async () => {
    const { cwd, effects } = await killedRun('gated');
    const again = startCloister(['resume', 'last'], { cwd });
    await again.printed(/resumed after/u);
    const types = async (): Promise<readonly string[]> =>
      (await cloisterJson(['show', 'last'], { cwd })).events.map(({ type }: { type: string }) => type);
    // What was printed may not be on disk yet.
    while (!(await types()).includes('run-resume'));
    again.kill('SIGKILL');
    await again.ended;
    writeFileSync(join(cwd, 'go'), '');
    const { code, stdout, stderr } = await cloister(['resume', 'last'], { cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Through the gate.\n' });
    expect(stderr.match(/resumed after/gu)).toHaveLength(2);
    expect(effects()).toMatch(/^before\n(?:at the gate\n){2,3}after\n$/u);
  });

  test('of two concurrent resumes one takes the run, the other is told who has it; both agree on what comes later', async () => {
    const { cwd } = await killedRun('gated');
    const first = startCloister(['resume', 'last'], { cwd });
    await first.printed(/resumed after/u);
    const second = await cloister(['resume', 'last'], { cwd });
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(
      new RegExp(`^error: This run is already open\\. Run \\w+ is owned by .*${first.pid}.*\\ntry: Wait`, 'u'),
    );
    writeFileSync(join(cwd, 'go'), '');
    expect(await first.ended).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    const ended = await cloister(['resume', 'last'], { cwd });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/^error: This run has already ended\. \w+: completed, .*\ntry: .*cloister show/u);
  });

  test('Ctrl-C stops a resumed run in an orderly way', async () => {
    const { cwd } = await killedRun('gated');
    rmSync(join(cwd, 'entered'));
    const resumed = startCloister(['resume', 'last'], { cwd });
    await resumed.printed(/resumed after/u);
    await fileAppears(join(cwd, 'entered'));
    resumed.kill('SIGINT');
    expect(await resumed.ended).toMatchObject({ code: 130, stdout: '' });
    expect(await cloisterJson(['runs'], { cwd })).toMatchObject([{ state: 'ended', status: 'cancelled' }]);
  });

  test('a changed agent is refused by name, and the run stays as it was', async () => {
    const { cwd } = await killedRun('gated');
    const other = join(newFolder(inPackage, 'resume-'), 'other.ts');
    writeFileSync(other, otherGated);
    const { code, stderr } = await cloister(['resume', 'last', '--agents', other], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: .*"gated".*\ntry: /u);
    expect(stderr).not.toMatch(nodeNoise);
    expect(await cloisterJson(['runs'], { cwd })).toMatchObject([{ state: 'interrupted' }]);
  });

  test('a resume that is refused because the code decides differently leaves the log as it was, however often', async () => {
    const { cwd } = await killedRun('gated');
    const other = join(newFolder(inPackage, 'resume-'), 'other.ts');
    writeFileSync(other, otherModel);
    const before = await cloisterJson(['show', 'last'], { cwd });
    for (let time = 0; time < 2; time++) {
      const refused = await cloisterJson(['resume', 'last', '--agents', other], { cwd });
      expect(refused.error).toMatchObject({ code: 'replay_differs' });
    }
    expect(await cloisterJson(['show', 'last'], { cwd })).toEqual(before);
  });
});

const otherGated = `
  import { defineAgent } from 'cloister';
  import { rehearse } from 'cloister/testkit';
  const models = [rehearse([{ reply: 'Nothing.' }])];
  export default [defineAgent({ name: 'gated', description: 'One.', prompt: 'Be another.', models })];`;

/** The same definitions, but the model has another name. */
const otherModel = `
  import agents from ${JSON.stringify(team)};
  const renamed = (model) => ({ ...model, language: { ...model.language, modelId: 'other' } });
  export default agents.map((agent) => ({ ...agent, resources: { ...agent.resources, models: agent.resources.models.map(renamed) } }));`;

describe('replay, fork and diff of a run of two agents from files', () => {
  const cwd = newFolder();
  let run = '';
  let show: ProcessResult;
  beforeAll(async () => {
    await cloister(['init', '.'], { cwd });
    run = (await cloisterJson(['lead.ai', 'What about backups?'], { cwd })).run;
    show = await cloister(['show', run, '--verbose'], { cwd });
  });
  const at = (pattern: RegExp): string => {
    const [, place] = new RegExp(String.raw`^(\S+/\d+) +${pattern.source}`, 'mu').exec(show.stdout) ?? [];
    if (place === undefined) throw new Error(`No operation ${String(pattern)} in:\n${show.stdout}`);
    return place;
  };

  test('replay: every record is the same, and so is the answer', async () => {
    const { code, stdout, stderr } = await cloister(['replay', run], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, same, all, recorded, replayed] =
      /: (\d+) of (\d+) records identical · ok\nrecorded {2}(\w{64})\nreplayed {2}(\w{64})\n/u.exec(stdout) ?? [];
    expect([same, recorded]).toEqual([all, replayed]);
    expect(stdout).toContain('Answer:\n**Test the restore');
  });

  test('a fork from a listed operation is a run of its own; the command printed at the end compares the two', async () => {
    const place = at(/turn 2: model .*/u);
    const forked = await cloister(['fork', run, '--at', place], { cwd });
    expect(forked.code).toBe(0);
    expect(forked.stdout).toMatch(/^\*\*Test the restore/u);
    expect(forked.stderr).toMatch(new RegExp(`keeps \\d+ records of run ${run} and continues from there`, 'u'));
    const diff = await cloister(pastedArgs(forked.stderr, 'diff'), { cwd });
    expect(diff).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('no differences · ') });
  });

  test('a fork with another goal and without a grant: the diff says what was changed and where it shows', async () => {
    const change = ['--goal', 'Only the weather', '--without-grant', 'result'];
    const forked = await cloisterJson(['fork', run, '--at', 'researcher', ...change], { cwd });
    expect(forked).toMatchObject({ status: 'partial', missing: ['researcher'], forkOf: { run } });
    const diff = await cloister(['diff', run, forked.run], { cwd });
    expect(diff.code).toBe(1);
    expect(diff.stdout).toContain('researcher without the grant result, with the goal "Only the weather"');
    expect(diff.stdout).toMatch(/^ +\+ agent researcher "Only the weather", failed:/mu);
    expect(diff.stdout).toMatch(/^ +\+ result to lead refused: no-grant$/mu);
    expect(diff.stdout.split('\n').every((line) => line.length < 80)).toBe(true);
    const report = await cloisterJson(['diff', forked.run, run], { cwd });
    expect(report).toMatchObject({ same: false, fork: { run: forked.run, from: { run } } });
    expect(await cloisterJson(['audit', forked.run], { cwd })).toMatchObject({ ok: true, refused: 1 });
    expect(await cloisterJson(['replay', forked.run], { cwd })).toMatchObject({ ok: true });
  });

  test('an unknown operation lists those that exist', async () => {
    const { code, stderr } = await cloister(['fork', run, '--at', 'lead/99'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /has no operation 99; it has:\n {2}lead-\w+\/0 turn 1: model .*\n {2}lead-\w+\/1 agent res/u,
    );
    expect(await cloisterJson(['runs'], { cwd })).not.toContainEqual(expect.objectContaining({ state: 'interrupted' }));
  });

  test('a model that is not configured is named, and nothing is started', async () => {
    const before = await cloisterJson(['runs'], { cwd });
    const report = await cloister(['fork', run, '--at', 'lead/0', '--model', 'nowhere/x', '--json'], { cwd });
    expect(report.code).toBe(1);
    expect(value(report).error.message).toContain('nowhere');
    expect(await cloisterJson(['runs'], { cwd })).toEqual(before);
  });

  test('replay with a changed agent says so, by cell and as text, and exits 1', async () => {
    const file = join(cwd, 'researcher.ai');
    const before = readFileSync(file, 'utf8');
    appendFileSync(file, '\nBe brief.\n');
    try {
      const { code, stdout } = await cloister(['replay', run], { cwd });
      expect(code).toBe(1);
      expect(stdout).toMatch(/\d+ of \d+ records identical · \d+ differences?\n/u);
      expect(stdout).toMatch(
        /^ {2}researcher-\w+\/0 \(researcher\), record \d+\n[^]*^ {4}its model would be shown a different prompt/mu,
      );
      const [report = ''] = stdout.split('Answer:');
      expect(report.split('\n').every((line) => line.length < 80)).toBe(true);
    } finally {
      writeFileSync(file, before);
    }
  });

  test('verify runs the same agents without a script: ok, with the seed to repeat it', async () => {
    const report = await cloisterJson(['verify', 'lead', '--pairs', '20', '--seed', '5'], { cwd });
    expect(report).toMatchObject({ ok: true, agent: 'lead', pairs: 20, seed: 5, differences: [] });
    expect(await cloisterJson(['verify', 'lead.ai', '--pairs', '20', '--seed', '5'], { cwd })).toEqual(report);
  });

  test('Ctrl-C stops verify after the current pair: what was tried is reported, exit 130', async () => {
    const { kill, printed, ended } = startCloister(['verify', 'lead.ai', '--pairs', '10000000', '--verbose'], { cwd });
    await printed(/^\d+ of 10,000,000 pairs$/mu);
    kill('SIGINT');
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/^Verify lead: ok\n[\d,]+ of 10,000,000 pairs, then stopped/u);
  });
});
