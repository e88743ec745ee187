// Calls that a crash has interrupted, by the operator's policy.
// invariants: policy-of-operator, made-again-only-if-allowed
import { describe, expect, test } from 'vitest';
import type { ApprovalMarks, Frame, IndeterminatePolicy } from '#contracts';
import type { ScriptLine } from '#testkit';
import { openIn, problemsIn, replayOf, runAnswering, startAsking, withMarks } from './driver.ts';
import { agent, call, tool } from '../session/driver.ts';

const payment = { what: 'ring' };

/** An agent that pays once, and whether it has. */
const payer = (marks?: ApprovalMarks) => {
  const paid: unknown[] = [];
  const execute = (args: unknown): string => {
    paid.push(args);
    return 'Paid.';
  };
  const root = agent('root', { tools: [{ ...tool('pay', execute), repeat: 'never' }] });
  return { root: marks === undefined ? root : withMarks(root, marks), paid };
};

const says: readonly ScriptLine[] = [
  { when: { turn: 1 }, reply: call('pay', payment) },
  { when: { turn: 2 }, reply: { text: 'Done.' } },
];

/** By which right the operator answers. */
const rightFor = (marks: ApprovalMarks | undefined) =>
  ({ right: marks?.['pay']?.by === undefined ? 'caller' : 'named' }) as const;

/** The log of a run that died while the call was in flight. */
const interrupted = async (marks?: ApprovalMarks): Promise<readonly Frame[]> => {
  const { root } = payer(marks);
  const { frames } = await runAnswering(root, { says }, () => rightFor(marks));
  const began = frames.findIndex(({ record }) => record.type === 'begin' && record.name === 'tool:pay');
  return frames.slice(0, began + 1);
};

const shown = (requests: readonly { readonly prompt: unknown }[]): string => JSON.stringify(requests.at(-1)?.prompt);

const checkRecord = async (frames: readonly Frame[], root: Parameters<typeof replayOf>[1]): Promise<void> => {
  expect(await problemsIn(frames)).toEqual([]);
  expect(await replayOf(frames, root)).toMatchObject({ ok: true, differences: [] });
};

test('without a policy the model is told that the outcome is unknown', async () => {
  const { root, paid } = payer();
  const { frames, outcome, requests } = await runAnswering(root, { says, from: await interrupted() });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(shown(requests)).toContain('its outcome is unknown');
  expect(paid).toEqual([]);
  expect(JSON.stringify(frames)).not.toContain('"indeterminate":"');
  await checkRecord(frames, root);
});

test('fail: the agent that made the call ends as failed, and its model is not asked again', async () => {
  const { root, paid } = payer();
  const from = await interrupted();
  const { frames, outcome, requests } = await runAnswering(root, { says, from, indeterminate: 'fail' });
  expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'indeterminate' } });
  expect(requests).toEqual([]);
  expect(paid).toEqual([]);
  await checkRecord(frames, root);
});

describe.each([
  ['a tool without a mark', undefined],
  ['a marked tool', { pay: { by: ['operator'] } }],
] as const)('ask, for %s', (_name, marks) => {
  test('nothing happens before a person has answered', async () => {
    const { root, paid } = payer(marks);
    const started = startAsking(root, { says, from: await interrupted(marks), indeterminate: 'ask' });
    await started.settle();
    expect(started.open().map(({ record }) => record.question)).toMatchObject([
      { tool: 'pay', args: payment, why: 'tool', unknown: expect.any(Number) },
    ]);
    expect(paid).toEqual([]);
    expect(started.requests).toEqual([]);
    started.live.do({ do: 'cancel' });
    await started.end();
  });

  test('the call is made again once if the person allows it', async () => {
    const { root, paid } = payer(marks);
    const right = rightFor(marks);
    const asking = { says, from: await interrupted(marks), indeterminate: 'ask' } as const;
    const { frames, outcome, requests } = await runAnswering(root, asking, () => right);
    expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(paid).toEqual([payment]);
    expect(shown(requests)).toContain('Paid.');
    await checkRecord(frames, root);
  });

  test('if not, the model is told that the outcome is unknown, and what the person knows', async () => {
    const { root, paid } = payer(marks);
    const right = rightFor(marks);
    const asking = { says, from: await interrupted(marks), indeterminate: 'ask' } as const;
    const denied = { ...right, allow: false, reason: 'It was paid.' };
    const { frames, outcome, requests } = await runAnswering(root, asking, () => denied);
    expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(paid).toEqual([]);
    expect(shown(requests)).toContain('its outcome is unknown. They said: It was paid.');
    await checkRecord(frames, root);
  });
});

test('an answer that was to cover later calls does not cover a call that may have taken effect', async () => {
  const marks = { pay: {} };
  const { root } = payer(marks);
  const first = await runAnswering(root, { says }, () => ({ remember: 'run' }));
  const began = first.frames.findIndex(({ record }) => record.type === 'begin' && record.name === 'tool:pay');
  const from = first.frames.slice(0, began + 1);
  const started = startAsking(root, { says, from, indeterminate: 'ask' });
  await started.settle();
  expect(started.open()).toHaveLength(1);
  started.live.do({ do: 'cancel' });
  await started.end();
});

test('what was recorded holds: a crash at any point, resumed under another policy, asks no second time for the same', async () => {
  const { root } = payer();
  const from = await interrupted();
  const { frames } = await runAnswering(root, { says, from, indeterminate: 'ask' }, () => ({ allow: false }));
  const resumed = frames.findIndex(({ record }) => record.type === 'resume');
  expect(resumed).toBeGreaterThan(0);
  const policies: readonly IndeterminatePolicy[] = ['continue', 'ask', 'fail'];
  for (let kept = resumed + 1; kept < frames.length; kept++)
    for (const indeterminate of policies) {
      const { root: again, paid } = payer();
      const asking = { says, from: frames.slice(0, kept), indeterminate } as const;
      const second = await runAnswering(again, asking, () => ({ allow: false }));
      expect(paid).toEqual([]);
      expect(openIn(second.frames)).toEqual([]);
      await checkRecord(second.frames, again);
    }
});

test('a run of a format that knows no policy goes on', async () => {
  const { root } = payer();
  const [first, ...rest] = await interrupted();
  const older = { ...first!.record, recordedBy: { format: 8, build: 'test' } } as Frame['record'];
  const from = [{ ...first!, record: older }, ...rest];
  const { frames, outcome } = await runAnswering(root, { says, from, indeterminate: 'ask' });
  expect(outcome).toMatchObject({ status: 'completed' });
  expect(frames.find(({ record }) => record.type === 'resume')?.record).not.toHaveProperty('indeterminate');
});
