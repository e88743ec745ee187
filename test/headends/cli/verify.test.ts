import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { VerifyReport } from '#contracts';
import type { CliRuntime } from '#headends/cli';
import { verifyOf } from './checks.ts';
import { cli, emulate, scene, settle, startCli } from './driver.ts';

type VerifyOptions = Parameters<CliRuntime['verify']>[0];

test('verify passes its arguments on; the default is a thousand pairs', async () => {
  const asked: VerifyOptions[] = [];
  const verify = async (options: VerifyOptions): Promise<VerifyReport> => {
    asked.push(options);
    return verifyOf(scene());
  };
  const args = ['--pairs', '20', '--seed', '7', '--agents', 'a.ai', '--agents', 'b', '--config', 'c.json'];
  await cli(['verify', './team/lead.ai', ...args], scene(), { behaviour: { verify } });
  await cli(['verify', 'research'], scene(), { behaviour: { verify } });
  expect(asked).toMatchObject([
    { agent: './team/lead.ai', pairs: 20, seed: 7, agents: ['a.ai', 'b'], config: 'c.json' },
    { agent: 'research', pairs: 1000, agents: [] },
  ]);
  expect(asked[1]).toMatchObject({ seed: null, config: null });
});

test('no difference: ok, pairs, observations, bytes and the seed, exit 0', async () => {
  expect(await cli(['verify', 'lead'])).toMatchObject({
    code: 0,
    stdout: 'Verify lead: ok\n1,000 pairs · 12,345 observations compared, 3,456,789 bytes · seed 42\n',
    stderr: '',
  });
});

test('a difference: sink, offset, both sides marked, the shortest case and the command for it, exit 1', async () => {
  const { code, stdout } = await cli(['verify', 'lead'], scene({ auditOk: false }));
  expect(code).toBe(1);
  expect(stdout.split('\n')).toEqual([
    'Verify lead: 1 difference',
    '1,000 pairs · 12,345 observations compared, 3,456,789 bytes · seed 42',
    '',
    '1. researcher #1: request 3 to the model, at offset 1,234',
    '   − the same words, then «Compare SQLite and DuckDB» and the same end',
    String.raw`   + the same words, then «SQLite for rows,\nDuckDB for columns.!» and the sam…`,
    '   changed:  lead',
    '   shortest: pair 17: one turn of lead, no tools',
    '   reproduce with:',
    '     npx cloister verify lead --seed 59 --pairs 1',
    '',
  ]);
});

test('what could not be checked is noted', async () => {
  const verify = async () => ({ ...verifyOf(scene()), notes: ['"lead" calls no other agents.', 'x '.repeat(60)] });
  const { stdout } = await cli(['verify', 'lead'], scene(), { behaviour: { verify } });
  expect(stdout).toContain('· seed 42\nnote: "lead" calls no other agents.\nnote: x x x');
  expect(emulate(stdout, 80).wrapped).toBe(false);
});

test('--json is exactly the report', async () => {
  for (const given of [scene(), scene({ auditOk: false })]) {
    const { code, stdout, stderr } = await cli(['verify', 'lead', '--json'], given);
    expect(JSON.parse(stdout)).toEqual(verifyOf(given));
    expect({ code, stderr }).toEqual({ code: given.auditOk ? 0 : 1, stderr: '' });
  }
});

/** Verifies until it is stopped or released; `tell` advances its count. */
const held = (args: readonly string[], tty: boolean) => {
  const released = Promise.withResolvers<number>();
  let tell = (_pairs: number): void => {};
  const verify = async ({ signal, progress, pairs }: VerifyOptions): Promise<VerifyReport> => {
    let done = 0;
    tell = (count) => progress((done = count));
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    await Promise.race([stopped, released.promise]);
    return verifyOf(scene(), { pairs: signal.aborted ? done : pairs });
  };
  const run = startCli(['verify', 'lead', ...args], scene(), { terminal: { tty }, behaviour: { verify } });
  return { run, tell: (pairs: number) => tell(pairs), release: () => released.resolve(0) };
};

