import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  cloister,
  cloisterJson,
  inPackage,
  newFolder,
  nodeNoise,
  readWithCloister,
  repo,
  startCloister,
} from './driver.ts';

/** The example as a user has it, with one change. */
const changedResearch = (change: (code: string) => string): string => {
  mkdirSync(join(repo, 'test/.planted'), { recursive: true });
  const folder = newFolder(join(repo, 'test/.planted'), 'demo-');
  cpSync(join(repo, 'examples/research'), folder, { recursive: true });
  const file = join(folder, 'operator.ai');
  const before = readFileSync(file, 'utf8');
  const after = change(before);
  expect(after).not.toBe(before);
  writeFileSync(file, after);
  return join(folder, 'lead.ai');
};

/** What the demo says of each step, by agent and what its model does. */
const stepsOf = (stdout: string) =>
  [...stdout.matchAll(/^(desk|accountant|reader) +((?:asks|calls) \w+(?:, \w+)?|answers) +(.*)$/gmu)].map(
    ([, agent, does, rest = '']) => `${agent} ${does}: ${rest.split(/ {2,}/u).join(' | ')}`,
  );

describe.concurrent('the demo', () => {
  test('shows who saw the secret on both sides, what left, and what was stopped', async () => {
    const cwd = newFolder();
    const { code, stdout, stderr } = await cloister(['demo'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stepsOf(stdout)).toEqual([
      'desk asks accountant, reader: · | ·',
      'accountant calls read_notes: · | ·',
      'accountant answers: its own notes | its own notes',
      'reader calls read_page: sees the secret | ·',
      'reader calls send_message: – | refused',
      'reader calls send_mail: sees the secret, mail sent waits, is denied',
      'reader answers: sees the secret | ·',
      'desk answers: sees the secret | ·',
    ]);
    expect(stdout).toMatch(/^The plain loop sent 1 mail\n {2}to deals@bluebird\.example: CONFIDENTIAL: .*412 euros/mu);
    expect(stdout).toMatch(/^Cloister sent 0 mails, .*\n {2}refused: a message of \d+ bytes from reader to desk/mu);
    expect(stdout).toMatch(/waited for a person: desk > reader wants to call office__send_mail/u);
    expect(stdout).toMatch(/accountant’s +4 of 5 +0 of 6$/mu);
    expect(stdout).toMatch(/^Same answer: Offer to Bluebird/mu);
    expect(stdout).toMatch(/^Audit: 7 crossings, 1 refused · 8 prompts, .* 0 bytes unattributed/mu);
    expect(stdout).toMatch(/observations\s+of the others compared, [\d,]+ bytes · ok$/mu);
    expect(stdout.split('\n').filter((line) => line.length > 79 && !/npx cloister |plain-loop/u.test(line))).toEqual(
      [],
    );
    expect(stdout + stderr).not.toMatch(nodeNoise);

    const [, explain = ''] = /npx cloister (explain .*)/u.exec(stdout) ?? [];
    const words = [...explain.matchAll(/"([^"]*)"|(\S+)/gu)].map(([, quoted, plain]) => quoted ?? plain ?? '');
    const explained = await cloister(words, { cwd });
    expect(explained.stdout).toMatch(/occurs in 1 segment:[^]*operation reader-\w+\/2 tool:office__read_page/u);
  });

  test('with --json prints one value, whose figures are those of the log', async () => {
    const cwd = newFolder();
    const report = await cloisterJson(['demo', '--workspace', './here'], { cwd });
    expect(report).toMatchObject({
      secret: '412 euros',
      plain: { sent: [{ to: 'deals@bluebird.example', text: expect.stringContaining('412 euros') }] },
      cloister: {
        status: 'completed',
        sent: [],
        refusals: [{ kind: 'message', reason: 'no-grant' }],
        asked: [{ path: ['desk', 'reader'], tool: 'office__send_mail', state: 'denied' }],
        audit: { ok: true, unattributedBytes: 0, problems: [] },
      },
      verify: { ok: true, differences: [] },
      workspace: join(cwd, 'here'),
    });
    const where = ['--workspace', './here'];
    const finds = async (agent: string) =>
      (await readWithCloister(['explain', 'last', agent, '--find', report.secret, ...where], { cwd })).code === 0;
    expect(await Promise.all(['desk', 'accountant', 'reader'].map(finds))).toEqual([false, true, false]);
    expect((await cloisterJson(['audit', 'last', ...where], { cwd })).refused).toBe(1);
  });

  test('counts a mail that was sent in Cloister, too: there, when a person allows it', async () => {
    const folder = newFolder(inPackage, 'allowed-');
    cpSync(join(repo, 'examples/side-by-side'), folder, { recursive: true });
    const log = `import { appendFileSync } from 'node:fs';\n`;
    const office = join(folder, 'office.mjs');
    const code = readFileSync(office, 'utf8').replace('sent.push(mail);', `appendFileSync('sent', mail.to);`);
    writeFileSync(office, `${log}${code}`);
    const ended = await cloister([join(folder, 'desk.ai'), 'Make an offer.'], { cwd: folder });
    expect(ended.code).toBe(6);
    const [{ id, sha256 }] = await cloisterJson(['questions'], { cwd: folder });
    expect((await cloister(['answer', id, 'allow', '--sha256', sha256], { cwd: folder })).code).toBe(0);
    expect(readFileSync(join(folder, 'sent'), 'utf8')).toBe('deals@bluebird.example');
  });

  test('Ctrl-C ends it with one line, and leaves a run that can be read', async () => {
    const cwd = newFolder();
    const { kill, printed, ended } = startCloister(['demo'], { cwd });
    await printed(/trap/u);
    kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/^stopping…/u);
    expect(stdout + stderr).not.toMatch(nodeNoise);
  });
});

