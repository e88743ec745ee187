import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { cli, emulate, runId, scene, settle, startCli } from './driver.ts';
import type { Behaviour } from './driver.ts';

type Turn = Parameters<NonNullable<Behaviour['onTurn']>>;

const chat = async (
  texts: readonly string[],
  {
    args = [],
    isTerminal = false,
    behaviour = {},
  }: {
    readonly args?: readonly string[];
    readonly isTerminal?: boolean;
    readonly behaviour?: Behaviour;
  } = {},
) => {
  const turns: Turn[] = [];
  const told = await cli(['chat', 'lead', ...args], scene(), {
    behaviour: {
      lines: { isTerminal, texts },
      ...behaviour,
      onTurn: (...given) => {
        turns.push(given);
        behaviour.onTurn?.(...given);
      },
    },
    terminal: { tty: isTerminal },
  });
  return { ...told, turns };
};

test('without an agent argument chat uses the default agent of the config; without one, the error says how to name it', async () => {
  const turns: Turn[] = [];
  const asked = (args: readonly string[], behaviour: Behaviour) =>
    cli(args, scene(), {
      behaviour: { lines: { isTerminal: false, texts: ['Hi'] }, onTurn: (...given) => turns.push(given), ...behaviour },
    });
  expect(await asked(['chat'], { defaultAgent: 'lead' })).toMatchObject({ code: 0, stdout: answer });
  expect(turns.map(([agent, input]) => [agent, input])).toEqual([['lead', 'Hi']]);
  for (const command of ['chat', 'run'])
    expect(await asked([command], {})).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringMatching(/missing required argument 'agent'\ntry: cloister \w+ <agent>.*`defaultAgent` in/u),
    });
});

const answer = 'SQLite for rows,\nDuckDB for columns.\n';

// invariant: chat-commands-stay-here
test('on a terminal, no line with a slash and a word is sent, and each says what to do instead', async () => {
  const typed = [
    '/help',
    '/attach red.png',
    '/atach red.png',
    '/Compact',
    ' /atach',
    '/etc/hosts is what?',
    '/quit',
    'no',
  ];
  const { code, turns, stderr } = await chat(typed, { isTerminal: true, args: ['--conversation', 'trip'] });
  expect(code).toBe(0);
  expect(turns.map(([, input]) => input)).toEqual([' /atach', '/etc/hosts is what?']);
  expect(stderr).toContain('/quit    exit; so does Ctrl-D');
  expect(stderr).toContain('cloister run lead --conversation lead/trip --attach <file> "<message>"');
  expect(stderr).toContain('unknown command /atach; the commands are /help, /attach and /quit.');
  expect(stderr).toContain('unknown command /Compact');
});

test('each line of a pipe is one message; empty lines are skipped; stdout gets only the answers', async () => {
  const { code, stdout, turns, prompts } = await chat(['Hello', '', '   ', '/quit', 'And then?']);
  expect(code).toBe(0);
  expect(turns.map(([agent, input]) => [agent, input])).toEqual([
    ['lead', 'Hello'],
    ['lead', '/quit'],
    ['lead', 'And then?'],
  ]);
  expect(stdout).toBe(answer.repeat(3));
  expect(prompts[0]).toBe('main> ');
});

// invariant: chat-end-finishes-agents
test('one session takes all messages, and is asked to finish when there are no more', async () => {
  const finished: string[] = [];
  const { turns } = await chat(['a', 'b', 'c'], { behaviour: { onFinish: (how) => finished.push(how) } });
  expect(turns.map(([, , options]) => options !== undefined && 'conversation' in options)).toEqual([
    true,
    false,
    false,
  ]);
  expect(finished).toEqual(['finish']);
});

test('without a message no session is started', async () => {
  const finished: string[] = [];
  const { code, turns } = await chat(['', ' '], { behaviour: { onFinish: (how) => finished.push(how) } });
  expect({ code, turns, finished }).toEqual({ code: 0, turns: [], finished: [] });
});

test('at a terminal the end of a chat says how many agents are being shut down', async () => {
  const { stderr } = await chat(['a'], { isTerminal: true, behaviour: { others: 3 } });
  expect(stderr).toContain('shutting down 3 agents started in this chat…');
  expect((await chat(['a'], { isTerminal: true })).stderr).not.toContain('finish…');
  expect((await chat(['a'], { behaviour: { others: 3 } })).stderr).not.toContain('finish…');
});

