// Questions of runs to people on the command line, with a real runtime and a fake terminal.
// invariants: answer-names-what-was-shown, question-left-resumable, question-text-framed
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, AgentShortForms, Cloister, QuestionReport, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { visibleJson } from '../../../src/headends/cli/shared/sanitize-text.ts';
import { findOption, questionLines, questionListLines } from '../../../src/headends/cli/shared/question-lines.ts';
import { scratchFolder } from '../../scratch-folder.ts';
import { settle, startCli } from './driver.ts';
import type { Behaviour, Cli } from './driver.ts';

type Typed = NonNullable<Behaviour['lines']>['texts'];

type Desk = {
  readonly sent: unknown[];
  /** Opens the same workspace again. */
  readonly opens: () => Promise<Cloister>;
};

const folderNumber = { next: 0 };

/** A lead whose child sends `mails` one after the other, each of which a person must allow. */
const openDesk = (mails: readonly object[] = [{ to: 'anna' }], more: Partial<AgentShortForms> = {}): Desk => {
  const sent: unknown[] = [];
  const send: ToolDefinition = {
    name: 'send',
    description: 'Sends.',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    approve: true,
    execute: (args) => {
      sent.push(args);
      return 'sent';
    },
  };
  const mailer = defineAgent({ name: 'mailer', description: 'Mails.', prompt: 'Mail.', tools: [send], ...more });
  const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', agents: [mailer] });
  const model = rehearse([
    { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'mailer', args: { prompt: 'Go.' } }] } },
    { when: { agent: 'lead' }, reply: 'All done.' },
    ...mails.map((args, index) => ({
      when: { agent: 'mailer', turn: index + 1 },
      reply: { calls: [{ tool: 'send', args: args as never }] },
    })),
    { when: { agent: 'mailer' }, reply: '{{results}}' },
  ]);
  return { sent, opens: opener([lead], model) };
};

const opener = (agents: readonly Agent[], model: ReturnType<typeof rehearse>): Desk['opens'] => {
  const workspace = `${scratchFolder()}/questions-${process.pid}-${folderNumber.next++}`;
  return () => openCloister({ workspace, agents, models: [model] });
};