describe.concurrent('the research team', () => {
  test('shows the work, the answer, what it cost and where to look further', async () => {
    const cwd = newFolder();
    const { code, stdout, stderr } = await cloister([join(repo, 'examples/research/lead.ai'), 'SQLite?'], { cwd });
    expect(code).toBe(0);
    for (const agent of ['operator', 'engineer', 'analyst']) {
      expect(stderr).toMatch(new RegExp(`^[\\d:]{8} lead  → ${agent}  started$`, 'mu'));
      expect(stderr).toMatch(new RegExp(`^[\\d:]{8} child:${agent}  tool notes__\\w+ ok`, 'mu'));
      expect(stderr).toMatch(new RegExp(`^[\\d:]{8} lead  ← ${agent}  completed`, 'mu'));
      expect(stderr).toMatch(new RegExp(`^[├└]─${agent} +completed`, 'mu'));
    }
    expect(stderr).toMatch(/child:operator {2}model \S+ failed .*rate limit/u);
    expect(stdout).toMatch(/^Use SQLite for records that change/u);
    expect(stdout).toContain('[found by operator; same source: engineer]');
    expect(stderr).toMatch(/^Summary\n.*requests.*\nlead +completed[^]*^total +completed/mu);
    expect(stderr).toContain(`\nWorkspace: ${join(cwd, '.cloister')}\n`);
    expect(stdout + stderr).not.toMatch(nodeNoise);

    const further = [...stderr.matchAll(/^ {2}npx cloister (show|explain|audit) (.*)$/gmu)];
    expect(further.map(([, name]) => name)).toEqual(['show', 'explain', 'audit']);
    for (const [, name = '', rest = ''] of further) {
      const args = [...rest.matchAll(/"([^"]*)"|(\S+)/gu)].map(([, quoted, plain]) => quoted ?? plain ?? '');
      expect([name, (await cloister([name, ...args], { cwd })).code]).toEqual([name, 0]);
    }
  });

  test('without one researcher’s grant to answer is partial, and says what was refused', async () => {
    const file = changedResearch((code) => code.replace('grants: [goal, result]', 'grants: [goal]'));
    const cwd = newFolder();
    const { code, stdout, stderr } = await cloister([file, 'SQLite or DuckDB?'], { cwd });
    const refusal = /crossing refused: result operator → lead/u;
    expect(code).toBe(5);
    expect(stderr).toMatch(refusal);
    expect(stderr).toMatch(/^total +partial/mu);
    expect(stderr).toMatch(/^no complete answer from: operator$/mu);
    expect(stdout).toContain('Not every researcher answered');
    expect(stdout).not.toContain('backup command');

    const [shown, audited] = await Promise.all([
      cloister(['show', 'last'], { cwd }),
      cloister(['audit', 'last'], { cwd }),
    ]);
    expect(shown.stdout).toMatch(refusal);
    expect(audited.stdout).toMatch(/1 refused .* 0 bytes unattributed · ok/u);
    expect(audited.stdout).toMatch(refusal);
    expect(audited.code).toBe(0);
  });
});
