import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { ServeLine, ServeOptions, RunningServer } from '#headends/cli';
import { cli, emulate, runId, scene, settle, startCli } from './driver.ts';

const lead = {
  name: 'lead',
  description: 'Leads.',
  usage: 'What is "it"?',
  signature: { input: { format: 'text' } },
} as const;
const counter = {
  name: 'counter',
  description: 'Counts.',
  usage: '{"from":1}',
  signature: { input: { format: 'json' } },
} as const;

type Fake = { left?: readonly string[]; over?: Partial<RunningServer>; log?: (line: ServeLine) => void };

/** A fake server. */
const fakeServer = (fake: Fake = {}) => {
  const asked: ServeOptions[] = [];
  const happened: string[] = [];
  const serve = async (options: ServeOptions, log: (line: ServeLine) => void): Promise<RunningServer> => {
    asked.push(options);
    fake.log = log;
    return {
      url: options.port === null ? null : `http://127.0.0.1:${options.port}`,
      stdio: options.stdio,
      token: options.tokenFile === null ? 'clo_secret' : null,
      agents: [lead, counter],
      notes: [],
      running: () => 2,
      inputEnded: null,
      stop: async (graceMs) => {
        happened.push(`stop ${graceMs}`);
        return fake.left ?? [];
      },
      close: async () => void happened.push('close'),
      ...fake.over,
    };
  };
  return { serve, asked, happened };
};

const serving = async (args: readonly string[], fake: Fake = {}, terminal = {}) => {
  const server = fakeServer(fake);
  const started = startCli(['serve', '--agent', 'lead.ai', ...args], scene(), {
    behaviour: { serve: server.serve },
    terminal,
  });
  await settle();
  return { ...started, ...server };
};