test('the conversation is the named one, another agent’s, or main', async () => {
  const conversationOf = async (...args: readonly string[]) => (await chat(['x'], { args })).turns[0]?.[2];
  expect(await conversationOf()).toEqual({ budget: {}, conversation: { agent: 'lead', name: 'main' } });
  expect(await conversationOf('--conversation', 'trip')).toEqual({
    budget: {},
    conversation: { agent: 'lead', name: 'trip' },
  });
  expect(await conversationOf('--conversation', 'scout/trip', '--budget-tokens', '9')).toEqual({
    budget: { tokens: 9 },
    conversation: { agent: 'scout', name: 'trip' },
  });
});

test('an agent can be given as a file', async () => {
  const { opened } = await cli(['chat', 'team/lead.ai', '--agents', 'b.ts'], scene(), {
    behaviour: { lines: { isTerminal: false, texts: [] } },
  });
  expect(opened).toEqual([{ workspace: './.cloister', agents: ['team/lead.ai', 'b.ts'], agent: 'lead' }]);
});

test('at a terminal the prompt names the conversation, the totals follow the answer, and /quit or Ctrl-D exits', async () => {
  const quit = await chat(['Hello', ' /quit ', 'never'], { isTerminal: true, args: ['--conversation', 'trip'] });
  expect(quit).toMatchObject({ code: 0, prompts: ['trip> ', 'trip> '] });
  expect(quit.turns).toHaveLength(1);
  const { lines, cursorVisible, wrapped } = emulate(quit.screen, 80);
  expect(lines[0]).toBe('lead in lead/trip · Ctrl-C cancels the turn, Ctrl-D exits, /help says more');
  expect(lines.slice(1)).toEqual([
    'SQLite for rows,',
    'DuckDB for columns.',
    expect.stringMatching(/^ {2}2 cells · 3\.6k in, 900 out · \$0\.0369/u),
  ]);
  expect(lines.join('\n')).not.toMatch(/Summary|Next steps/u);
  expect({ cursorVisible, wrapped }).toEqual({ cursorVisible: true, wrapped: false });
  expect(await chat(['Hello'], { isTerminal: true })).toMatchObject({ code: 0, prompts: ['main> ', 'main> '] });
});

test('--json prints one value per message, also for refused ones', async () => {
  let no = 0;
  const { code, stdout } = await chat(['a', 'b', 'c'], {
    args: ['--json'],
    behaviour: {
      onTurn: () => {
        if (no++ === 1) throw new CloisterError('conversation_busy', 'Run 4f2a.');
      },
    },
  });
  expect(code).toBe(1);
  const values = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  const conversation = { agent: 'lead', name: 'main' };
  expect(values).toMatchObject([
    { conversation, run: runId, status: 'completed', error: null },
    { conversation, error: { code: 'conversation_busy', message: expect.stringContaining('Run 4f2a.') } },
    { conversation, run: runId, status: 'completed' },
  ]);
});

// invariant: chat-goes-on
test('a refused message says why, the chat continues, and the exit code is that of the last failed message', async () => {
  const failures = [
    new CloisterError('model_auth'),
    undefined,
    new CloisterError('mail_invalid', 'It is too long.'),
    undefined,
  ];
  let no = 0;
  const { code, stdout, stderr } = await chat(['a', 'b', 'c', 'd'], {
    behaviour: {
      onTurn: () => {
        const failure = failures[no++];
        if (failure !== undefined) throw failure;
      },
    },
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: answer.repeat(2) });
  expect(stderr).toContain("error: The model provider rejected the credentials.\ntry: Check that provider's API key");
  expect(stderr).toContain('error: The message cannot be sent. It is too long.\n');
});

test('the end of a session is reported, and the next message starts a new session', async () => {
  const turns: unknown[] = [];
  const lines = { isTerminal: false, texts: ['a', 'b'] };
  const ended = scene({ status: 'limit', failure: { code: 'mail_loop', detail: 'Too often.' }, answer: '' });
  const told = await cli(['chat', 'lead'], ended, {
    behaviour: { lines, onTurn: (_agent, input, options = {}) => turns.push([input, 'conversation' in options]) },
  });
  expect(told).toMatchObject({ code: 5, stdout: '' });
  expect(told.stderr.match(/Too often\./gu)).toHaveLength(2);
  expect(turns).toEqual([
    ['a', true],
    ['b', true],
  ]);
  const json = await cli(['chat', 'lead', '--json'], ended, { behaviour: { lines } });
  expect(
    json.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).status),
  ).toEqual(['limit', 'limit']);
});

test('if a session ended between messages, the next message silently starts a new session', async () => {
  const turns: unknown[] = [];
  const { code, stdout, stderr } = await chat(['a', 'b'], {
    behaviour: {
      onTurn: (_agent, input, options = {}) => {
        turns.push([input, 'conversation' in options]);
        if (turns.length === 2) throw new CloisterError('cell_ended', 'Run 4f2a has ended.');
      },
    },
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: answer.repeat(2) });
  expect(stderr).not.toContain('has ended');
  expect(turns).toEqual([
    ['a', true],
    ['b', false],
    ['b', true],
  ]);
});

