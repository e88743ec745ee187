import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cloisterJson, cloister, newFolder, nodeNoise, repo } from './driver.ts';

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

describe.concurrent('the demo', () => {
  test('shows the work, the answer, what it cost, the audit, and where to look further', async () => {
    const cwd = newFolder();
    const { code, stdout, stderr } = await cloister(['demo'], { cwd });
    expect(code).toBe(0);
    for (const agent of ['operator', 'engineer', 'analyst']) {
      expect(stderr).toMatch(new RegExp(`^[\\d:]{8} lead  → ${agent}  started$`, 'mu'));
      expect(stderr).toMatch(new RegExp(`^[\\d:]{8} child:${agent}  tool notes__\\w+ ok`, 'mu'));
      expect(stderr).toMatch(new RegExp(`^[\\d:]{8} lead  ← ${agent}  completed`, 'mu'));
      expect(stdout).toMatch(new RegExp(`^[├└]─${agent} +completed`, 'mu'));
    }
    expect(stderr).toMatch(/child:operator {2}model \S+ failed .*rate limit/u);
    expect(stdout).toMatch(/^Use SQLite for records that change/u);
    expect(stdout).toContain('[found by operator; same source: engineer]');
    expect(stdout).toMatch(/^Summary\n.*requests.*\nlead +completed[^]*^total +completed/mu);
    expect(stdout).toMatch(
      /^Audit: 8 crossings, all granted · \d+ prompts, [\d,]+ bytes · 0 bytes unattributed · ok$/mu,
    );
    expect(stdout).toContain(`\nWorkspace: ${join(cwd, '.cloister')}\n`);
    expect(stdout + stderr).not.toMatch(nodeNoise);

    const further = [...stdout.matchAll(/^ {2}npx cloister (show|explain|audit) (.*)$/gmu)];
    expect(further.map(([, name]) => name)).toEqual(['show', 'explain', 'audit']);
    for (const [, name = '', rest = ''] of further) {
      const args = [...rest.matchAll(/"([^"]*)"|(\S+)/gu)].map(([, quoted, plain]) => quoted ?? plain ?? '');
      expect([name, (await cloister([name, ...args], { cwd })).code]).toEqual([name, 0]);
    }
  });

  test('with --json prints one value', async () => {
    const cwd = newFolder();
    const report = await cloisterJson(['demo', '--workspace', './here'], { cwd });
    expect(report).toMatchObject({
      status: 'completed',
      output: expect.stringContaining('SQLite'),
      spent: { usd: expect.any(Number), spawns: 3 },
      audit: { ok: true, unattributedBytes: 0, problems: [] },
      workspace: join(cwd, 'here'),
    });
    expect(report.cells.map(({ agent }: { agent: string }) => agent)).toEqual([
      'lead',
      'operator',
      'engineer',
      'analyst',
    ]);
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