/** Lets time pass on the fake clock until the command has ended. */
const toEnd = async (started: Cli): Promise<number> => {
  const ended: number[] = [];
  void started.code.then((code) => ended.push(code));
  for (let round = 0; ended.length === 0; round++) {
    if (round > 5000) throw new Error(`It does not end:\n${started.screen()}`);
    await started.pass(60);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return ended[0]!;
};

const start = (
  args: readonly string[],
  { opens }: Pick<Desk, 'opens'>,
  typed: Typed | null,
  more: Behaviour = {},
): Cli =>
  startCli(args, undefined, {
    terminal: { tty: typed !== null },
    behaviour: { opens, lines: { isTerminal: typed !== null, texts: typed ?? [] }, ...more },
  });

const follow = async (...given: Parameters<typeof start>) => {
  const started = start(...given);
  const code = await toEnd(started);
  return { code, stdout: started.stdout(), stderr: started.stderr(), prompts: started.prompts };
};

const run = ['run', 'lead', 'Go.'];

const readOpen = async ({ opens }: Desk): Promise<readonly QuestionReport[]> => {
  await using cloister = await opens();
  return await cloister.questions();
};

describe('at a terminal, the person is asked, and', () => {
  test('allows the call: it is made once, and the run completes', async () => {
    const desk = openDesk();
    const { code, stdout, stderr } = await follow(run, desk, ['', 'what?', 'a']);
    expect({ code, sent: desk.sent }).toEqual({ code: 0, sent: [{ to: 'anna' }] });
    expect(stdout).toContain('All done.');
    expect(stderr).toContain('lead > mailer wants to call send:\n  │ {\n  │   "to": "anna"\n  │ }\n');
    const [hint = ''] = /^Type one letter.*$/mu.exec(stderr) ?? [];
    expect(hint.length).toBeLessThanOrEqual(80);
    for (const key of ['a', 'r', 'd', 'e', 'l']) expect(hint).toMatch(new RegExp(String.raw`[:,] ${key} \w`, 'u'));
  });

  test('denies it: nothing is sent, and the words reach the agent', async () => {
    const desk = openDesk();
    const { code } = await follow(run, desk, ['d not before Monday']);
    expect({ code, sent: desk.sent }).toEqual({ code: 0, sent: [] });
    await using cloister = await desk.opens();
    const [found] = await cloister.runs();
    expect(JSON.stringify(await cloister.transcript(found!.run))).toContain('not before Monday');
  });

  test('edits the arguments: those that do not fit are asked for again', async () => {
    const desk = openDesk();
    const { stderr } = await follow(run, desk, ['e', '{"to":1}', 'e', 'no JSON', 'e', '', 'e', '{"to":"ben"}']);
    expect(desk.sent).toEqual([{ to: 'ben' }]);
    expect(stderr).toMatch(/error: The answer does not fit the question\. args: .*expected string, got number/u);
    expect(stderr).toContain('That is not a JSON object. Nothing is allowed yet.');
    expect(stderr).toContain('The arguments are unchanged, and nothing is allowed yet.');
    expect(stderr.split('These arguments are used:')).toHaveLength(2);
    expect(stderr).toContain('These arguments are used:\n  │ {\n  │   "to": "ben"\n  │ }\n');
  });

  test('edits the line that holds the present arguments: as it stands, it changes nothing', async () => {
    const desk = openDesk([{ to: 'anna\u202E' }]);
    const shown: string[] = [];
    const keep = async (initial: string): Promise<string> => {
      shown.push(initial);
      return ` ${initial}`;
    };
    const change = async (initial: string): Promise<string> => initial.replace('anna', 'ben');
    const { stderr } = await follow(run, desk, ['e', keep, 'e', change]);
    expect(shown).toEqual([String.raw`{"to":"anna\u202e"}`]);
    expect(stderr).toContain('The arguments are unchanged, and nothing is allowed yet.');
    expect(desk.sent).toEqual([{ to: 'ben\u202E' }]);
  });

  test('edits them in an editor', async () => {
    const desk = openDesk();
    const edit = (text: string) => ({ text: text.replace('anna', 'carl') });
    await follow(run, desk, ['e'], { edit });
    expect(desk.sent).toEqual([{ to: 'carl' }]);
  });

  test('is told that the editor failed, and edits the line instead', async () => {
    const desk = openDesk();
    const edit = () => ({ problem: 'The editor `vi` ended with exit code 1.' });
    const change = async (initial: string): Promise<string> => initial.replace('anna', 'carl');
    const { stderr } = await follow(run, desk, ['e', change], { edit });
    expect(stderr).toContain('The editor `vi` ended with exit code 1. Edit the arguments here instead.');
    expect(desk.sent).toEqual([{ to: 'carl' }]);
  });

  test('edits long arguments: those that are used stand behind bars and fit the screen', async () => {
    const desk = openDesk();
    const to = `ben ${'x'.repeat(200)}\nuntil    never`;
    const { stderr } = await follow(run, desk, ['e', JSON.stringify({ to })]);
    const rows = /These arguments are used:\n((?: {2}│ .*\n)+)/u.exec(stderr)![1]!.trimEnd().split('\n');
    for (const row of rows) expect(row.length).toBeLessThanOrEqual(80);
    expect(JSON.parse(rows.map((row) => row.slice(4)).join(''))).toEqual({ to });
  });

  test('allows it for this run: the same call is not asked again, another one is', async () => {
    const desk = openDesk([{ to: 'anna' }, { to: 'anna' }, { to: 'ben' }]);
    const { stderr, prompts } = await follow(run, desk, ['r', 'd']);
    expect(desk.sent).toEqual([{ to: 'anna' }, { to: 'anna' }]);
    expect(prompts).toHaveLength(2);
    expect(stderr).toMatch(/r {2}allow it, and later calls of send with the same arguments by mailer,/u);
  });

  test.each([['l'], [() => Promise.resolve(null)]])('leaves it: the run waits, and exits with 6', async (typed) => {
    const desk = openDesk();
    const { code, stderr } = await follow(run, desk, [typed]);
    expect({ code, sent: desk.sent }).toEqual({ code: 6, sent: [] });
    const [question] = await readOpen(desk);
    expect(stderr).toContain(`waits for people: 1 open question.\n${question!.id}  lead > mailer: send\n`);
    expect(stderr).toContain(`npx cloister answer ${question!.id} allow`);
  });

  test('Ctrl-C cancels the run', async () => {
    const desk = openDesk();
    const started: Cli = start(run, desk, [
      async () => {
        started.interrupt();
        return new Promise<never>(() => undefined);
      },
    ]);
    expect(await toEnd(started)).toBe(130);
    expect(started.stderr()).toContain('stopping…');
    expect(await readOpen(desk)).toEqual([]);
    expect(desk.sent).toEqual([]);
  });

  test('is told that somebody else has answered: the prompt disappears', async () => {
    const desk = openDesk();
    const opened: Cloister[] = [];
    const opens = async (): Promise<Cloister> => {
      const one = await desk.opens();
      opened.push(one);
      return one;
    };
    const elsewhere = async (): Promise<string> => {
      const [question] = await opened[0]!.questions();
      await opened[0]!.answer(question!.id, { allow: true, sha256: question!.sha256 }, { by: 'anna' });
      return new Promise<never>(() => undefined);
    };
    const { code, stderr } = await follow(run, { opens }, [elsewhere]);
    expect({ code, sent: desk.sent }).toEqual({ code: 0, sent: [{ to: 'anna' }] });
    expect(stderr).toMatch(/Question q-\S+ no longer waits: allowed by anna\./u);
  });

  test('gives a name if only some may answer, and the run waits for the others', async () => {
    const desk = openDesk(undefined, { approve: { send: { by: ['ops', 'legal'], need: 2 } } });
    const opened: Cloister[] = [];
    const opens = async (): Promise<Cloister> => {
      const one = await desk.opens();
      opened.push(one);
      return one;
    };
    const started = start(run, { opens }, ['a', 'operator', 'ops']);
    const ended = toEnd(started);
    while (!started.stderr().includes('1 more person must allow it')) await settle();
    const [question] = await opened[0]!.questions();
    expect(question!.answers.map(({ by }) => by)).toEqual(['ops']);
    expect(desk.sent).toEqual([]);
    await opened[0]!.answer(question!.id, { allow: true, sha256: question!.sha256 }, { by: 'legal' });
    expect(await ended).toBe(0);
    expect(desk.sent).toEqual([{ to: 'anna' }]);
    expect(started.stderr()).toMatch(/operator may not answer q-\S+; who may: legal, ops; 2 people must\s+allow it\./u);
    expect(started.stderr()).toMatch(/the run waits:\n {2}npx cloister answer q-\S+ --by legal\n/u);
  });
});

describe('an agent that asks', () => {
  const asker = (options?: readonly string[]) => {
    const args = { question: 'Which one?', ...(options === undefined ? {} : { options: [...options] }) };
    const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', asks: true });
    const model = rehearse([
      { when: { turn: 1 }, reply: { calls: [{ tool: 'ask_person', args }] } },
      { reply: 'I heard: {{results}}' },
    ]);
    return { opens: opener([lead], model) };
  };

  test('gets the text that the person types', async () => {
    const { code, stdout, stderr } = await follow(run, asker(), ['', 'The red one']);
    expect(code).toBe(0);
    expect(stderr).toContain('lead asks:\n  │ Which one?\n');
    expect(stdout).toContain('The red one');
  });

  test('gets one of its options, by number', async () => {
    const { stdout, stderr, prompts } = await follow(run, asker(['red', 'blue']), ['3', '2']);
    expect(stderr).toContain('  │ 1. red\n  │ 2. blue\n');
    expect(prompts).toEqual(['1 to 2> ', '1 to 2> ']);
    expect(stdout).toContain('blue');
  });

  test('is told that nobody wanted to answer', async () => {
    const { code, stdout } = await follow(run, asker(), ['/decline']);
    expect(code).toBe(0);
    expect(stdout).toContain('did not want to answer');
  });

  test('is answered by the argument of `answer`', async () => {
    const desk = { ...asker(['deny', 'blue']), sent: [] };
    await follow(run, desk, null);
    const [question] = await readOpen(desk);
    expect((await follow(['answer', question!.id, 'green'], desk, null)).code).toBe(1);
    expect((await follow(['answer', question!.id, 'deny'], desk, null)).stdout).toMatch(/I heard: .*deny/su);
  });

  test.each([
    ['2', 'blue'],
    ['blue', 'blue'],
    ['1', '1'],
    ['3', '1'],
  ])('`answer <id> %s` is the option %s', async (given, meant) => {
    const desk = { ...asker(['red', 'blue', '1']), sent: [] };
    await follow(run, desk, null);
    const [question] = await readOpen(desk);
    expect((await follow(['answer', question!.id, given], desk, null)).code).toBe(0);
    const shown = (await follow(['questions', question!.id], desk, null)).stdout;
    expect(shown).toContain(`  answers  operator: answered\n  state    allowed\n  words of operator:\n  │ ${meant}\n`);
  });

  test('finds an option by its words before it finds one by its number', () => {
    const options = fc.uniqueArray(fc.oneof(fc.nat({ max: 6 }).map(String), fc.string()), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(options, fc.nat({ max: 8 }), (texts, number) => {
        const question = { args: { options: texts } };
        for (const text of texts) expect(findOption(question, text)).toBe(text);
        const meant = texts.includes(String(number)) ? String(number) : texts[number - 1];
        expect(findOption(question, String(number))).toBe(meant);
      }),
    );
  });
});

describe('without a terminal, the run is left when it only waits for people', () => {
  test('the questions and the commands are on stderr; exit code 6', async () => {
    const desk = openDesk();
    const { code, stdout, stderr } = await follow(run, desk, null);
    expect({ code, stdout, sent: desk.sent }).toEqual({ code: 6, stdout: '', sent: [] });
    const [question] = await readOpen(desk);
    expect(stderr).toContain(`npx cloister questions ${question!.id}`);
    // invariant: answer-names-what-was-shown
    expect(stderr).toContain(`npx cloister answer ${question!.id} allow --sha256 ${question!.sha256}\n`);
    await using cloister = await desk.opens();
    expect(await cloister.runs()).toMatchObject([{ state: 'interrupted' }]);
  });

  test('with --json there is one object; with --jsonl it is the last line', async () => {
    const one = await follow([...run, '--json'], openDesk(), null);
    const value: unknown = JSON.parse(one.stdout);
    const lines = (await follow([...run, '--jsonl'], openDesk(), null)).stdout.trimEnd().split('\n');
    const last: unknown = JSON.parse(lines.at(-1)!);
    for (const found of [value, last])
      expect(found).toMatchObject({
        status: 'waiting',
        questions: [{ tool: 'send', args: { to: 'anna' }, path: ['lead', 'mailer'], state: 'open' }],
      });
    expect(last).toMatchObject({ type: 'outcome' });
    const [{ sha256, commands }] = (value as { questions: [{ sha256: string; commands: string[] }] }).questions;
    expect(commands[0]).toContain(`allow --sha256 ${sha256}`);
  });

  test('also on a terminal whose output is read by a program', async () => {
    expect((await follow([...run, '--json'], openDesk(), ['a'])).code).toBe(6);
  });
});

describe('in a chat', () => {
  const chat = ['chat', 'lead'];

  test('the questions of the session are asked between the messages', async () => {
    const desk = openDesk();
    const { code, stdout, prompts } = await follow(chat, desk, ['Go.', 'a', '/quit']);
    expect({ code, sent: desk.sent }).toEqual({ code: 0, sent: [{ to: 'anna' }] });
    expect(prompts).toEqual(['main> ', 'a, r, d, e or l> ', 'main> ']);
    expect(stdout).toContain('All done.');
  });

  // invariant: chat-survives-later
  test.each<readonly [string, Typed, readonly string[]]>([
    ['Enter', [''], ['main> ']],
    ['Ctrl-D and Enter', ['', () => Promise.resolve(null), ''], ['main> ', 'a, r, d, e or l> ', 'main> ']],
    ['a message', ['Hurry.'], ['main> ']],
    ['two messages', ['Hurry.', 'l', 'Now.'], ['main> ', 'a, r, d, e or l> ', 'main> ']],
  ])('one that is left open keeps the chat, and is asked again after %s', async (_how, typed, between) => {
    const desk = openDesk();
    const answered = async (): Promise<null> => {
      while (!started.stdout().includes('All done.')) await settle();
      return null;
    };
    const started: Cli = start(chat, desk, ['Go.', 'l', ...typed, 'a', answered]);
    expect(await toEnd(started)).toBe(0);
    expect(desk.sent).toEqual([{ to: 'anna' }]);
    expect(started.stderr()).toContain('Press Enter on an empty line to be asked again;');
    expect(started.screen()).not.toContain('taken back');
    const asked = 'a, r, d, e or l> ';
    expect(started.prompts).toEqual(['main> ', asked, ...between, asked, 'main> ']);
    expect(await readOpen(desk)).toEqual([]);
  });

  test('one that is left open is kept when the chat ends, which says how to continue', async () => {
    const desk = openDesk();
    const { code, stderr } = await follow(chat, desk, ['Go.', 'l', '/quit']);
    expect({ code, sent: desk.sent }).toEqual({ code: 6, sent: [] });
    expect(await readOpen(desk)).toHaveLength(1);
    expect(stderr).toMatch(
      /The chat has ended, and its session is kept\. .*\n {2}npx cloister chat lead --conversation lead\/main\n$/u,
    );
    const answered = async (): Promise<null> => {
      while (!started.stdout().includes('All done.')) await settle();
      return null;
    };
    const started: Cli = start(chat, desk, ['', 'a', answered]);
    expect(await toEnd(started)).toBe(0);
    expect(desk.sent).toEqual([{ to: 'anna' }]);
  });

  test.each([[['Go.', 'l']], [null]])(
    'one that is open when the chat ends can be answered, and the chat continued: %j',
    async (typed) => {
      const desk = openDesk();
      const piped = { lines: { isTerminal: false, texts: ['Go.', 'More.'] } };
      const { code, stderr } = await follow(chat, desk, typed, typed === null ? piped : {});
      expect({ code, sent: desk.sent }).toEqual({ code: 6, sent: [] });
      const [question] = await readOpen(desk);
      expect(stderr).toContain(question!.id);
      const answered = await follow(['answer', question!.id, 'allow', '--sha256', question!.sha256], desk, null);
      expect(answered.stdout).toContain('npx cloister chat lead --conversation lead/main');
      expect(desk.sent).toEqual([]);
      expect((await follow(chat, desk, [() => Promise.resolve(null)])).code).toBe(0);
      expect(desk.sent).toEqual([{ to: 'anna' }]);
    },
  );
});

describe('`answer`', () => {
  const waiting = async (more: Partial<AgentShortForms> = {}) => {
    const desk = openDesk(undefined, more);
    await follow(run, desk, null);
    const [question] = await readOpen(desk);
    const answer = (args: readonly string[], typed: Typed | null = null) =>
      follow(['answer', question!.id, ...args], desk, typed);
    return { desk, question: question!, answer };
  };

  test('continues the run if nobody owns it', async () => {
    const { desk, question, answer } = await waiting();
    const { code, stdout, stderr } = await answer(['allow', '--sha256', question.sha256, '--by', 'anna']);
    expect({ code, sent: desk.sent }).toEqual({ code: 0, sent: [{ to: 'anna' }] });
    expect(stderr).toContain(`${question.id}: allowed.`);
    expect(stdout).toContain('All done.');
    const again = await answer(['allow', '--sha256', question.sha256]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('allowed by anna.') });
    expect(desk.sent).toHaveLength(1);
  });

  test('needs the hash of what was seen, unless it can be shown here', async () => {
    const { desk, question, answer } = await waiting();
    const { code, stderr } = await answer(['allow']);
    expect(code).toBe(4);
    expect(stderr).toContain(`answer ${question.id} allow --sha256 ${question.sha256}`);
    expect((await answer(['allow', '--sha256', 'f'.repeat(64)])).stderr).toContain('names other arguments');
    expect(desk.sent).toEqual([]);
    const shown = await answer(['allow'], ['y']);
    expect(shown.stderr).toContain('│   "to": "anna"');
    expect({ code: shown.code, sent: desk.sent }).toEqual({ code: 0, sent: [{ to: 'anna' }] });
  });

  test.each<readonly [readonly string[], Typed]>([
    [['allow'], ['n']],
    [['allow'], ['']],
    [['allow'], [() => Promise.resolve(null)]],
    [[], ['l']],
    [[], [() => Promise.resolve(null)]],
  ])('exits with 130 if nothing is answered, and the question stays open: %j %j', async (args, typed) => {
    const { desk, question, answer } = await waiting();
    const { code, stderr } = await answer(args, typed);
    expect({ code, sent: desk.sent }).toEqual({ code: 130, sent: [] });
    expect(stderr).toContain('Nothing was answered. The question stays open.');
    expect(await readOpen(desk)).toEqual([question]);
  });

  test.each([[['allow']], [[]]])('exits with 130 on Ctrl-C, and the question stays open: %j', async (args) => {
    const { desk, question } = await waiting();
    const started: Cli = start(['answer', question.id, ...args], desk, [
      async () => {
        started.interrupt();
        return new Promise<never>(() => undefined);
      },
    ]);
    expect(await toEnd(started)).toBe(130);
    expect(await readOpen(desk)).toEqual([question]);
    const { stdout } = await follow(['answer', '--help'], desk, null);
    expect(stdout).toMatch(/Exit codes: 130 if you answer nothing/u);
  });

  test('asks what to do if nothing is said', async () => {
    const { desk, answer } = await waiting();
    expect((await answer([])).code).toBe(4);
    expect((await answer([], ['a'])).code).toBe(0);
    expect(desk.sent).toEqual([{ to: 'anna' }]);
  });

  const wrongThenRight = ['e', '{"to":1}', 'e', '{"to":"ben"}'];

  test('asks again for arguments that do not fit, under the same name, and continues the run', async () => {
    const { desk, question, answer } = await waiting();
    const { code, stderr, stdout } = await answer(['--by', 'anna'], wrongThenRight);
    expect({ code, sent: desk.sent }).toEqual({ code: 0, sent: [{ to: 'ben' }] });
    expect(stderr).toMatch(/must fit the schema of the tool[^]*"to": "ben"/u);
    expect(stdout).toContain('All done.');
    await using cloister = await desk.opens();
    expect(await cloister.questions({ run: question.run, all: true })).toMatchObject([
      { state: 'allowed', answers: [{ by: 'anna', args: { to: 'ben' } }] },
    ]);
  });

  test('leaves the question open with exit code 6 if nobody corrects arguments that do not fit', async () => {
    const { desk, question, answer } = await waiting();
    const { code, stderr } = await answer([], ['e', '{"to":1}', 'l']);
    expect({ code, sent: desk.sent }).toEqual({ code: 6, sent: [] });
    expect(stderr).toContain(`Question ${question.id} stays open.`);
    expect(await readOpen(desk)).toMatchObject([{ id: question.id, answers: [] }]);
  });

  test.each([
    [wrongThenRight, 0, [{ to: 'ben' }], []],
    [['e', '{"to":1}', 'l'], 130, [], ['open']],
  ])('asks again if the process that owns the run refuses the arguments: %j', async (typed, code, sent, open) => {
    const { desk, question, answer } = await waiting();
    await using owner = await desk.opens();
    const session = await owner.resume(question.run);
    const answered = await answer([], typed);
    expect(answered.stderr).toContain('must fit the schema of the tool');
    expect(answered.code).toBe(code);
    if (code === 0) await session.outcome;
    expect({ sent: desk.sent, open: (await readOpen(desk)).map(({ state }) => state) }).toEqual({ sent, open });
    session.cancel();
    await session.outcome.catch(() => undefined);
  });

  test('asks nobody again who has said everything on the command line', async () => {
    const { desk, question, answer } = await waiting();
    const args = ['allow', '--args', '{"to":1}', '--sha256', question.sha256];
    const refused = await answer(args, ['e', '{"to":"ben"}']);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('must fit the schema of the tool') });
    expect(desk.sent).toEqual([]);
  });

  test.each([
    [['alow'], 'answer allow or deny'],
    [['deny', '--args', '{}'], '--args goes with allow'],
    [['allow', '--args', '[1]', '--sha256', 'x'], '--args is not a JSON object'],
    [['allow', '--args', '@missing', '--sha256', 'x'], 'check the path after @'],
    [['allow', '--remember', 'ever'], 'It must be `run`'],
  ])('refuses %j', async (args, words) => {
    const { desk, answer } = await waiting();
    expect(await answer(args)).toMatchObject({ code: 4, stderr: expect.stringContaining(words) });
    expect(desk.sent).toEqual([]);
  });

  test('says that others must answer too, and leaves the run waiting', async () => {
    const { desk, question, answer } = await waiting({ approve: { send: { need: 2 } } });
    const first = await answer(['allow', '--sha256', question.sha256]);
    expect(first).toMatchObject({
      code: 6,
      stderr: expect.stringMatching(/1 of 2 answers\s+\(operator: allowed\)[^]*allow --sha256 \w{64} --by <name>\n/u),
    });
    expect(desk.sent).toEqual([]);
    const again = await answer(['allow', '--sha256', question.sha256]);
    expect(again).toMatchObject({ code: 4, stderr: expect.stringContaining('operator has answered') });
    expect((await answer(['allow', '--sha256', question.sha256, '--by', 'ben'])).code).toBe(0);
    expect(desk.sent).toEqual([{ to: 'anna' }]);
  });

  test('shows to whoever answers next what others wrote and changed, escaped', async () => {
    const { desk, question, answer } = await waiting({ approve: { send: { by: ['legal', 'ops'], need: 2 } } });
    const args = JSON.stringify({ to: 'ben\u202E' });
    const reason = 'as agreed\n  until    never';
    const first = await answer([
      'allow',
      '--args',
      args,
      '--reason',
      reason,
      '--by',
      'ops',
      '--sha256',
      question.sha256,
    ]);
    expect(first.code).toBe(6);
    expect(first.stderr).toContain(String.raw`  │   "to": "ben\u202e"`);
    const lines = [
      '  so far   ops: allowed, with other arguments',
      '  arguments by ops:',
      '  │ {',
      String.raw`  │   "to": "ben\u202e"`,
      '  │ }',
      '  words of ops:',
      '  │ as agreed',
      '  │   until    never',
    ];
    const whole = (await follow(['questions', question.id], desk, null)).stdout.split('\n');
    for (const line of lines) expect(whole).toContain(line);
    const list = (await follow(['questions'], desk, null)).stdout;
    expect(list).toContain(String.raw`  ops: {"to":"ben\u202e"}`);
    expect(list).toContain('  ops: as agreed until never\n');
  });

  test('tells the operator who may answer, and the command', async () => {
    const { question, answer, desk } = await waiting({
      approve: { send: { by: ['ops', 'legal'], need: 2, not: 'asker' } },
    });
    const hash = `--sha256 ${question.sha256}`;
    for (const by of [[], ['--by', 'Ops'], ['--by', 'operator']]) {
      const wrong = await answer(['deny', ...by]);
      const name = by[1] ?? 'operator';
      expect(wrong.code).toBe(4);
      expect(wrong.stderr).toContain(
        `error: ${name} may not answer ${question.id}; who may: legal, ops; not whoever started the run (operator); 2 people must allow it\n`,
      );
      expect(wrong.stderr).toContain(`npx cloister answer ${question.id} allow ${hash} --by legal, or: npx`);
    }
    expect((await answer([], null)).code).toBe(4);
    expect((await answer(['--by', 'Ops'], ['a'])).stderr).toContain('Ops may not answer');
    expect(await readOpen(desk)).toEqual([question]);
  });

  test('denies under a name of the rule', async () => {
    const { question, answer, desk } = await waiting({ approve: { send: { by: ['ops'] } } });
    const { code, stdout } = await answer(['deny', '--by', 'ops', '--json']);
    expect({ code, sent: desk.sent }).toEqual({ code: 0, sent: [] });
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'completed',
      answered: { question: question.id, state: 'denied' },
    });
  });
});