describe('serve', () => {
  test('prints the address, the token once, and a line to paste for each agent', async () => {
    const { interrupt, code, stdout } = await serving([]);
    interrupt();
    expect(await code).toBe(0);
    const lines = stdout().split('\n');
    expect(lines[0]).toBe('Serving 2 agents at http://127.0.0.1:8787');
    expect(stdout().match(/=clo_secret$/gmu)).toHaveLength(2);
    expect(lines).toContain('Studio     http://127.0.0.1:8787/#token=clo_secret');
    const token = '-H "authorization: Bearer $CLOISTER_TOKEN"';
    const at = 'http://127.0.0.1:8787/v1';
    expect(lines).toContain(`  curl -G ${token} ${at}/lead --data-urlencode 'q=What is "it"?'`);
    const json = "-H 'content-type: application/json'";
    expect(lines).toContain(`  curl ${token} ${json} ${at}/counter -d '{"input":{"from":1}}'`);
    expect(stdout()).toContain('ws://127.0.0.1:8787/mcp/ws');
  });

  test.for([
    ['Acme\u001B[2J', 'socket', /^Connected to the Slack workspace Acme.* over Socket Mode$/mu],
    ['Acme', 'http', /^Connected to the Slack workspace Acme over HTTP$/mu],
    [null, 'socket', /^Slack cannot be reached yet; trying again$/mu],
  ] as const)('says that Slack is connected: %j over %s', async ([workspace, transport, expected]) => {
    const slack = { workspace, transport };
    const plain = await serving(['--slack'], { over: { slack } });
    expect(plain.asked).toMatchObject([{ slack: true }]);
    expect(plain.stdout()).toMatch(expected);
    expect(plain.stdout()).not.toContain('\u001B[2J');
    const json = await serving(['--slack', '--json'], { over: { slack } });
    expect(JSON.parse(json.stdout().split('\n')[0]!)).toMatchObject({ type: 'serving', slack });
    const without = await serving(['--json']);
    expect(JSON.parse(without.stdout().split('\n')[0]!)).not.toHaveProperty('slack');
  });

  test('with Slack it listens, also beside MCP over standard input', async () => {
    const { asked } = await serving(['--slack', '--stdio-mcp']);
    expect(asked).toMatchObject([{ port: 8787, stdio: true }]);
  });

  test('news of Slack are printed without control characters', async () => {
    const fake: Fake = {};
    const { stderr } = await serving(['--slack'], fake);
    fake.log?.({ type: 'slack', text: 'The connection is lost.\u001B[2J' });
    expect(stderr()).toContain('The connection is lost.');
    expect(stderr()).not.toContain('\u001B[2J');
  });

  test.for([[], ['--json']])('%j: notes for the operator go to stderr', async (args) => {
    const { stdout, stderr } = await serving(args, { over: { notes: ['One.', 'Two\u001B[2J.'] } });
    expect(stderr()).toBe('note: One.\nnote: Two.\n');
    expect(stdout()).not.toContain('One.');
  });

  test('with a token file shows no token', async () => {
    const { interrupt, code, stdout, asked } = await serving(['--token-file', 't.json', '--http', '9000']);
    interrupt();
    await code;
    expect(stdout()).not.toContain('clo_');
    expect(stdout()).toContain('Studio     http://127.0.0.1:9000/\n');
    expect(asked).toMatchObject([{ tokenFile: 't.json', port: 9000, host: '127.0.0.1', expose: false }]);
  });

  test('passes every option on', async () => {
    const given =
      '--host ::1 --expose --allow-host a.example --allow-origin https://b.example --allow-system --allow-tools';
    const more =
      '--show-activity --compat --max-runs 2 --max-runs-per-agent 1 --max-runs-per-caller 1 --max-queue 0 --in-memory --grace 7 --indeterminate ask --agent x --http 0';
    const { interrupt, code, asked, happened } = await serving(`${given} ${more}`.split(' '));
    interrupt();
    await code;
    expect(asked).toMatchObject([
      {
        agents: ['lead.ai', 'x'],
        port: 0,
        host: '::1',
        expose: true,
        hosts: ['a.example'],
        origins: ['https://b.example'],
        clients: { system: true, tools: true, activity: true, compat: true },
        slots: { running: 2, runningPerAgent: 1, runningPerCaller: 1, waiting: 0 },
        memory: true,
        indeterminate: 'ask',
      },
    ]);
    expect(happened).toEqual(['stop 7000', 'close']);
  });

  test('former option names still work, and no help lists them', async () => {
    const { interrupt, code, asked } = await serving(
      '--running 2 --running-per-agent 1 --waiting 0 --memory'.split(' '),
    );
    interrupt();
    await code;
    expect(asked).toMatchObject([{ slots: { running: 2, runningPerAgent: 1, waiting: 0 }, memory: true }]);
    const { stdout } = await cli(['serve', '--help']);
    expect(stdout).not.toMatch(/--(?:running|waiting|memory)/u);
  });

  // invariant: serve-names-continuable-runs
  test('stops cleanly on Ctrl-C, and immediately on the second, which lists the interrupted runs', async () => {
    const asked: number[] = [];
    const stopping = Promise.withResolvers<readonly string[]>();
    const stop = (graceMs: number) => {
      asked.push(graceMs);
      return graceMs === 0 ? Promise.resolve([runId]) : stopping.promise;
    };
    const { interrupt, code, stderr, pass, happened } = await serving(['--workspace', 'w'], { over: { stop } });
    interrupt();
    await settle();
    expect(stderr()).toBe('stopping: 2 runs have 30 s to finish; Ctrl-C again stops immediately\n');
    // One key press may arrive as two signals.
    interrupt();
    await settle();
    expect(asked).toEqual([30_000]);
    await pass(1_000);
    interrupt();
    expect(await code).toBe(130);
    expect(asked).toEqual([30_000, 0]);
    const [, ...after] = stderr().split('\n');
    expect(after.join('\n')).toBe(
      `1 run is unfinished. Continue it with:\n  npx cloister resume ${runId} --workspace w\n`,
    );
    expect(happened).toEqual([]);
  });

  test.for([
    [['--grace', '7'], 1, 'stopping: 1 run has 7 s to finish; Ctrl-C again stops immediately\n'],
    [['--grace', '0'], 2, 'stopping: 2 runs are being interrupted\n'],
    [[], 0, 'stopping: no runs in flight\n'],
  ] as const)('stopped with %j and %i runs, it says what becomes of them', async ([args, running, words]) => {
    const { interrupt, code, stderr } = await serving(args, { over: { running: () => running } });
    interrupt();
    expect(await code).toBe(0);
    expect(stderr()).toBe(words);
  });

  // invariants: serve-names-continuable-runs, serve-stop-bounded
  test('an immediate stop waits at most a second to find the interrupted runs, and says how to list them', async () => {
    const { interrupt, code, stderr, pass } = await serving([], { over: { stop: () => new Promise(() => undefined) } });
    interrupt();
    await pass(1_000);
    interrupt();
    await settle();
    await pass(999);
    expect(stderr()).not.toContain('npx cloister runs');
    await pass(1);
    expect(await code).toBe(130);
    expect(stderr()).toContain('Unfinished runs can be continued; list them with:\n  npx cloister runs\n');
  });

  test('an immediate stop lists nothing in memory mode or if nothing was interrupted; a third Ctrl-C waits for nothing', async () => {
    for (const [args, left] of [
      [['--in-memory'], [runId]],
      [[], []],
    ] as const) {
      const stop = async (graceMs: number) => (graceMs === 0 ? left : new Promise<never>(() => undefined));
      const { interrupt, code, stderr, pass } = await serving(args, { over: { stop } });
      interrupt();
      await pass(1_000);
      interrupt();
      expect(await code).toBe(130);
      expect(stderr()).not.toContain('npx cloister');
    }
    const stuck = await serving([], { over: { stop: () => new Promise(() => undefined) } });
    for (const _press of [1, 2, 3]) {
      stuck.interrupt();
      await stuck.pass(500);
    }
    expect(await stuck.code).toBe(130);
    expect(stuck.stderr()).not.toContain('npx cloister');
  });

  test('a Ctrl-C while it closes exits', async () => {
    const close = () => new Promise<never>(() => undefined);
    const { interrupt, code, pass } = await serving([], { over: { close } });
    interrupt();
    await pass(1_000);
    interrupt();
    expect(await code).toBe(130);
  });

  test('lists unfinished runs with the commands that continue them, and cancels none of them', async () => {
    const { interrupt, code, stderr, happened } = await serving(['--workspace', 'w'], { left: [runId] });
    interrupt();
    expect(await code).toBe(0);
    expect(stderr()).toContain('1 run is unfinished. Continue it with:');
    expect(stderr()).toContain(`npx cloister resume ${runId} --workspace w`);
    expect(happened).toEqual(['stop 30000']);
  });

  test('prints one sanitized line for each request and each run, with the error code', async () => {
    const fake: Fake = {};
    const { interrupt, code, stderr } = await serving([], fake, { tty: true, columns: 100 });
    const request = {
      type: 'request',
      id: 'req_1',
      method: 'GET',
      ms: 3,
      caller: 'ci',
      run: null,
      code: null,
      defect: null,
    } as const;
    fake.log!({ ...request, path: '/v1/lead', status: 200 });
    fake.log!({ ...request, path: '/v1/\u001B[2J\nforged', status: 404, caller: null, code: 'agent_unknown' });
    fake.log!({
      type: 'run',
      caller: 'ci',
      agent: 'lead',
      run: runId,
      status: 'budget',
      code: 'budget_refused',
      tokens: 1234,
      uncertain: 50,
      usd: null,
      ms: 4200,
    });
    interrupt();
    await code;
    const lines = emulate(stderr(), 100).lines.filter((line) => line.trim() !== '');
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}200 {2}GET \/v1\/lead {2}3 ms {2}ci$/u);
    expect(lines[1]).toMatch(/ {2}404 {2}GET \/v1\/ forged {2}3 ms {2}- {2}agent_unknown$/u);
    expect(lines[2]).toMatch(
      / {2}run \S+ {2}lead {2}budget {2}1,234 tokens, 50 uncertain {2}4\.2 s {2}ci {2}budget_refused$/u,
    );
  });

  test('with --json every line is a value: first the server, then requests and runs', async () => {
    const fake: Fake = {};
    const { interrupt, code, stdout } = await serving(['--json'], fake);
    fake.log!({
      type: 'run',
      caller: 'c',
      agent: 'lead',
      run: runId,
      status: 'completed',
      code: null,
      tokens: 1,
      uncertain: 0,
      usd: 0,
      ms: 1,
    });
    interrupt();
    await code;
    expect(
      stdout()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { type: 'serving', url: 'http://127.0.0.1:8787', token: 'clo_secret', agents: ['lead', 'counter'] },
      { type: 'run', status: 'completed' },
    ]);
  });

  test('with --stdio-mcp prints nothing on stdout, and ends with its input', async () => {
    const input = Promise.withResolvers<void>();
    const { code, stdout, stderr, asked, happened } = await serving(['--stdio-mcp'], {
      over: { inputEnded: input.promise },
    });
    expect(asked).toMatchObject([{ stdio: true, port: null }]);
    input.resolve();
    expect(await code).toBe(0);
    expect(stdout()).toBe('');
    expect(stderr()).toContain('over MCP on stdin');
    expect(stderr()).not.toContain('clo_');
    expect(happened).toEqual(['stop 30000', 'close']);
  });

  test.for([
    [['serve'], /no agent to serve/u],
    [['serve', '--agent', 'a', '--http', '70000'], /port/u],
    [['serve', '--agent', 'a', '--max-runs', '0'], /1 or more/u],
    [['serve', '--agents', 'a'], /--agents/u],
    [['serve', '--agent', 'a', '--stdio-mcp', '--json'], /'--stdio-mcp' cannot be used with option '--json'/u],
  ] as const)('%j is a usage error', async ([args, words]) => {
    const { code, stdout, stderr } = await cli([...args]);
    expect([code, stdout]).toEqual([4, '']);
    expect(stderr).toMatch(words);
  });

  test('its help says that --json prints lines', async () => {
    const { stdout } = await cli(['serve', '--help']);
    expect(stdout.replaceAll(/\s+/gu, ' ')).toContain('--json print one JSON value per line');
  });

  test('a server that cannot start ends with an error and a suggestion', async () => {
    const serve = () => Promise.reject(new CloisterError('address_taken', '127.0.0.1:8787 (EADDRINUSE).'));
    const { code, stderr } = await cli(['serve', '--agent', 'a'], scene(), { behaviour: { serve } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: Cannot listen on this address\. 127\.0\.0\.1:8787 .*\ntry: .*--http/u);
  });
});

