import { expect, test } from 'vitest';
import { openCloister } from 'cloister';
import type { RunSession } from '#contracts';
import { systemClock } from '../../../src/app/system-world.ts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { turn } from './client-driver.ts';
import { gatedAgent } from './gated-agent.ts';
import { ann, inMemory, serve } from './serving-driver.ts';

test('a run is in the list of its caller from its beginning, before it is on disk', async () => {
  await using folder = await temporaryFolder();
  const { agent, gate } = gatedAgent();
  await using cloister = await openCloister({ agents: [agent], workspace: folder.path });
  const serving = serve(cloister);
  const begun: string[] = [];
  const sessions: RunSession[] = [];
  for (const input of ['One.', 'Two.']) {
    const { run } = await serving.startRun(ann, { agent: 'gated', input });
    begun.unshift(run);
    expect((await serving.runs(ann, 50)).map((one) => one.run)).toEqual(begun);
    expect((await serving.runs(ann, 50))[0]).toMatchObject({
      agent: 'gated',
      goal: input,
      state: 'running',
      caller: 'ann',
    });
    expect(await serving.runs({ name: 'ben' }, 50)).toEqual([]);
    sessions.push((await serving.find(ann, run)).session!);
  }
  await gate.arrived(2);
  expect((await serving.runs(ann, 50)).map((one) => one.run)).toEqual(begun);
  gate.open();
  await Promise.all(sessions.map(({ outcome }) => outcome));
  expect((await serving.runs(ann, 50)).map((one) => one.run)).toEqual(begun);
});

test('what was said is told of a run that was asked once, not of one that is written to', async () => {
  const { agent, gate } = gatedAgent();
  gate.open();
  await using cloister = await inMemory(agent);
  const serving = serve(cloister);
  const once = await serving.startRun(ann, { agent: 'gated', input: 'Go.' });
  await once.outcome;
  expect(await (await serving.find(ann, once.run)).said()).toEqual([
    { by: 'person', text: 'Go.' },
    { by: 'agent', text: 'Done: Go.' },
  ]);
  const { run, outcome } = await serving.startRun(ann, { agent: 'gated', input: 'One.', resident: true });
  const { session } = await serving.find(ann, run);
  const refused = { code: 'request_unsupported', message: expect.stringContaining('is written to while it lives') };
  const tried = async (): Promise<unknown> => (await serving.find(ann, run)).said();
  await expect(tried()).rejects.toMatchObject(refused);
  await session!.ask('Two.');
  await expect(tried()).rejects.toMatchObject(refused);
  session!.finish();
  await outcome;
  expect((await serving.find(ann, run)).session).toBeNull();
  await expect(tried()).rejects.toMatchObject(refused);
});

test('what is said with one that lives is told where a conversation keeps it, and to its caller alone', async () => {
  const { agent, gate } = gatedAgent();
  gate.open();
  await using cloister = await inMemory(agent);
  const serving = serve(cloister, systemClock, ['ann', 'ben']);
  const ben = { name: 'ben' };
  const asked = { agent: 'gated', conversation: 'trip' };
  const dialog = (...texts: readonly string[]) =>
    texts.flatMap((text) => [
      { by: 'person', text },
      { by: 'agent', text: `Done: ${text}` },
    ]);
  await (
    await serving.startRun(ann, { ...asked, input: 'Before.' })
  ).outcome;
  await (
    await serving.startRun(ben, { ...asked, input: 'Secret.' })
  ).outcome;
  const { run, outcome } = await serving.startRun(ann, { ...asked, input: 'One.', resident: true });
  const { session, said } = await serving.find(ann, run);
  await session!.answer();
  expect(await said()).toEqual(dialog('Before.', 'One.'));
  await session!.ask('Two.');
  expect((await said()).map(({ text }) => text)).toEqual([
    'Before.',
    'Done: Before.',
    'One.',
    expect.stringContaining('Done: '),
    'Two.',
    expect.stringContaining('Done: '),
  ]);
  await expect(serving.find(ben, run)).rejects.toMatchObject({ code: 'run_unknown' });
  const other = await serving.startRun(ben, { ...asked, input: 'Mine.', resident: true });
  const { session: mine, said: saidToBen } = await serving.find(ben, other.run);
  await mine!.answer();
  expect(await saidToBen()).toEqual(dialog('Secret.', 'Mine.'));
  for (const one of [session, mine]) one!.finish();
  await Promise.all([outcome, other.outcome]);
});

test('a run that was begun and cannot be served is cancelled', async () => {
  const { agent } = gatedAgent();
  await using cloister = await inMemory(agent);
  const now = (): never => {
    throw new Error('There is no clock.');
  };
  const serving = serve(cloister, { ...systemClock, now });
  await expect(serving.startRun(ann, { agent: 'gated', input: 'Go.' })).rejects.toThrow('There is no clock.');
  const cancelled = async (): Promise<boolean> => (await cloister.runs()).some(({ status }) => status === 'cancelled');
  for (let count = 0; count < 50 && !(await cancelled()); count++) await turn();
  expect((await cloister.runs()).map(({ status }) => status)).toEqual(['cancelled']);
});