const noneWaits =
  /^No question waits for an answer in the workspace \/.*\.\nName another one with --workspace <dir>\.\n$/u;

test('`questions` lists those that wait, and with --all the others; an id shows one in full', async () => {
  const desk = openDesk();
  expect((await follow(['questions'], desk, null)).stdout).toMatch(noneWaits);
  await follow(run, desk, null);
  const [question] = await readOpen(desk);
  const list = await follow(['questions', '--run', 'last'], desk, null);
  expect(list.stdout).toContain(`${question!.id}  lead > mailer: send\n  {"to":"anna"}\n  asked `);
  const whole = (await follow(['questions', question!.id.slice(0, 6)], desk, null)).stdout;
  expect(whole).toContain(`sha256   ${question!.sha256}`);
  expect(whole).toContain(`npx cloister answer ${question!.id} allow --sha256 ${question!.sha256}`);
  await follow(['answer', question!.id, 'deny'], desk, null);
  expect((await follow(['questions'], desk, null)).stdout).toMatch(noneWaits);
  expect((await follow(['questions', '--all'], desk, null)).stdout).toContain('denied (operator: denied)');
  const unknown = await follow(['questions', 'q-nope'], desk, null);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toMatch(
    /No question waits in the workspace \/\S+\. Name another workspace with --workspace <dir>\./u,
  );
});

