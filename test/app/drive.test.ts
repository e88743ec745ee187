// Runs that a worker drives: begun once, let go while everybody waits, given back, and continued by another process with its own folder.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import type { DriveEnd, DriveOptions, RunCall } from '#contracts';
import { rehearse } from '#testkit';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

const quick: DriveOptions = { restAfterMs: 20, graceMs: 2_000 };

/** How often a tool was called, whichever process called it. */
const counter = () => {
  const calls: string[] = [];
  return { calls, tool: { name: 'note', description: 'Notes.', inputSchema: { type: 'object', properties: {} } } };
};

type Scene = { readonly prompt?: string; readonly delayMs?: number };

const office = ({ prompt = 'Work.', delayMs = 0 }: Scene = {}) => {
  const { calls, tool } = counter();
  const note = { ...tool, execute: (_: unknown, { key }: { key: string }) => (calls.push(key), 'Noted.') };
  const said = (reply: object) => ({ ...reply, delayMs });
  const worker = defineAgent({
    name: 'worker',
    description: 'Works.',
    prompt,
    models: [
      rehearse([
        { when: { turn: 1 }, reply: said({ calls: [{ tool: 'note', args: {} }] }) },
        { reply: said({ text: 'Done.' }) },
      ]).model,
    ],
    tools: [note],
  });
  const asker = defineAgent({
    name: 'asker',
    description: 'Asks first.',
    prompt,
    models: [
      rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'note', args: {} }] } }, { reply: 'Done.' }]).model,
    ],
    tools: [{ ...note, approve: true }],
  });
  const writer = defineAgent({
    name: 'writer',
    description: 'Writes a file, and reads it when it gets mail.',
    prompt,
    models: [
      rehearse([
        { when: { turn: 1 }, reply: { calls: [{ tool: 'write_file', args: { path: 'a.txt', content: 'Kept.' } }] } },
        { when: { turn: 2 }, reply: 'Written.' },
        { when: { turn: 3 }, reply: { calls: [{ tool: 'read_file', args: { path: 'a.txt' } }] } },
        { reply: 'It says: {{results}}' },
      ]).model,
    ],
    tools: ['write_file', 'read_file'],
  });
  return { agents: [worker, asker, writer] as readonly Agent[], calls };
};

const openTwo = async (workspace: string, agents: readonly Agent[], others = agents) => {
  const open = (some: readonly Agent[]): Promise<Cloister> => openCloister({ agents: some, workspace });
  return [await open(agents), await open(others)] as const;
};

const isClean = async (cloister: Cloister, { run }: RunCall): Promise<void> => {
  expect((await cloister.audit(run)).problems).toEqual([]);
  expect((await cloister.replay(run)).differences).toEqual([]);
};

const driveUntilEnd = async (cloister: Cloister, call: RunCall): Promise<DriveEnd> => {
  for (;;) {
    const end = await cloister.driver.drive(call, quick);
    if (end.end !== 'lost') return end;
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }
};

// invariant: lease-decides, begins-once, request-once, store-decides
test('a request is begun once, however many processes are called to drive it', async () => {
  await using folder = await temporaryFolder();
  const { agents, calls } = office();
  const [one, other] = await openTwo(folder.path, agents);
  const call = await one.driver.request('worker', 'Go', { only: { run: 'r1', requestHash: 'h1' }, caller: 'ann' });
  expect(await one.driver.undriven()).toEqual([{ run: 'r1', agent: 'worker', at: 0, isBegun: false }]);
  const ends = await Promise.all([one, one, other].map((cloister) => driveUntilEnd(cloister, call)));
  expect(ends).toEqual([{ end: 'ended' }, { end: 'ended' }, { end: 'ended' }]);
  expect(calls).toHaveLength(1);
  expect((await one.show('r1')).caller).toBe('ann');
  expect((await one.show('r1')).requestHash).toBe('h1');
  expect(await one.driver.undriven()).toEqual([]);
  // The same request again: it has ended.
  await other.driver.request('worker', 'Go', { only: { run: 'r1', requestHash: 'h1' } });
  expect(await driveUntilEnd(other, call)).toEqual({ end: 'ended' });
  expect(calls).toHaveLength(1);
  await isClean(one, call);
  await one.close();
  await other.close();
});

// invariant: rest-needs-nobody, rest-only-if-recorded, rest-without-timers, rest-only-after-wait
test('a run that waits for a person rests, and is continued elsewhere once it is answered', async () => {
  await using folder = await temporaryFolder();
  const { agents, calls } = office();
  const [one, other] = await openTwo(folder.path, agents);
  const call = await one.driver.request('asker', 'Go');
  const rest = await one.driver.drive(call, quick);
  expect(rest.end).toBe('rests');
  const [question] = await other.questions();
  expect(rest).toEqual({ end: 'rests', until: question!.until });
  expect((await one.runs({ run: call.run }))[0]!.state).toBe('interrupted');
  expect(await other.driver.undriven()).toEqual([{ ...call, at: question!.until, isBegun: true }]);
  // Called too early, nobody acquires it.
  const frames = (await one.show(call.run)).events.length;
  expect(await other.driver.drive(call, quick)).toEqual(rest);
  expect((await one.show(call.run)).events).toHaveLength(frames);
  const answered = one.answer(
    question!.id,
    { allow: true, sha256: question!.sha256 },
    { resume: async () => undefined },
  );
  await expect.poll(async () => (await other.driver.undriven())[0]?.at).toBe(0);
  expect(await driveUntilEnd(other, call)).toEqual({ end: 'ended' });
  await answered;
  expect(calls).toHaveLength(1);
  await isClean(one, call);
  await one.close();
  await other.close();
});

