// What agents say unasked in a chat, and a chat that continues the session which a killed one has left.
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from '#testkit';
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