test('`questions` says which ones are stale, and offers no answer to them', async () => {
  const desk = openDesk();
  await follow(run, desk, null);
  const [question] = await readOpen(desk);
  const others = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead otherwise.' });
  await using same = await desk.opens();
  const workspace = same.workspace!;
  const opens = () => openCloister({ workspace, agents: [others], models: [rehearse([])] });
  expect(JSON.parse((await follow(['questions', '--json'], { opens }, null)).stdout)).toMatchObject([
    { id: question!.id, state: 'stale' },
  ]);
  const list = (await follow(['questions'], { opens }, null)).stdout;
  expect(list).toContain('stale: the agents have changed');
  expect(list).not.toContain('npx cloister');
});

test('a prefix means a question that waits before those that no longer do', async () => {
  const desk = openDesk([{ to: 'anna' }, { to: 'ben' }, { to: 'carl' }]);
  await follow(run, desk, ['a', 'a', 'l']);
  const [open] = await readOpen(desk);
  expect(open!.args).toEqual({ to: 'carl' });
  const prefix = `q-${open!.run}`;
  expect((await follow(['questions', prefix], desk, null)).stdout).toContain(`question ${open!.id}\n`);
  expect((await follow(['answer', prefix, 'deny'], desk, null)).code).toBe(0);
  const none = await follow(['questions', prefix], desk, null);
  expect(none).toMatchObject({ code: 4, stderr: expect.stringContaining('more than one question starts with') });
});

