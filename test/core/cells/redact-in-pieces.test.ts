import { expect, test, vi } from 'vitest';
import { makeRedact } from '#testing/core/registry';
import { virtualClock } from '#testkit';
import { StepRunner } from '../../../src/core/cells/step-runner.ts';

const secret = 'k3J9-xQ72-vLm4-ZbT8-wPq5';
const redact = makeRedact([secret])!;

/** A step that nothing but the redaction is asked of. */
const openStep = () => {
  const clock = virtualClock();
  const redactFor = vi.fn<() => typeof redact>(() => redact);
  const owner = {
    cellId: 'solo-1',
    run: { time: () => 0, redactFor },
    agent: null,
    settle: () => undefined,
    emit: () => undefined,
  };
  const started: any = { no: 0, operation: { do: 'step', name: 'tool:long' }, result: undefined };
  return { clock, started, redactFor, step: new StepRunner(owner as any, { clock } as any, started) };
};

test('a long text is searched in pieces, with a turn for others between them, and no cut hides a secret', async () => {
  for (const at of [999_980, 999_999, 1_000_000, 1_999_990]) {
    const { clock, step } = openStep();
    const text = `${'x'.repeat(at)}${secret}${'[redacted]y'.repeat(100_000)}`;
    const redacted = step.redactInPieces(text);
    expect(clock.waiting).toBe(1);
    await clock.runAll();
    expect((await redacted) === redact.text(text)).toBe(true);
  }
});

test('a short text is searched at once', async () => {
  const { clock, step } = openStep();
  const redacted = step.redactInPieces(`It is ${secret}.`);
  expect(clock.waiting).toBe(0);
  expect(await redacted).toBe('It is [redacted].');
});

test('a step that was stopped meanwhile works no longer', async () => {
  const { clock, started, step } = openStep();
  const redacted = step.redactInPieces('x'.repeat(5_000_000));
  started.result = { at: 0, ok: false, failure: { code: 'cancelled' } };
  await Promise.all([clock.runAll(), expect(redacted).rejects.toThrow('cancelled')]);
  expect(clock.waiting).toBe(0);
});

test('a step asks once for its redactor, however many pieces a reply has', async () => {
  const { redactFor, step } = openStep();
  for (let piece = 0; piece < 100; piece++) step.emit({ type: 'text-delta', text: `Piece ${piece}. ` });
  expect([step.redacts, step.redact(secret), redactFor.mock.calls.length]).toEqual([true, '[redacted]', 1]);
});
