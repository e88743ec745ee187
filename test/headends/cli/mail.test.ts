// `show --mail` and `dead-letters`: the state of every message.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunId } from '#base';
import type { DeadLetters, DurableEvent } from '#contracts';
import { cli, emulate, eventsOf, leadId, runId, scene, startAt } from './driver.ts';
import type { Behaviour } from './driver.ts';
import { deadOf, mailOf } from './mail.ts';

const clock = (at: number): string => new Date(at).toTimeString().slice(0, 8);

test('every message is shown with sender, recipient, state and times, and messages are counted', async () => {
  const { code, stdout } = await cli(['show', 'last', '--mail']);
  expect(code).toBe(0);
  const pad = (line: string, state: string): string => line.padEnd(79 - state.length) + state;
  const time = clock(startAt);
  expect(stdout.split('\n')).toEqual([
    pad(`${time}  message    person → lead`, 'read'),
    '          m-0123456789ab · 234 bytes · delivered after 12 ms · read after 1.5 s',
    pad(`${time}  broadcast  lead → #search researcher`, 'queued'),
    '          m-11 · 234 bytes',
    pad(`${time}  answer     lead → person`, 'delivered'),
    '          m-22 · 234 bytes · delivered after 12 ms · answers m-0123456789ab',
    pad(`${time}  message    lead → Compare SQLite and DuckDB`, 'dead: unknown'),
    '          m-33 · dead after 20 ms',
    '',
    '4 messages: 1 queued, 1 delivered, 1 read, 1 dead',
    '',
  ]);
});

test('--verbose adds the cells, the chain and the hash; --json prints everything as one value', async () => {
  const { stdout } = await cli(['show', 'last', '--mail', '--verbose']);
  expect(stdout).toMatch(/chain m-0123456789ab · from outside · to lead-ab12cd34ef56\s+·?\s*sha256 abababababab…\n/u);
  const json = await cli(['show', 'last', '--mail', '--json']);
  expect(JSON.parse(json.stdout)).toEqual(mailOf(scene()));
});

test('a run without mail says so', async () => {
  const { code, stdout } = await cli(['show', 'last', '--mail'], scene(), { behaviour: { mail: [] } });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'No messages were sent in this run.\n' });
});

const dead = (args: readonly string[], over: Partial<DeadLetters> = {}) => {
  const asked: unknown[] = [];
  const behaviour: Behaviour = { dead: { ...deadOf(scene()), ...over }, onDeadLetters: (given) => asked.push(given) };
  return cli(['dead-letters', ...args], scene(), { behaviour }).then((told) => ({ ...told, asked }));
};

test('dead letters of all runs, or of one run, are listed with reason and run', async () => {
  const all = await dead([]);
  expect(all.code).toBe(0);
  expect(all.stdout).toMatch(
    /^2026-03-01 12:00:00 {2}message {4}lead → Compare SQLite and DuckDB +dead: unknown\n {10}m-33 · run 4f2a9c01d3e5\n\n1 dead letter in 1 run\.\n$/u,
  );
  expect(all.asked).toEqual([{}]);
  expect((await dead(['--run', '4f2'])).asked).toEqual([{ run: runId }]);
  expect(JSON.parse((await dead(['--json'])).stdout)).toEqual(deadOf(scene()));
});

test('results that no one was left to receive are counted; --verbose lists them', async () => {
  const [one] = deadOf(scene()).letters;
  const letters = [1, 2].map((no) => ({ ...one!, id: `m-end${no}`, message_type: 'result', reason: 'ended' }) as const);
  const told = (await dead([], { letters })).stdout;
  expect(told).toBe(
    'No dead letters in 1 run.\nAlso, 2 agents ended with no one left to notify; use --verbose to list them.\n',
  );
  const all = (await dead(['--verbose'], { letters })).stdout;
  expect(all).toMatch(/m-end1 [^]*m-end2 [^]*\n2 dead letters in 1 run\.\n$/u);
  expect(JSON.parse((await dead(['--json'], { letters })).stdout).letters).toHaveLength(2);
});

test('runs that were not scanned are reported, with what to do about them', async () => {
  const none = await dead([], { letters: [], read: 100, more: true, damaged: ['77aa0b1c2d3e' as RunId] });
  expect(none.stdout).toBe(
    [
      'No dead letters in 100 runs.',
      'Older runs were not scanned; select one with --run.',
      'Run 77aa0b1c2d3e cannot be read: npx cloister audit 77aa0b1c2d3e',
      '',
    ].join('\n'),
  );
});