test('`runs` and `show` say that a run waits for people, and how to answer', async () => {
  const desk = openDesk();
  await follow(run, desk, null);
  const [question] = await readOpen(desk);
  const runs = (await follow(['runs'], desk, null)).stdout;
  expect(runs).toContain('? waiting (1)');
  expect(runs).toContain(`1 run waits for people: 1 open question.`);
  expect(runs).toContain(`npx cloister questions ${question!.id}\n`);
  expect(runs).not.toContain('interrupted');
  expect(JSON.parse((await follow(['runs', '--json'], desk, null)).stdout)).toMatchObject([{ questions: 1 }]);
  const shown = (await follow(['show', 'last'], desk, null)).stdout;
  expect(shown).toContain(`npx cloister answer ${question!.id} allow --sha256 ${question!.sha256}\n`);
  expect(shown).toContain(`Or continue it here; at a terminal, you are asked:\n  npx cloister resume`);
  expect((await follow(['show', 'last', '--transcript'], desk, null)).stdout).toContain(
    `for a person: send (${question!.id})`,
  );
  await follow(['answer', question!.id, 'deny'], desk, null);
  expect((await follow(['runs'], desk, null)).stdout).not.toContain('waiting');
  expect((await follow(['show', 'last'], desk, null)).stdout).not.toContain('waits for people');
});