test('token prints a token and its entry, which contains only its hash', async () => {
  const { code, stdout } = await cli(['token', 'ci']);
  expect(code).toBe(0);
  expect(stdout).toContain('clo_made');
  expect(stdout).toContain(JSON.stringify({ name: 'ci', sha256: 'ab'.repeat(32) }));
  expect((await cli(['token', 'ci', '--sees', 'causes'])).stdout).toContain('"sees":"causes"}');
  expect((await cli(['token', 'ci', '--sees', 'all'])).stderr).toContain('answers, causes, contents');
  expect((await cli(['token', 'ci', '--may', 'watch'])).stdout).toContain('"may":["watch"]}');
  expect((await cli(['token', 'ci', '--may', 'run'])).stderr).toContain('It must be watch');
  expect((await cli(['token', 'ci', '--answers', 'lead, scout,lead'])).stdout).toContain('"answers":["lead","scout"]}');
  expect((await cli(['token', 'ci', '--answers', '*'])).stdout).toContain('"answers":["*"]}');
  expect((await cli(['token', 'ci', '--answers', 'a b'])).stderr).toContain('It must be names of agents');
  const both = await cli(['token', 'ci', '--answers', 'lead', '--may', 'watch']);
  expect(both.stderr).toContain('a token that may only watch answers no questions');
  expect(JSON.parse((await cli(['token', 'ci', '--json'])).stdout)).toEqual({
    token: 'clo_made',
    entry: { name: 'ci', sha256: 'ab'.repeat(32) },
  });
});
