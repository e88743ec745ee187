// Spawned agents in real processes: a chat that is one session, its agents, and what is left of it after a kill.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cloisterJson, cloister, newFolder, nodeNoise, repo, script, startCloister, value } from './driver.ts';

const master = join(repo, 'examples/dungeon/game-master.ai');
const agents = ['--agents', master];

const countStates = (mail: readonly any[]): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(mail, ({ message_type: type, state }) => `${type} ${state}`)].map(([key, all]) => [
      key,
      all.length,
    ]),
  );

test.concurrent('a chat through a pipe is one session whose agents live from the first message to the last', async () => {
  const cwd = newFolder();
  const chat = await cloister(['chat', 'game-master', ...agents], { cwd, input: 'We go in.\n\nWe try the door.\n' });
  expect(chat.code).toBe(0);
  expect(chat.stdout.match(/^(?:fighter|wizard|rogue): I /gmu)).toHaveLength(6);
  expect(chat.stderr).not.toMatch(nodeNoise);

  const [run, ...others] = await cloisterJson(['runs'], { cwd });
  expect(others).toEqual([]);
  expect(run).toMatchObject({ agent: 'game-master', goal: 'We go in.', status: 'completed', cells: 4 });
  const { cells } = await cloisterJson(['show', 'last'], { cwd });
  expect(cells.map(({ agent, status }: any) => [agent, status])).toEqual(
    expect.arrayContaining(['fighter', 'wizard', 'rogue'].map((agent) => [agent, 'completed'])),
  );
  const mail = await cloisterJson(['show', 'last', '--mail'], { cwd });
  expect(countStates(mail)).toMatchObject({ 'message read': 1, 'answer delivered': 2, 'broadcast read': 24 });
  expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  expect(await cloisterJson(['replay', 'last', ...agents], { cwd })).toMatchObject({ ok: true, differences: [] });

  const shown = await cloister(['show', 'last', '--mail'], { cwd });
  for (const line of shown.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  const dead = await cloisterJson(['dead-letters', '--run', 'last'], { cwd });
  expect(dead).toMatchObject({ read: 1, more: false, damaged: [] });
  expect(new Set(dead.letters.map(({ message_type: type, reason }: any) => `${type} ${reason}`))).toEqual(
    new Set(['result ended']),
  );
  const { entries } = await cloisterJson(['conversations', 'show', 'main'], { cwd });
  expect(entries.map(({ agent_id, text }: any) => [agent_id, text.split('\n').at(-1)])).toEqual([
    ['person', 'We go in.'],
    ['game-master', 'Stone grinds on stone, and a way opens. What do you do?'],
    ['person', 'We try the door.'],
    ['game-master', 'Stone grinds on stone, and a way opens. What do you do?'],
  ]);
});

test.concurrent('a chat that was killed while its agents were working is resumed, ends, and can be continued', async () => {
  const cwd = newFolder();
  const chat = startCloister(['chat', 'game-master', ...agents], { cwd });
  chat.write('We go in.\n');
  await chat.printed(/→ rogue {2}started/u);
  chat.kill('SIGKILL');
  await chat.ended;
  expect((await cloisterJson(['runs'], { cwd }))[0]).toMatchObject({ state: 'interrupted' });

  const resumed = await cloister(['resume', 'last', ...agents], { cwd });
  expect(resumed.code).toBe(0);
  expect(resumed.stdout.match(/^(?:fighter|wizard|rogue): I /gmu)).toHaveLength(3);
  const { cells } = await cloisterJson(['show', 'last'], { cwd });
  expect(cells).toHaveLength(4);
  expect(cells.filter(({ status }: any) => status === null)).toEqual([]);
  expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  expect(await cloisterJson(['replay', 'last', ...agents], { cwd })).toMatchObject({ ok: true, differences: [] });

  const again = await cloister(['chat', 'game-master', ...agents, '--json'], { cwd, input: 'We go on.\n' });
  expect(again.code).toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ status: 'completed', error: null, agent: 'game-master' });
  const { entries } = await cloisterJson(['conversations', 'show', 'main'], { cwd });
  expect(entries.map(({ agent_id }: any) => agent_id)).toEqual(['person', 'game-master', 'person', 'game-master']);
});

test.concurrent('a chat that was killed while it waited is resumed by a program, which writes to its agents', async () => {
  const cwd = newFolder();
  const chat = startCloister(['chat', 'game-master', ...agents], { cwd });
  chat.write('We go in.\n');
  await chat.printed(/What do you do\?\n$/u);
  chat.kill('SIGKILL');
  await chat.ended;
  const answers = value(await script('write-to-resumed.ts', [master], { cwd }));
  expect(answers).toMatchObject({
    resident: true,
    status: 'completed',
    answeredBy: 'cave:wizard',
    ended: 'completed',
    ok: true,
  });
  expect(answers.living).toEqual(['game-master', 'cave:fighter', 'cave:wizard', 'cave:rogue']);
  expect(answers.text).toMatch(/^(?:(?:fighter|wizard|rogue): I .*\n){3}Stone grinds/u);
});

