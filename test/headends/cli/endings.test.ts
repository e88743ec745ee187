import { expect, test } from 'vitest';
import { CloisterError, errorCatalogue } from '#base';
import type { ErrorClass, ErrorCode } from '#base';
import type { Status } from '#contracts';
import { watchInterrupts } from '../../../src/headends/cli/shared/interrupts.ts';
import { cli, emulate, reportOf, scene, settle, startCli } from './driver.ts';

const statusCodes: readonly (readonly [Status, number])[] = [
  ['completed', 0],
  ['partial', 5],
  ['limit', 5],
  ['budget', 5],
  ['timeout', 5],
  ['cancelled', 130],
];
test.each(statusCodes)('a run that ends %s exits %d', async (status, code) => {
  for (const format of [[], ['--json'], ['--jsonl']])
    expect((await cli(['run', 'lead', 'x', ...format], scene({ status }))).code).toBe(code);
});

const classCodes: Readonly<Record<ErrorClass, number>> = {
  config: 1,
  policy: 1,
  auth: 2,
  network: 2,
  model: 2,
  tool: 3,
  indeterminate: 3,
  timeout: 5,
  limit: 5,
  budget: 5,
  schema: 5,
  cancelled: 130,
};
test('the class of a failure decides the exit code, whether it is the outcome or was thrown', async () => {
  for (const [code, entry] of Object.entries(errorCatalogue)) {
    const failure = { code: code as ErrorCode };
    const ended = await cli(['run', 'lead', 'x'], scene({ status: 'failed', failure, answer: '' }));
    const thrown = await cli(['run', 'lead', 'x'], scene(), {
      behaviour: { runThrows: new CloisterError(failure.code) },
    });
    // A run that waits for people has not failed.
    const expected = code === 'approval_needed' ? 6 : classCodes[entry.class];
    expect([code, ended.code, thrown.code]).toEqual([code, expected, expected]);
    expect(ended.stderr).toContain(`error: ${entry.summary}\ntry: ${entry.suggestion}`);
    expect(ended.stdout).toBe('');
  }
});

test('an audit that found problems exits 1 and lists them', async () => {
  const broken = scene({ auditOk: false });
  const { code, stdout } = await cli(['audit', 'last'], broken);
  expect(code).toBe(1);
  expect(stdout).toContain('1 problem\n  chain_broken researcher-12ab34cd56ef/3: Compare SQLite and DuckDB');
  expect((await cli(['audit', 'last', '--json'], broken)).code).toBe(1);
  expect((await cli(['demo'], broken)).code).toBe(1);
});

const held = { behaviour: { holdAfter: 6 } };

test('Ctrl-C once cancels, prints the result so far, and exits 130', async () => {
  for (const terminal of [{}, { tty: true }]) {
    const run = startCli(['run', 'lead', 'x'], scene(), { ...held, terminal });
    await settle();
    run.interrupt();
    expect(await run.code).toBe(130);
    expect(run.screen()).toContain('stopping… (Ctrl-C again to stop immediately)');
    expect(run.stdout()).toContain('SQLite for rows,');
    expect(emulate(run.screen(), 80).cursorVisible).toBe(true);
  }
});

test('text before a tool call is no answer of a run that was stopped', async () => {
  const said = 'Let me ask three workers.';
  const stopped = scene({ answer: said });
  const behaviour = { ...held.behaviour, report: { ...reportOf(stopped), output: '' } };
  for (const flags of [[], ['--json'], ['--jsonl'], ['--stream']])
    for (const terminal of [{}, { tty: true }]) {
      const run = startCli(['run', 'lead', 'x', ...flags], stopped, { behaviour, terminal });
      await settle();
      run.interrupt();
      expect([flags, await run.code]).toEqual([flags, 130]);
      const printed = flags.includes('--jsonl') ? run.stdout().trimEnd().split('\n').at(-1)! : run.stdout();
      const [, output] = /"output": ?"(?<text>[^"]*)"/u.exec(printed) ?? [];
      expect([flags, output]).toEqual([flags, flags[0]?.startsWith('--json') === true ? '' : undefined]);
      if (output === undefined) expect(printed).not.toContain(said);
    }
});

// invariant: command-restores-terminal
test('Ctrl-C twice exits immediately with the terminal restored, and nothing is written later', async () => {
  const released = Promise.withResolvers<void>();
  const run = startCli(['run', 'lead', 'x'], scene(), {
    terminal: { tty: true },
    behaviour: { holdAfter: 6, deaf: true, released: released.promise },
  });
  await settle();
  run.interrupt();
  await run.pass(500);
  run.interrupt();
  expect(await run.code).toBe(130);
  const left = run.screen();
  expect(emulate(left, 80).cursorVisible).toBe(true);
  released.resolve();
  await run.pass(1000);
  expect(run.screen()).toBe(left);
});

test('a run that completes in spite of Ctrl-C still exits 130', async () => {
  const released = Promise.withResolvers<void>();
  const run = startCli(['run', 'lead', 'x'], scene(), {
    behaviour: { holdAfter: 6, deaf: true, released: released.promise },
  });
  await settle();
  run.interrupt();
  released.resolve();
  expect(await run.code).toBe(130);
  expect(run.stderr()).toContain('Summary');
});

test('one key press that arrives as two signals stops cleanly', async () => {
  const run = startCli(['run', 'lead', 'x'], scene(), held);
  await settle();
  run.interrupt();
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(run.stderr()).toContain('Summary');
});

test('two signals that a stalled process reads late, but together, are one key press', () => {
  let now = 0;
  let interrupt = (): void => undefined;
  const timers: (() => void)[] = [];
  const stops: string[] = [];
  const world = {
    now: () => now,
    timer: (_: number, due: () => void) => (timers.push(due), () => undefined),
    onInterrupt: (listener: () => void) => ((interrupt = listener), () => undefined),
  };
  const interrupts = watchInterrupts(world);
  interrupts.onFirst(() => stops.push('first'));
  interrupt();
  // It was not run for a second. A timer that is due comes before the signals.
  now += 1_000;
  timers.shift()?.();
  interrupts.reset();
  interrupt();
  expect(stops).toEqual(['first']);
  timers.shift()?.();
  interrupt();
  expect(stops).toEqual(['first', 'first']);
});

test('Ctrl-C before the run starts prevents it', async () => {
  const run = startCli(['run', 'lead', 'x'], scene());
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(run.stdout()).toBe('');
});

test('an outcome that cannot be recorded is reported even if the events hang', async () => {
  const { code, stderr } = await cli(['run', 'lead', 'x'], scene(), {
    behaviour: { outcomeRejects: new CloisterError('store_failed') },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('error: The workspace cannot be written to.');
});
