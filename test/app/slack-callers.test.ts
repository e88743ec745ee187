// People in Slack as callers: their rights, by name.
// invariants: slack-people-by-name, slack-groups-by-slack
import { expect, test } from 'vitest';
import { sha256 } from '#base';
import type { RunId } from '#base';
import { parseSlackCaller, slackCallerName } from '#contracts';
import type { RunSummary, SlackConfig, SlackReply } from '#contracts';
import { FakeSlack, fakeSlackApi, virtualClock } from '#testkit';
import { InterruptedRunResumer } from '../../src/app/serve/interrupted-runs.ts';
import { TokenRegistry } from '../../src/app/serve/token-registry.ts';
import { SlackCallers } from '../../src/app/slack-callers.ts';

const config: SlackConfig = {
  botToken: 'xoxb-1',
  appToken: 'xapp-1',
  team: 'T1',
  channels: { C1: { agent: 'lead' }, C2: { agent: 'clerk' }, '*': 'refuse' },
  dm: { agent: 'lead' },
  people: { budget: { usd: 0.2 }, allowance: { usd: 5, per: 'day' }, requestsPerMinute: 6, running: 2, sees: 'causes' },
  approvers: ['U9', 'group:S1'],
};

const openCallers = (groups: Readonly<Record<string, readonly string[]>> = { S1: ['U5'] }) => {
  const clock = virtualClock();
  const fake = new FakeSlack({ clock, groups });
  const log: string[] = [];
  const callers = new SlackCallers({ api: fakeSlackApi(fake), config, clock, log: (text) => void log.push(text) });
  return { callers, clock, fake, log };
};

test('a person of the workspace has the limits of `people` and the agents of the routes, and nobody else is a person', () => {
  const { callers } = openCallers();
  expect(callers.entry('slack:T1/U1')).toEqual({
    ...config.people,
    name: 'slack:T1/U1',
    sha256: 'f'.repeat(64),
    agents: ['lead', 'clerk'],
  });
  for (const name of [
    'slack:T2/U1',
    'slack:T1/C1',
    'slack:T1/',
    'slack:T1/U1/x',
    'ann',
    'slack',
    'slack:T1/U1 (watch)',
  ])
    expect(callers.entry(name)).toBeUndefined();
  expect(parseSlackCaller(slackCallerName('T1', 'U1'))).toEqual({ team: 'T1', user: 'U1' });
});

test('approvers answer for everybody: people at once, those in groups when Slack has named them', async () => {
  const { callers, clock, fake, log } = openCallers();
  const mayAnswer = (user: string): boolean => callers.entry(`slack:T1/${user}`)?.answers?.includes('*') === true;
  expect(['U1', 'U5', 'U9'].map(mayAnswer)).toEqual([false, false, true]);
  await callers.start();
  expect(['U1', 'U5', 'U9'].map(mayAnswer)).toEqual([false, true, true]);
  // What was known stays while Slack does not answer, and is gone when Slack refuses.
  const end = fake.fail({ method: 'usergroups.users.list', always: 503 });
  await clock.advance(600_000);
  expect(mayAnswer('U5')).toBe(true);
  end();
  fake.fail({ method: 'usergroups.users.list', always: { error: 'no_such_subteam' } });
  await clock.advance(1_200_000);
  expect(mayAnswer('U5')).toBe(false);
  expect(log).toEqual(['Slack does not tell who is in the group S1 of `slack.approvers`: no_such_subteam.']);
  callers.stop();
  expect(clock.waiting).toBe(0);
});

test('a group that is asked for while the server stops leaves no timer', async () => {
  const clock = virtualClock();
  const reply = Promise.withResolvers<SlackReply>();
  const callers = new SlackCallers({
    api: { call: () => reply.promise, upload: () => reply.promise },
    config,
    clock,
    log: () => undefined,
  });
  const started = callers.start();
  callers.stop();
  reply.resolve({ kind: 'ok', body: { users: ['U5'] } });
  await started;
  expect(clock.waiting).toBe(0);
});

test('a registry finds people by name only: no token is theirs, and a token has no such name', async () => {
  const { callers } = openCallers();
  const registry = new TokenRegistry(
    [{ name: 'ann', sha256: sha256('secret') }],
    () => 0,
    (name) => callers.entry(name),
  );
  expect(registry.entry({ name: 'slack:T1/U1' })).toMatchObject({ running: 2 });
  expect(registry.entry({ name: 'ann' })).toMatchObject({ name: 'ann' });
  expect(registry.entry({ name: 'bob' })).toBeUndefined();
  for (const token of ['', 'f'.repeat(64), 'slack:T1/U1', 'xoxb-1']) expect(registry.findCaller(token)).toBeUndefined();
  expect(registry.mayAnswer({ name: 'slack:T1/U9' }, 'any')).toBe(true);
  expect(registry.mayAnswer({ name: 'slack:T1/U1' }, 'any')).toBe(false);
  expect(registry.entries().map(({ name }) => name)).toEqual(['ann']);
});

test('interrupted runs of people are resumed, those of other workspaces are not', async () => {
  const { callers, clock } = openCallers();
  const registry = new TokenRegistry(
    [],
    () => 0,
    (name) => callers.entry(name),
  );
  const interrupted = (caller: string): RunSummary => ({
    run: `run-of-${caller.at(-1)}` as RunId,
    agent: 'lead',
    goal: '',
    startedAt: 0,
    endedAt: null,
    state: 'interrupted',
    status: null,
    cells: 1,
    caller,
    spent: null,
    owner: null,
    recordedBy: null,
  });
  const resumed: string[] = [];
  const resumer = new InterruptedRunResumer({
    clock,
    cloister: {
      runs: async () => [interrupted('slack:T1/U1'), interrupted('slack:T2/U2')],
      resumeTimes: async () => [],
      questions: async () => [],
    },
    agents: ['lead'],
    tokens: registry,
    isLive: () => false,
    resume: async (caller) => void resumed.push(caller.name),
  });
  await resumer.resume();
  expect(resumed).toEqual(['slack:T1/U1']);
});
