// What agents say unasked in a chat, and a chat that continues the session which a killed one has left.
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { defineAgent, openCloister } from 'cloister';
import { rehearse, virtualClock } from '#testkit';
import { emulate, scene, settle, startCli } from './driver.ts';
import type { Behaviour } from './driver.ts';

/** A lead that starts a scout and answers at once. What the scout finds, it tells unasked. */
const openTeam = async () => {
  const model = rehearse([
    { when: { agent: 'scout' }, reply: 'found gold' },
    {
      when: ({ agent, lastText }) => agent === 'lead' && lastText.endsWith('look'),
      reply: { calls: [{ tool: 'spawn_agent', args: { agent_id: 'scout', initial_message: 'seek' } }] },
    },
    { when: ({ lastText }) => lastText.includes('found gold'), reply: 'News: gold!' },
    { reply: 'Sent.' },
  ]);
  const scout = defineAgent({ name: 'scout', description: 'Scouts.', prompt: 'Scout.' });
  const options = { name: 'lead', description: 'Leads.', prompt: 'Lead.', tools: ['spawn_agent'] };
  const lead = defineAgent({ ...options, spawns: { agents: [scout] } });
  return openCloister({ store: 'memory', agents: [lead], models: [model] });
};

const chat = (isTerminal: boolean, args: readonly string[] = []) => {
  let cli: ReturnType<typeof startCli> | undefined;
  const shown = async (): Promise<null> => {
    for (let tries = 0; tries < 2_000 && !cli!.stdout().includes('gold!'); tries++) await settle();
    await settle();
    return null;
  };
  cli = startCli(['chat', 'lead', ...args], scene(), {
    terminal: { tty: isTerminal },
    behaviour: { opens: openTeam, lines: { isTerminal, texts: ['look', shown] } },
  });
  return cli;
};

test('what an agent says unasked is printed while the chat waits for input, with its name and a mark', async () => {
  const piped = chat(false);
  expect(await piped.code).toBe(0);
  expect(piped.stdout()).toBe('Sent.\n[lead, unasked] News: gold!\n');
  expect(piped.stderr()).toMatch(/lead {2}says unasked: News: gold!$/mu);
  const typed = chat(true);
  expect(await typed.code).toBe(0);
  const { lines } = emulate(typed.screen(), 80);
  expect(lines.filter((line) => line.includes('News: gold!'))).toEqual(['[lead, unasked] News: gold!']);
  expect(lines).toContain('Sent.');
});

test('with --json it is a line of its own', async () => {
  const cli = chat(false, ['--json']);
  expect(await cli.code).toBe(0);
  const lines = cli.stdout().trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ output: 'Sent.', unasked: false }),
    expect.objectContaining({ output: 'News: gold!', unasked: true, answers: null, agent: 'lead', error: null }),
  ]);
});

const continued = async (behaviour: Behaviour) => {
  const turns: unknown[] = [];
  const finished: string[] = [];
  const cli = startCli(['chat', 'lead'], scene(), {
    behaviour: {
      lines: { isTerminal: false, texts: ['And now?'] },
      onTurn: (...given) => turns.push(given),
      onFinish: (how) => finished.push(how),
      ...behaviour,
    },
  });
  return { code: await cli.code, turns, finished, stderr: cli.stderr(), stdout: cli.stdout() };
};

// invariant: chat-continues-killed
test('a session that was left in the conversation gets the next message, instead of a new one', async () => {
  const { code, turns, finished, stderr } = await continued({ left: true, others: 2 });
  expect({ code, turns, finished }).toEqual({ code: 0, turns: [['lead', 'And now?', {}]], finished: ['finish'] });
  expect(stderr).toMatch(/^continuing the session of \S+ \S+ with 2 agents: scout-1, scout-2$/mu);
});

test('one that cannot be continued is reported, and the next message starts a new one', async () => {
  const { code, turns, stderr } = await continued({ left: new CloisterError('run_owned', 'Run c0ffee.') });
  expect(code).toBe(0);
  expect(turns).toEqual([['lead', 'And now?', expect.objectContaining({ conversation: expect.anything() })]]);
  expect(stderr).toMatch(/^error: .*Run c0ffee\.[^]*cannot be continued\. Your next message starts a new one\.$/mu);
});

/** A lead whose scout still works when the chat ends. Time passes only after that, once the scout has been asked to finish. */
const leaveAtWork = async (delayMs: number, args: readonly string[] = []) => {
  const clock = virtualClock(1_000_000);
  const opens = () => {
    const spawn = { tool: 'spawn_agent', args: { agent_id: 'scout', initial_message: 'seek' } };
    const model = rehearse(
      [
        { when: { agent: 'scout' }, reply: { text: 'found gold', delayMs } },
        { when: { turn: 1 }, reply: { calls: [spawn] } },
        { reply: 'Sent.' },
      ],
      { clock },
    );
    const scout = defineAgent({ name: 'scout', description: 'Scouts.', prompt: 'Scout.' });
    const options = { name: 'lead', description: 'Leads.', prompt: 'Lead.', tools: ['spawn_agent'] };
    const lead = defineAgent({ ...options, spawns: { agents: [scout], graceMs: 5_000 } });
    return openCloister({ store: 'memory', agents: [lead], models: [model], clock });
  };
  let timers = Infinity;
  const over = async (): Promise<null> => {
    timers = clock.waiting;
    return null;
  };
  const cli = startCli(['chat', 'lead', ...args], scene(), {
    terminal: { tty: false },
    behaviour: { opens, lines: { isTerminal: false, texts: ['look', over] } },
  });
  for (let tries = 0; tries < 2_000 && clock.waiting <= timers; tries++) await settle();
  await clock.runAll();
  return { code: await cli.code, stdout: cli.stdout(), stderr: cli.stderr() };
};

// invariant: chat-end-finishes-agents
test('a chat that ends while an agent works names it with the reason, and exits with 5', async () => {
  const { code, stdout, stderr } = await leaveAtWork(60_000);
  expect({ code, stdout }).toEqual({ code: 5, stdout: 'Sent.\n' });
  expect(stderr).toMatch(/^no complete answer from: scout\n- scout: It was still working when/mu);
  const json = await leaveAtWork(60_000, ['--json']);
  expect(json.code).toBe(5);
  expect(JSON.parse(json.stdout.split('\n')[1]!)).toMatchObject({ status: 'partial', missing: ['scout'] });
});

test('what an agent finishes after the end of the chat is shown, apart from the answers', async () => {
  const { code, stdout, stderr } = await leaveAtWork(1_000);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Sent.\n' });
  expect(stderr).toContain('from scout, which the answer does not include:\nfound gold');
});
