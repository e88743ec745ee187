// `cloister studio`: the link, the browser, and what is printed.
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { RunningServer, ServeLine, StudioOptions } from '#headends/cli';
import { cli, runId, scene, settle, startCli } from './driver.ts';

const lead = {
  name: 'lead',
  description: 'Leads.',
  usage: '',
  signature: { input: { format: 'text' } },
} as const;

const showing = async (
  args: readonly string[],
  { terminal = { tty: true }, opens = true, over = {} }: { terminal?: object; opens?: boolean; over?: object } = {},
) => {
  const asked: StudioOptions[] = [];
  const links: string[] = [];
  const happened: string[] = [];
  let log: (line: ServeLine) => void = () => undefined;
  const studio = async (options: StudioOptions, to: (line: ServeLine) => void): Promise<RunningServer> => {
    asked.push(options);
    log = to;
    return {
      url: `http://127.0.0.1:${options.port ?? 8788}`,
      stdio: false,
      token: 'clo_secret',
      agents: [lead],
      notes: [],
      running: () => 0,
      inputEnded: null,
      stop: async () => (happened.push('stop'), []),
      close: async () => void happened.push('close'),
      ...over,
    };
  };
  const openBrowser = (link: string): boolean => (links.push(link), opens);
  const started = startCli(['studio', ...args], scene(), { behaviour: { studio, openBrowser }, terminal });
  await settle();
  return { ...started, asked, links, happened, log: (line: ServeLine) => log(line) };
};

const link = 'http://127.0.0.1:8788/#token=clo_secret';

describe('studio', () => {
  test('opens the browser with the link, which it prints too, and stops cleanly on Ctrl-C', async () => {
    const { stdout, links, interrupt, code, happened, asked } = await showing([]);
    expect(links).toEqual([link]);
    expect(stdout()).toContain('Studio of ./.cloister: 1 agent: lead');
    expect(stdout()).toContain(link);
    expect(asked).toEqual([{ agents: [], port: null, workspace: './.cloister', config: null }]);
    interrupt();
    expect(await code).toBe(0);
    expect(happened).toEqual(['stop', 'close']);
  });

  test.each([
    ['--no-open', ['--no-open'], {}],
    ['in a pipe', [], { terminal: {} }],
    ['with --json', ['--json'], {}],
  ])('only prints the link %s', async (_why, args, more) => {
    const { links, stdout } = await showing(args, more);
    expect(links).toEqual([]);
    expect(stdout()).toContain(link);
  });

  test('says so if there is no browser', async () => {
    const { links, stderr } = await showing([], { opens: false });
    expect(links).toEqual([link]);
    expect(stderr()).toContain('open the link yourself');
  });

  test('passes paths, agents, the port, the workspace and the config on', async () => {
    const { asked } = await showing(
      'lead.ai team/ --agent scout --port 9000 --workspace w --config c.json --no-open'.split(' '),
    );
    expect(asked).toEqual([{ agents: ['scout', 'lead.ai', 'team/'], port: 9000, workspace: 'w', config: 'c.json' }]);
    const wrong = await cli(['studio', '--port', '70000']);
    expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('0 to 65535')]);
  });

  test('without agents says how to chat, and notes go to stderr', async () => {
    const { stdout, stderr } = await showing([], { over: { agents: [], notes: ['None can be used.'] } });
    expect(stdout()).toContain('you can look but not chat');
    expect(stdout()).toContain('cloister studio lead.ai');
    expect(stderr()).toContain('note: None can be used.');
  });

  test('prints runs and defects, and requests only with --verbose', async () => {
    const request: ServeLine = {
      type: 'request',
      id: 'req_1',
      caller: 'studio',
      method: 'GET',
      path: '/v1/runs',
      status: 200,
      ms: 3,
      code: null,
      run: null,
      defect: null,
    };
    const lines: readonly ServeLine[] = [
      request,
      { ...request, path: '/broken', status: 500, defect: 'Error: broken' },
      { type: 'resume', caller: 'studio', agent: 'lead', run: runId, code: null },
    ];
    const printed = async (...args: readonly string[]) => {
      const { log, stderr } = await showing(args);
      for (const line of lines) log(line);
      return stderr().trim().split('\n').length;
    };
    expect([await printed(), await printed('--verbose')]).toEqual([2, 3]);
  });

  test('reports what is wrong with the workspace or the port', async () => {
    const { code, stderr } = await cli(['studio'], scene(), {
      behaviour: { studio: () => Promise.reject(new CloisterError('address_taken', 'Port 9000.')) },
    });
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('Port 9000.')]);
  });
});
