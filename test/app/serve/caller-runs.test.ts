import { expect, test } from 'vitest';
import { openCloister } from 'cloister';
import { systemClock } from '../../../src/app/system-world.ts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { turn } from './client-driver.ts';
import { gatedAgent } from './gated-agent.ts';
import { ann, inMemory, serve } from './serving-driver.ts';

// invariant: run-visible-at-once
test('a run is in its caller’s list from the start, before it is on disk', async () => {
  await using folder = await temporaryFolder();
  const { agent, gate } = gatedAgent();
  await using cloister = await openCloister({ agents: [agent], workspace: folder.path });
  const service = serve(cloister);
  const startedRuns: string[] = [];
  const ends: Promise<unknown>[] = [];
  for (const input of ['One.', 'Two.']) {
    const { run } = await service.startRun(ann, { agent: 'gated', input });
    startedRuns.unshift(run);
    expect((await service.runs(ann, { most: 50 })).runs.map((one) => one.run)).toEqual(startedRuns);
    expect((await service.runs(ann, { most: 50 })).runs[0]).toMatchObject({
      agent: 'gated',
      goal: input,
      state: 'running',
      caller: 'ann',
    });
    expect(await service.runs({ name: 'ben' }, { most: 50 })).toEqual({ runs: [], next: null });
    ends.push((await service.find(ann, run)).session!.outcome);
  }
  await gate.arrived(2);
  expect((await service.runs(ann, { most: 50 })).runs.map((one) => one.run)).toEqual(startedRuns);
  gate.open();
  await Promise.all(ends);
  expect((await service.runs(ann, { most: 50 })).runs.map((one) => one.run)).toEqual(startedRuns);
});

test('the history is returned for a run with one request, and for a resident with each message', async () => {
  const { agent, gate } = gatedAgent();
  gate.open();
  await using cloister = await inMemory(agent);
  const service = serve(cloister);
  const once = await service.startRun(ann, { agent: 'gated', input: 'Go.' });
  await once.outcome;
  expect(await (await service.find(ann, once.run)).dialog()).toEqual([
    { by: 'person', text: 'Go.' },
    { by: 'agent', text: 'Done: Go.' },
  ]);
  const { run, outcome } = await service.startRun(ann, { agent: 'gated', input: 'One.', resident: true });
  const { session } = await service.find(ann, run);
  const dialog = async () => (await service.find(ann, run)).dialog();
  const id = (await session!.answer()).id;
  const answer = { by: 'agent', agent: 'gated', unasked: false };
  const first = [
    { by: 'person', text: 'One.' },
    { ...answer, text: 'Done: One.', message: id, delivered: true },
  ];
  expect(await dialog()).toEqual(first);
  // Nobody takes this answer until somebody reads the events beyond it.
  const sent = await service.do(ann, run, { do: 'send', text: 'Two.' });
  const events = (await service.find(ann, run)).events()[Symbol.asyncIterator]();
  const nextAnswer = async (): Promise<void> => {
    for (;;) {
      const { value } = await events.next();
      if (value.type === 'mail' && value.correlation === sent) return;
    }
  };
  await nextAnswer();
  const second = [
    { by: 'person', text: 'Two.', message: sent },
    { ...answer, text: expect.stringContaining('Done: '), message: expect.any(String), delivered: false },
  ];
  expect(await dialog()).toEqual([...first, ...second]);
  await nextAnswer();
  const taken = [...first, second[0], { ...second[1], delivered: true }];
  expect(await dialog()).toEqual(taken);
  await service.do(ann, run, { do: 'finish' });
  await outcome;
  expect((await service.find(ann, run)).session).toBeNull();
  expect(await dialog()).toEqual(taken);
});

test('the history of a resident in a conversation begins with what came before, and is returned only to its caller', async () => {
  const { agent, gate } = gatedAgent();
  gate.open();
  await using cloister = await inMemory(agent);
  const service = serve(cloister, systemClock, ['ann', 'ben']);
  const ben = { name: 'ben' };
  const request = { agent: 'gated', conversation: 'trip' };
  const dialog = (...texts: readonly string[]) =>
    texts.flatMap((text) => [
      { by: 'person', text },
      { by: 'agent', text: `Done: ${text}` },
    ]);
  const textsOf = (said: readonly { readonly by: string; readonly text: string }[]) =>
    said.map(({ by, text }) => ({ by, text }));
  await (
    await service.startRun(ann, { ...request, input: 'Before.' })
  ).outcome;
  await (
    await service.startRun(ben, { ...request, input: 'Secret.' })
  ).outcome;
  const { run, outcome } = await service.startRun(ann, { ...request, input: 'One.', resident: true });
  const { session, dialog: said } = await service.find(ann, run);
  await session!.answer();
  expect(textsOf(await said())).toEqual(dialog('Before.', 'One.'));
  await session!.answer(await service.do(ann, run, { do: 'send', text: 'Two.' }));
  expect((await said()).map(({ text }) => text)).toEqual([
    'Before.',
    'Done: Before.',
    'One.',
    expect.stringContaining('Done: '),
    'Two.',
    expect.stringContaining('Done: '),
  ]);
  await expect(service.find(ben, run)).rejects.toMatchObject({ code: 'run_unknown' });
  await expect(service.resumeRun(ben, run)).rejects.toMatchObject({ code: 'run_unknown' });
  const other = await service.startRun(ben, { ...request, input: 'Mine.', resident: true });
  const { session: mine, dialog: saidToBen } = await service.find(ben, other.run);
  await mine!.answer();
  expect(textsOf(await saidToBen())).toEqual(dialog('Secret.', 'Mine.'));
  await service.do(ann, run, { do: 'finish' });
  await service.do(ben, other.run, { do: 'finish' });
  await Promise.all([outcome, other.outcome]);
});

test('a run that was started and cannot be served is cancelled', async () => {
  const { agent } = gatedAgent();
  await using cloister = await inMemory(agent);
  const now = (): never => {
    throw new Error('There is no clock.');
  };
  const service = serve(cloister, { ...systemClock, now });
  await expect(service.startRun(ann, { agent: 'gated', input: 'Go.' })).rejects.toThrow('There is no clock.');
  const cancelled = async (): Promise<boolean> => (await cloister.runs()).some(({ status }) => status === 'cancelled');
  for (let count = 0; count < 50 && !(await cancelled()); count++) await turn();
  expect((await cloister.runs()).map(({ status }) => status)).toEqual(['cancelled']);
});