test('a message whose work fails, or cannot be recorded, is reported with its failure', async () => {
  const lines = { isTerminal: false, texts: ['a', 'b'] };
  const failed = scene({ status: 'failed', failure: { code: 'model_rate' }, answer: '' });
  const told = await cli(['chat', 'lead'], failed, { behaviour: { lines } });
  expect(told).toMatchObject({ code: 2, stdout: '' });
  expect(told.stderr.match(/error: The model provider's rate limit was reached/gu)).toHaveLength(2);
  const lost = await cli(['chat', 'lead'], scene(), {
    behaviour: { lines, outcomeRejects: new CloisterError('store_failed') },
  });
  expect(lost.code).toBe(1);
  expect(lost.stderr.match(/error: The workspace cannot be written to/gu)).toHaveLength(2);
});

test('an unknown agent is reported before the first message', async () => {
  const { code, stderr, prompts } = await cli(['chat', 'nobody'], scene(), {
    behaviour: { lines: { isTerminal: true, texts: ['x'] } },
  });
  expect({ code, prompts }).toEqual({ code: 1, prompts: [] });
  expect(stderr).toMatch(/^error: No agent has that name\. "nobody" is not one of: lead, scout\.\n/u);
});

test.each([
  [['chat'], /missing required argument 'agent'/u, /try: cloister chat <agent>, or set `defaultAgent`/u],
  [['chat', 'lead', '--conversation', 'a/'], /It must be a name, or <agent>\/<name>/u, /try: cloister chat --help/u],
  [['cht', 'lead'], /unknown command 'cht'/u, /try: cloister chat\n/u],
])('a usage error is reported with a suggestion, exit 4: %j', async (args, error, advice) => {
  const { code, stderr, opened } = await cli(args);
  expect({ code, opened }).toEqual({ code: 4, opened: [] });
  expect(stderr).toMatch(error);
  expect(stderr).toMatch(advice);
});

test('with --json a usage error is one line of JSON', async () => {
  const { code, stdout } = await cli(['chat', '--json']);
  expect(code).toBe(4);
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'usage' } });
});

const held = (isTerminal: boolean, texts: NonNullable<Behaviour['lines']>['texts'], more: Behaviour = {}) =>
  startCli(['chat', 'lead'], scene(), {
    terminal: { tty: isTerminal },
    behaviour: { lines: { isTerminal, texts }, ...more },
  });

// invariant: chat-cancel-one-turn
test('at a terminal Ctrl-C cancels the current turn, any number of times, and the chat continues', async () => {
  const run = held(true, ['a', 'b', '/quit'], { holdAfter: 6 });
  for (const turn of [1, 2]) {
    await settle();
    await run.pass(500);
    run.interrupt();
    await settle();
    expect(run.prompts).toHaveLength(turn + 1);
  }
  expect(await run.code).toBe(130);
  expect(run.screen().match(/stopping… \(Ctrl-C again to stop immediately\)/gu)?.length).toBeGreaterThanOrEqual(2);
});

test('a second Ctrl-C exits immediately, with the terminal restored and nothing written later', async () => {
  const released = Promise.withResolvers<void>();
  const run = held(true, ['a', 'b'], { holdAfter: 6, deaf: true, released: released.promise });
  await settle();
  run.interrupt();
  await run.pass(500);
  run.interrupt();
  expect(await run.code).toBe(130);
  const left = run.screen();
  expect(emulate(left, 80).cursorVisible).toBe(true);
  released.resolve();
  await run.pass(1000);
  expect(run.screen()).toBe(left);
  expect(run.prompts).toHaveLength(1);
});

test('one key press that arrives as two signals cancels the turn and does not end the chat', async () => {
  const run = held(true, ['a', '/quit'], { holdAfter: 6 });
  await settle();
  run.interrupt();
  await settle();
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(run.prompts).toHaveLength(2);
});

test('Ctrl-C at the prompt ends the chat and its session', async () => {
  const run = held(true, [() => new Promise(() => undefined)]);
  await settle();
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(run.stdout()).toBe('');
  const finished: string[] = [];
  const later = held(true, ['a', () => new Promise(() => undefined)], { onFinish: (how) => finished.push(how) });
  while (later.prompts.length < 2) await settle();
  later.interrupt();
  expect(await later.code).toBe(130);
  expect(finished).toEqual(['cancel']);
});

// invariant: chat-cancel-one-turn
test('without a terminal Ctrl-C cancels the current turn and ends the chat', async () => {
  const run = held(false, ['a', 'b'], { holdAfter: 6 });
  await settle();
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(run.prompts).toHaveLength(1);
});