describe('what an agent wrote', () => {
  const hostile = fc.stringMatching(/^[\s\S]*$/u, { size: 'medium' });
  const pieces = fc.array(
    fc.oneof(
      hostile,
      fc.constantFrom(
        '\u001B[2J',
        '\u202E',
        '\u200B',
        '\n  until    never',
        '\r',
        '\u0085',
        '\u3164',
        ' '.repeat(90),
        'e\u0301\u0301\u0301\u0301',
        '"',
        '\\',
        '界',
      ),
    ),
    { maxLength: 8 },
  );
  const texts = pieces.map((all) => all.join(''));
  const screen = (columns: number) => ({ columns, paint: (_style: unknown, text: string) => text });
  const report = (args: object, why: QuestionReport['why']): QuestionReport =>
    ({
      id: 'q-1-2',
      path: ['lead'],
      agent: 'lead',
      tool: 'send',
      args,
      why,
      until: 0,
      askedAt: 0,
      need: 1,
      by: null,
      not: null,
      answers: [],
      state: 'open',
    }) as unknown as QuestionReport;
  const unseen = /(?! )[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]/u;

  test('stands behind bars, is visible, fits the screen, and is all there', () => {
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 20, max: 120 }), (key, value, columns) => {
        const args = { [`x${key}`]: value };
        const rows = questionLines(report(args, 'tool'), screen(columns)).filter((row) => row.startsWith('  │ '));
        const others = questionLines(report({}, 'tool'), screen(columns));
        const all = questionLines(report(args, 'tool'), screen(columns));
        expect(all.length - rows.length).toBe(others.length - 1);
        for (const row of all) expect(row).not.toMatch(unseen);
        const joined = rows.map((row) => row.slice(4)).join('');
        expect(JSON.parse(joined)).toEqual(args);
        expect(JSON.parse(visibleJson(args))).toEqual(args);
      }),
    );
  });

  test('so does what a person said and changed', () => {
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 30, max: 120 }), (key, value, columns) => {
        const args = { [`x${key}`]: value };
        const given = (more: object) => [{ by: 'ops', allow: true, at: 0, signal: 's', ...more }];
        const answered = { ...report({}, 'tool'), answers: given({ args, reason: value }) };
        const plain = { ...report({}, 'tool'), answers: given({ args: {}, reason: '' }) };
        const isFramed = (row: string): boolean => row.startsWith('  │ ');
        const [rows, bare] = [questionLines(answered, screen(columns)), questionLines(plain, screen(columns))];
        expect(rows.filter((row) => !isFramed(row))).toEqual(bare.filter((row) => !isFramed(row)));
        const list = questionListLines([answered], screen(columns));
        expect(list).toHaveLength(questionListLines([plain], screen(columns)).length);
        for (const row of [...rows, ...list]) expect(row).not.toMatch(unseen);
        const at = rows.findIndex((row) => row === '  arguments by ops:') + 1;
        const end = rows.findIndex((row) => row === '  words of ops:');
        expect(
          JSON.parse(
            rows
              .slice(at, end)
              .map((row) => row.slice(4))
              .join(''),
          ),
        ).toEqual(args);
      }),
    );
  });

  test('also in what an agent asks, and in lists', () => {
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 30, max: 120 }), (question, option, columns) => {
        const asked = report({ question, options: [option, 'b'] }, 'agent');
        const rows = [...questionLines(asked, screen(columns)), ...questionListLines([asked], screen(columns))];
        for (const row of rows) expect(row).not.toMatch(unseen);
        const bare = questionLines(asked, screen(columns)).filter((row) => !row.startsWith('  │ '));
        expect(bare).toEqual(
          questionLines(report({ question: '' }, 'agent'), screen(columns)).filter((row) => !row.startsWith('  │ ')),
        );
        expect(questionListLines([asked], screen(columns)).slice(2)).toEqual(
          questionListLines([report({}, 'agent')], screen(columns)).slice(2),
        );
      }),
    );
  });
});