test('no line is wider than the terminal, whatever the names', async () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'M', '界', 'é', ' ', '→'), maxLength: 120 });
  await fc.assert(
    fc.asyncProperty(fc.record({ agent: name, childAgent: name, goal: name, tool: name }), async (names) => {
      for (const args of [['show', 'last', '--mail'], ['show', 'last', '--mail', '--verbose'], ['dead-letters']]) {
        const { stdout } = await cli(args, scene(names), { terminal: { tty: true, columns: 80 } });
        expect(emulate(stdout, 80, 1000).wrapped).toBe(false);
      }
    }),
    { numRuns: 30 },
  );
});

test.each([
  [['show', 'last', '--mial'], /unknown option '--mial'/u, /try: --mail/u],
  [['show', 'last', '--mail', '--window'], /'--mail' cannot be used with option '--window'/u, /try: cloister show/u],
  [['dead-leters'], /unknown command 'dead-leters'/u, /try: cloister dead-letters/u],
  [['dead-letters', '--run'], /argument missing/u, /try: cloister dead-letters --help/u],
])('a usage error is reported with a suggestion, exit 4: %j', async (args, error, advice) => {
  const { code, stderr, opened } = await cli(args);
  expect({ code, opened }).toEqual({ code: 4, opened: [] });
  expect(stderr).toMatch(error);
  expect(stderr).toMatch(advice);
});

test('the former name of dead-letters still works, and hidden from the help', async () => {
  const behaviour: Behaviour = { dead: deadOf(scene()) };
  const [former, now] = [await cli(['deadletters'], scene(), { behaviour }), await dead([])];
  expect({ code: former.code, stdout: former.stdout }).toEqual({ code: 0, stdout: now.stdout });
  expect((await cli(['--help'])).stdout).not.toContain('deadletters');
});

test('a run that does not exist is reported', async () => {
  for (const args of [
    ['dead-letters', '--run', 'nosuch'],
    ['show', 'nosuch', '--mail'],
  ])
    expect(await cli(args)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: There is no such run/u) });
});

test('--help has an example', async () => {
  expect((await cli(['dead-letters', '--help'])).stdout).toContain('$ cloister dead-letters --run last --json');
  expect((await cli(['show', '--help'])).stdout).toContain('$ cloister show last --mail');
});

const mailEvent = (over: Partial<Extract<DurableEvent, { type: 'mail' }>>): DurableEvent => {
  const { id, run, cell, agent, at, agent_id, recipient_id, message_type, correlation_id } = eventsOf(scene())[0]!;
  const first = { id, run, cell, agent, at, agent_id, recipient_id, message_type, correlation_id };
  const what = { type: 'mail', message: 'm-1', kind: 'message', sender: null, recipient: 'lead', topic: null } as const;
  const is = { from: 'outside', to: leadId, correlation: null, state: 'queued', reason: null } as const;
  const said = { text: null, unasked: false };
  return { ...first, ...what, ...is, ...said, ...over };
};

test('the lines of a run show messages when sent and when dead; --verbose shows every state', async () => {
  const events = [
    mailEvent({}),
    mailEvent({ state: 'read' }),
    mailEvent({ kind: 'broadcast', sender: 'lead', recipient: 'scout', topic: 'news' }),
    mailEvent({ sender: 'lead', recipient: 'nobody', state: 'dead', reason: 'unknown' }),
    mailEvent({ kind: 'result', sender: 'scout', state: 'dead', reason: 'ended' }),
  ];
  const behaviour: Behaviour = { events: [...eventsOf(scene()).slice(0, 1), ...events] };
  const linesOf = async (...args: readonly string[]) => {
    const { stderr } = await cli(['run', 'lead', 'x', ...args], scene(), { behaviour });
    return stderr
      .split('\n')
      .flatMap((line) => /^\S+ lead {2}(?<said>(?:message|broadcast|result) .*)$/u.exec(line)?.[1] ?? []);
  };
  const [sent, published, lost] = [
    'message person → lead',
    'broadcast lead → #news (scout)',
    'message lead → nobody: dead, unknown',
  ];
  expect(await linesOf()).toEqual([sent, published, lost]);
  expect(await linesOf('--verbose')).toEqual([
    sent,
    'message person → lead: read',
    published,
    lost,
    'result scout → lead: dead, ended',
  ]);
});