// invariant: chat-continues-killed
test.concurrent('a chat that was killed is taken up by the next one, with the agents that lived and what nobody had seen', async () => {
  const cwd = newFolder();
  const chat = startCloister(['chat', 'game-master', ...agents], { cwd });
  chat.write('We go in.\n');
  // Its agents are in the log: the request that came after them has waited for that.
  await chat.printed(/broadcast game-master → #party-chat \(cave:rogue\)/u);
  chat.kill('SIGKILL');
  await chat.ended;
  const [before] = await cloisterJson(['runs'], { cwd });
  expect(before).toMatchObject({ state: 'interrupted' });

  const again = startCloister(['chat', 'game-master', ...agents], { cwd });
  await again.printed(/^continuing the session of .* with 3 agents: cave:fighter, cave:wizard, cave:rogue$/mu);
  // The answer to the message that the killed chat had sent.
  await again.printed(/^\[game-master, to an earlier message\] (?:fighter|wizard|rogue): I /mu);
  again.write('We try the door.\n');
  await again.printed(/What do you do\?\n[^]*What do you do\?\n$/u);
  again.kill('SIGKILL');
  await again.ended;

  const last = await cloister(['chat', 'game-master', ...agents, '--json'], { cwd, input: 'We go on.\n' });
  expect(last.code).toBe(0);
  const lines = last.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ status: 'completed', agent: 'game-master', unasked: false });
  // The second chat was killed when it had printed its answer, perhaps before that was in the log.
  expect(new Set(lines.map(({ answers }) => answers)).size).toBe(lines.length);
  expect(lines.length).toBeLessThanOrEqual(2);
  const [run, ...others] = await cloisterJson(['runs'], { cwd });
  expect(others).toEqual([]);
  expect(run).toMatchObject({ run: before.run, status: 'completed', cells: 4 });
  const mail = await cloisterJson(['show', 'last', '--mail'], { cwd });
  expect(countStates(mail)).toMatchObject({ 'message read': 2, 'answer delivered': 3 });
  expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  expect(await cloisterJson(['replay', 'last', ...agents], { cwd })).toMatchObject({ ok: true, differences: [] });
  const { entries } = await cloisterJson(['conversations', 'show', 'main'], { cwd });
  expect(entries.map(({ agent_id }: any) => agent_id)).toEqual(
    Array.from({ length: 6 }, (_, no) => (no % 2 === 0 ? 'person' : 'game-master')),
  );
});

test.concurrent('an interrupted chat leaves no process behind', async () => {
  const cwd = newFolder();
  const chat = startCloister(['chat', 'game-master', ...agents], { cwd });
  chat.write('We go in.\n');
  await chat.printed(/→ rogue {2}started/u);
  chat.kill('SIGINT');
  expect(await chat.ended).toMatchObject({ code: 130 });
  const { status, cells } = await cloisterJson(['show', 'last'], { cwd });
  expect(status).toBe('cancelled');
  expect(cells.map(({ status: one }: any) => one)).toEqual(cells.map(() => 'cancelled'));
});

test.concurrent('an agent that hands over to a copy of itself and stops: its caller gets the copy’s answer, or is told why not', async () => {
  const cwd = newFolder();
  const write = (spawns: string): void =>
    writeFileSync(
      join(cwd, 'reader.ai'),
      `---\ndescription: Reads.\nusage: All of it\noutput: { format: text }\nmodels: rehearsal/m\ntools: [spawn_agent]\nspawns: ${spawns}\n---\nYou read.\n`,
    );
  const provider = { type: 'rehearsal', script: './script.yaml', models: { m: {} } };
  writeFileSync(join(cwd, '.ai-agent.json'), JSON.stringify({ providers: { rehearsal: provider } }));
  writeFileSync(
    join(cwd, 'script.yaml'),
    `lines:
  - when: { agent: reader, text: 'All of it', turn: 1 }
    reply: { calls: [{ tool: spawn_agent, args: { agent_id: self, initial_message: The rest } }] }
  - when: { agent: reader, text: 'All of it' }
    reply: A copy of me continues.
  - reply: { text: The butler did it., delayMs: 1500 }
`,
  );
  write('[self]');
  const whole = await cloister(['reader.ai', 'All of it'], { cwd });
  expect(whole.stdout.trim()).toBe('A copy of me continues.');
  expect(whole.stderr).toMatch(/ reader {2}has answered; waiting for the work of reader, 10m00s at most$/mu);
  // The spawn counts as one tool call.
  expect(whole.stderr).toMatch(/^total +completed +3 +1 /mu);
  expect(whole.stderr).toMatch(/^from reader-\w+, which the answer does not include:\nThe butler did it\.$/mu);
  expect(whole.code).toBe(0);

  write('{ agents: [self], wait: 100ms, grace: 100ms }');
  const { code, stdout, stderr } = await cloister(['reader.ai', 'All of it'], { cwd });
  expect({ code, answer: stdout.trim() }).toEqual({ code: 5, answer: 'A copy of me continues.' });
  expect(stderr).toMatch(
    /^no complete answer from: (reader-\w+)\n- \1: It was still working 100 ms after its parent answered \(spawns\.wait\)\.$/mu,
  );
  const json = await cloister(['reader.ai', 'All of it', '--json'], { cwd });
  expect(json.code).toBe(5);
  expect(JSON.parse(json.stdout)).toMatchObject({ status: 'partial', spawned: [{ status: 'cancelled', output: '' }] });
});
