// Questions of runs to people on the command line, with a real runtime and a fake terminal.
// invariants: answer-names-what-was-shown, question-left-resumable, question-text-framed
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, AgentShortForms, Cloister, QuestionReport, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { visibleJson } from '../../../src/headends/cli/shared/sanitize-text.ts';
import { questionLines, questionListLines } from '../../../src/headends/cli/shared/question-lines.ts';
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
    expect(stderr).toContain('Type one letter');
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
  });

  test('edits them in an editor', async () => {
    const desk = openDesk();
    const edit = (text: string): string => text.replace('anna', 'carl');
    await follow(run, desk, ['e'], { edit });
    expect(desk.sent).toEqual([{ to: 'carl' }]);
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
    expect(started.stderr()).toContain('Only these can answer: legal, ops.');
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
});

describe('without a terminal, the run is left when it only waits for people', () => {
  test('the questions and the commands are on stderr; exit code 6', async () => {
    const desk = openDesk();
    const { code, stdout, stderr } = await follow(run, desk, null);
    expect({ code, stdout, sent: desk.sent }).toEqual({ code: 6, stdout: '', sent: [] });
    const [question] = await readOpen(desk);
    expect(stderr).toContain(`npx cloister questions ${question!.id}`);
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

  test.each([[['Go.', 'l']], [null]])(
    'one that is left open ends the chat, which can be continued: %j',
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
    expect(await answer(['allow'], ['n'])).toMatchObject({ code: 130 });
    expect(desk.sent).toEqual([]);
    const shown = await answer(['allow'], ['y']);
    expect(shown.stderr).toContain('│   "to": "anna"');
    expect({ code: shown.code, sent: desk.sent }).toEqual({ code: 0, sent: [{ to: 'anna' }] });
  });

  test('asks what to do if nothing is said', async () => {
    const { desk, answer } = await waiting();
    expect((await answer([])).code).toBe(4);
    expect((await answer([], ['a'])).code).toBe(0);
    expect(desk.sent).toEqual([{ to: 'anna' }]);
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
      stderr: expect.stringMatching(/1 of 2 answers\s+\(operator: allowed\)[^]*allow --by <name>\n/u),
    });
    expect(desk.sent).toEqual([]);
    expect((await answer(['allow', '--sha256', question.sha256, '--by', 'ben'])).code).toBe(0);
    expect(desk.sent).toEqual([{ to: 'anna' }]);
  });

  test('denies, with other people’s names refused as unknown', async () => {
    const { question, answer, desk } = await waiting({ approve: { send: { by: ['ops'] } } });
    const wrong = await answer(['deny']);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no such question') });
    const { code, stdout } = await answer(['deny', '--by', 'ops', '--json']);
    expect({ code, sent: desk.sent }).toEqual({ code: 0, sent: [] });
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'completed',
      answered: { question: question.id, state: 'denied' },
    });
  });
});

test('`questions` lists those that wait, and with --all the others; an id shows one in full', async () => {
  const desk = openDesk();
  expect((await follow(['questions'], desk, null)).stdout).toBe('No question waits for an answer.\n');
  await follow(run, desk, null);
  const [question] = await readOpen(desk);
  const list = await follow(['questions', '--run', 'last'], desk, null);
  expect(list.stdout).toContain(`${question!.id}  lead > mailer: send\n  {"to":"anna"}\n  asked `);
  const whole = (await follow(['questions', question!.id.slice(0, 6)], desk, null)).stdout;
  expect(whole).toContain(`sha256   ${question!.sha256}`);
  expect(whole).toContain(`npx cloister answer ${question!.id} allow --sha256 ${question!.sha256}`);
  await follow(['answer', question!.id, 'deny'], desk, null);
  expect((await follow(['questions'], desk, null)).stdout).toBe('No question waits for an answer.\n');
  expect((await follow(['questions', '--all'], desk, null)).stdout).toContain('denied (operator: denied)');
  expect((await follow(['questions', 'q-nope'], desk, null)).code).toBe(1);
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
  expect(shown).toContain(`npx cloister answer ${question!.id} allow\n`);
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
