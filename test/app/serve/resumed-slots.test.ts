// Runs that stop waiting for people, whoever ends their wait: they take a slot like all others.
import { expect, onTestFinished, test } from 'vitest';
import { hashToken, openCloister, openServer } from 'cloister';
import { virtualClock } from '#testkit';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { askingAgent } from './asking-agent.ts';
import { gatedAgent } from './gated-agent.ts';
import { postRequest } from './local-requests.ts';

/** A server with one slot and no queue: a run waits for people, and another one then works in the slot until `gate` opens. */
const serveOneSlot = async (workspace: string) => {
  const clock = virtualClock(1_000_000);
  const asking = askingAgent({}, { limits: { questionTimeout: 3_600_000 } });
  const { agent: gated, gate } = gatedAgent();
  const cloister = await openCloister({ agents: [asking.agent, gated], workspace, clock });
  const server = await openServer(cloister, {
    tokens: [{ name: 'ann', sha256: hashToken('ann') }],
    slots: { running: 1, runningPerCaller: 1, waiting: 0 },
  });
  let isOver = false;
  const close = async (): Promise<void> => {
    if (isOver) return;
    isOver = true;
    gate.open();
    await server.stop(0);
    await cloister.close();
  };
  onTestFinished(close);
  const start = async (agent: string, input: string): Promise<void> =>
    void (await server.fetch(postRequest(`/v1/${agent}`, 'ann', { input, wait: false })));
  await start('lead', 'x');
  await expect.poll(() => cloister.questions()).toHaveLength(1);
  const [question] = await cloister.questions();
  // The slot is free again once the run waits.
  await expect
    .poll(async () => {
      await start('gated', 'Go.');
      return gate.waiting;
    })
    .toBe(1);
  return { cloister, server, clock, gate, question: question!, sent: asking.sent, close };
};

const stateOf = async (
  { cloister }: { cloister: Awaited<ReturnType<typeof openCloister>> },
  run: string,
): Promise<string> => (await cloister.questions({ run, all: true }))[0]!.state;

// invariant: answer-needs-slot
// invariant: wait-ends-when-admitted
test('an answer from another process waits for a slot, and is on disk meanwhile', async () => {
  await using folder = await temporaryFolder();
  const served = await serveOneSlot(folder.path);
  const { question, gate, sent, cloister } = served;
  const otherClock = virtualClock(1_000_000);
  await using other = await openCloister({ agents: [askingAgent().agent], workspace: folder.path, clock: otherClock });
  const answering = other.answer(question.id, { allow: true, sha256: question.sha256 }, { by: 'ann' });
  const stopAt = setInterval(() => void otherClock.advance(1_000), 5);
  expect(await answering).toMatchObject({ state: 'stored' });
  clearInterval(stopAt);
  expect(sent).toEqual([]);
  expect(await stateOf(served, question.run)).toBe('open');
  gate.open();
  await expect.poll(() => sent).toEqual(['x']);
  await expect.poll(async () => (await cloister.runs({ run: question.run }))[0]!.status).toBe('completed');
});

test('an answer from another process that the run refuses gives its slot back', async () => {
  await using folder = await temporaryFolder();
  const { question, gate, sent, cloister, server } = await serveOneSlot(folder.path);
  gate.open();
  await expect
    .poll(async () => (await cloister.runs()).find(({ agent }) => agent === 'gated')!.status)
    .toBe('completed');
  const otherClock = virtualClock(1_000_000);
  await using other = await openCloister({ agents: [askingAgent().agent], workspace: folder.path, clock: otherClock });
  const answer = { allow: true, sha256: question.sha256, args: {} };
  const stopAt = setInterval(() => void otherClock.advance(50), 5);
  await expect(other.answer(question.id, answer, { by: 'ann' })).rejects.toMatchObject({ code: 'answer_invalid' });
  clearInterval(stopAt);
  // There is one slot, and no queue.
  expect((await server.fetch(postRequest('/v1/gated', 'ann', { input: 'Go.' }))).status).toBe(200);
  expect(sent).toEqual([]);
});

test('a server that stops before there is a slot leaves the answer to whoever resumes the run', async () => {
  await using folder = await temporaryFolder();
  const served = await serveOneSlot(folder.path);
  const { question, sent, close } = served;
  const otherClock = virtualClock(1_000_000);
  await using other = await openCloister({ agents: [askingAgent().agent], workspace: folder.path, clock: otherClock });
  const answering = other.answer(question.id, { allow: true, sha256: question.sha256 }, { by: 'ann' });
  const stopAt = setInterval(() => void otherClock.advance(1_000), 5);
  expect(await answering).toMatchObject({ state: 'stored' });
  clearInterval(stopAt);
  await close();
  expect(sent).toEqual([]);
  const { agent, sent: sentLater } = askingAgent({}, { limits: { questionTimeout: 3_600_000 } });
  await using next = await openCloister({ agents: [agent], workspace: folder.path, clock: virtualClock(1_000_000) });
  await (
    await next.resume(question.run)
  ).outcome;
  expect(sentLater).toEqual(['x']);
});

test('a question that expires counts as denied once there is a slot for its run, and cannot be answered meanwhile', async () => {
  await using folder = await temporaryFolder();
  const served = await serveOneSlot(folder.path);
  const { question, gate, sent, cloister, clock } = served;
  await clock.advance(3_600_001);
  const late = cloister.answer(question.id, { allow: true, sha256: question.sha256 });
  await expect(late).rejects.toMatchObject({ code: 'question_answered' });
  expect((await cloister.show(question.run)).events.some(({ type }) => type === 'question-end')).toBe(false);
  gate.open();
  await expect.poll(async () => (await cloister.runs({ run: question.run }))[0]!.status).toBe('completed');
  expect(await stateOf(served, question.run)).toBe('expired');
  expect(sent).toEqual([]);
});

test('a run whose answer waits for a slot can be cancelled from another process', async () => {
  await using folder = await temporaryFolder();
  const { question, sent, cloister } = await serveOneSlot(folder.path);
  const otherClock = virtualClock(1_000_000);
  await using other = await openCloister({ agents: [askingAgent().agent], workspace: folder.path, clock: otherClock });
  void other.answer(question.id, { allow: true, sha256: question.sha256 }, { by: 'ann' }).catch(() => undefined);
  await expect.poll(async () => (await other.runs({ run: question.run }))[0]!.state).toBe('running');
  await other.signal(question.run, { do: 'cancel' });
  await expect.poll(async () => (await cloister.runs({ run: question.run }))[0]!.status).toBe('cancelled');
  expect(sent).toEqual([]);
});