test('a long-lived agent rests between messages, and its files come back from the log on a machine without its folder', async () => {
  await using folder = await temporaryFolder();
  const { agents } = office();
  const [one, other] = await openTwo(folder.path, agents);
  const call = await one.driver.request('writer', 'Write', { resident: true });
  expect(await one.driver.drive(call, quick)).toEqual({ end: 'rests', until: null });
  rmSync(join(folder.path, 'runs'), { recursive: true });
  await expect(other.resume(call.run)).rejects.toMatchObject({ code: 'files_changed' });
  await one.signal(call.run, { do: 'send', text: 'What does it say?' });
  expect(await driveUntilEnd(other, call)).toEqual({ end: 'rests', until: null });
  await one.signal(call.run, { do: 'finish' });
  expect(await driveUntilEnd(one, call)).toEqual({ end: 'ended' });
  expect((await one.show(call.run)).output).toContain('Kept.');
  await isClean(other, call);
  await one.close();
  await other.close();
});

// invariant: give-back-between-steps
test('a run that is given back stops between two steps, and another worker repeats nothing', async () => {
  await using folder = await temporaryFolder();
  const { agents, calls } = office({ delayMs: 60 });
  const [one, other] = await openTwo(folder.path, agents);
  const call = await one.driver.request('worker', 'Go');
  const stop = new AbortController();
  const driving = one.driver.drive(call, { ...quick, signal: stop.signal });
  await expect.poll(async () => (await one.runs({ run: call.run })).length).toBe(1);
  stop.abort();
  expect(await driving).toEqual({ end: 'lost' });
  const before = await one.show(call.run);
  expect(before.status).toBe('interrupted');
  expect(await driveUntilEnd(other, call)).toEqual({ end: 'ended' });
  const after = await other.show(call.run);
  expect(after.spent.uncertain).toBe(0);
  expect(calls).toHaveLength(1);
  await isClean(other, call);
  await one.close();
  await other.close();
});

test('a worker with other agents refuses a run and touches nothing', async () => {
  await using folder = await temporaryFolder();
  const [one, other] = await openTwo(folder.path, office().agents, office({ prompt: 'Work otherwise.' }).agents);
  const call = await one.driver.request('asker', 'Go');
  expect(await other.driver.drive(call, quick)).toMatchObject({ end: 'refused', code: 'replay_differs' });
  expect((await one.driver.drive(call, quick)).end).toBe('rests');
  await one.signal(call.run, { do: 'cancel' });
  expect(await other.driver.drive(call, quick)).toMatchObject({ end: 'refused', code: 'replay_differs' });
  expect(await driveUntilEnd(one, call)).toEqual({ end: 'ended' });
  expect((await one.show(call.run)).status).toBe('cancelled');
  await one.close();
  await other.close();
});

// invariant: no-endless-crash
test('a run that was resumed again and again without getting anywhere waits, and twice as long each time', async () => {
  await using folder = await temporaryFolder();
  const { agents } = office({ delayMs: 2_000 });
  const cloister = await openCloister({ agents, workspace: folder.path });
  const call = await cloister.driver.request('worker', 'Go');
  const driveBriefly = async (records: number): Promise<DriveEnd> => {
    const stop = new AbortController();
    const driving = cloister.driver.drive(call, { graceMs: 0, signal: stop.signal });
    const resumes = async (): Promise<number> => (await cloister.resumeTimes(call.run).catch(() => [])).length;
    await expect.poll(resumes).toBe(records);
    await expect.poll(async () => (await cloister.runs({ run: call.run })).length).toBe(1);
    stop.abort();
    return driving;
  };
  for (const times of [0, 1, 2]) expect(await driveBriefly(times)).toEqual({ end: 'lost' });
  const until = { end: 'rests', until: expect.closeTo(Date.now() + 2_000, -4) };
  expect(await cloister.driver.drive(call, quick)).toEqual(until);
  await cloister.close();
});

// invariant: request-checked-on-arrival, engine-carries-no-content
test('only data can be requested, and what nobody can run is refused at once', async () => {
  const cloister = await openCloister({ store: 'memory', agents: office().agents });
  const tool = { ...counter().tool, execute: () => 'No.' };
  await expect(cloister.driver.request('worker', 'Go', { tools: [tool] })).rejects.toMatchObject({
    code: 'options_invalid',
  });
  await expect(cloister.driver.request('nobody', 'Go')).rejects.toMatchObject({ code: 'agent_unknown' });
  const invalid = { budget: { tokens: -1 } };
  await expect(cloister.driver.request('worker', 'Go', invalid)).rejects.toThrow('budget');
  expect(await cloister.driver.undriven()).toEqual([]);
  await cloister.close();
});