test('a terminal shows the pairs so far, and in the end only the report', async () => {
  const { run, tell, release } = held([], true);
  await settle();
  tell(312);
  await run.pass(100);
  expect(emulate(run.screen(), 80)).toMatchObject({ lines: ['312 of 1,000 pairs'], cursorVisible: false });
  release();
  expect(await run.code).toBe(0);
  const { lines, cursorVisible } = emulate(run.screen(), 80);
  expect(lines).toEqual(['Verify lead: ok', '1,000 pairs · 12,345 observations compared, 3,456,789 bytes · seed 42']);
  expect(cursorVisible).toBe(true);
});

test('--verbose prints the pairs so far in a few lines', async () => {
  const verify = async ({ progress, pairs }: VerifyOptions): Promise<VerifyReport> => {
    for (let done = 1; done <= pairs; done++) progress(done);
    return verifyOf(scene(), { pairs });
  };
  const { stderr } = await cli(['verify', 'lead', '--verbose', '--pairs', '10'], scene(), { behaviour: { verify } });
  expect(stderr).toBe([1, 2, 4, 8].map((done) => `${done} of 10 pairs\n`).join(''));
});

test('Ctrl-C stops after the current pair and reports the pairs so far, exit 130', async () => {
  for (const [args, tty] of [
    [[], true],
    [[], false],
    [['--json'], false],
  ] as const) {
    const { run, tell } = held(args, tty);
    await settle();
    tell(312);
    run.interrupt();
    expect(await run.code).toBe(130);
    if (args.length > 0) expect(JSON.parse(run.stdout())).toMatchObject({ pairs: 312, seed: 42, stopped: true });
    else expect(run.stdout()).toContain('312 of 1,000 pairs, then stopped');
    expect(emulate(run.screen(), 80).cursorVisible).toBe(true);
  }
});

test('a report without pairs is not ok', async () => {
  const { run } = held([], false);
  await settle();
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(run.stdout()).toContain('Verify lead: no pairs were run\n');
});

test('Ctrl-C twice exits immediately with the terminal restored', async () => {
  const verify = (): Promise<VerifyReport> => new Promise(() => {});
  const run = startCli(['verify', 'lead'], scene(), { terminal: { tty: true }, behaviour: { verify } });
  await settle();
  run.interrupt();
  await run.pass(500);
  expect(run.screen()).toContain('stopping after this pair…');
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(emulate(run.screen(), 80).cursorVisible).toBe(true);
});

test('an unknown agent is reported without any progress output', async () => {
  const verify = async (): Promise<VerifyReport> => {
    throw new CloisterError('agent_unknown', '"lead" is not one of: a, b.');
  };
  const run = startCli(['verify', 'lead'], scene(), { terminal: { tty: true }, behaviour: { verify } });
  expect(await run.code).toBe(1);
  const { lines, cursorVisible } = emulate(run.screen(), 200);
  expect(lines[0]).toBe('error: No agent has that name. "lead" is not one of: a, b.');
  expect(cursorVisible).toBe(true);
});

test('two sides never look alike, and none is wider than the terminal, wherever they differ', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', ' ', '界', '\n', '\u0000', '\u200B', '\uD800'),
    maxLength: 300,
  });
  return fc.assert(
    fc.asyncProperty(
      text,
      text,
      text,
      text,
      fc.integer({ min: 30, max: 120 }),
      async (head, one, other, tail, columns) => {
        fc.pre(one !== other);
        const [difference] = verifyOf(scene({ auditOk: false })).differences;
        const differences = [{ ...difference!, one: `${head}${one}${tail}`, other: `${head}${other}${tail}` }];
        const { stdout } = await cli(['verify', 'lead'], scene(), {
          terminal: { tty: true, columns },
          behaviour: { verify: async () => verifyOf(scene(), { ok: false, differences }) },
        });
        const [left = '', right = ''] = ['   − ', '   + '].map((sign) =>
          stdout.split('\n').find((line) => line.startsWith(sign)),
        );
        expect(left.slice(5)).not.toBe(right.slice(5));
        expect(emulate(`${left}\n${right}\n`, columns).wrapped).toBe(false);
      },
    ),
    { numRuns: 150 },
  );
});

test.each([
  ['--pairs', '0', /1 or more/u],
  ['--pairs', '-1', /whole number|1 or more/u],
  ['--pairs', 'many', /whole number/u],
  ['--seed', '1.5', /whole number/u],
])('%s %s is refused', async (option, value, says) => {
  const { code, stderr } = await cli(['verify', 'lead', option, value]);
  expect(code).toBe(4);
  expect(stderr).toMatch(says);
});
