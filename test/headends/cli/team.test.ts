// `team` on a real runtime in memory: what is requested, what is shown, what is written.
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, defineTeam, openCloister } from 'cloister';
import type { Cloister, TeamOptions } from 'cloister';
import { CloisterError } from '#base';
import type { TaskSpec } from '#contracts';
import { rehearse } from '#testkit';
import type { ScriptLine } from '#testkit';
import { emulate, scene, settle, startCli } from './driver.ts';
import type { Terminal } from './driver.ts';
import type { FileWorld } from './file-world.ts';

const plan = {
  tasks: [
    { id: 'facts', title: 'Find facts', description: 'Find facts.', assignee: 'ann' },
    { id: 'doubts', title: 'Find doubts', description: 'Find doubts.', assignee: 'bob' },
    { id: 'page', title: 'Write the page', description: 'Write it.', assignee: 'bob', dependsOn: ['facts', 'doubts'] },
  ],
};

const usual: readonly ScriptLine[] = [
  { when: { agent: 'lead', text: '# The team' }, reply: JSON.stringify(plan) },
  { when: { agent: 'lead' }, reply: 'The whole answer.' },
  { when: { text: 'Find facts' }, reply: 'Three facts.' },
  { when: { text: 'Find doubts' }, reply: 'Two doubts.' },
  { reply: 'A page.' },
];

/** For members; the coordinator plans and answers as usual. */
const membersSay = (line: ScriptLine): readonly ScriptLine[] => [...usual.slice(0, 2), line, ...usual.slice(2)];

type Asked = {
  readonly says?: readonly ScriptLine[];
  readonly team?: Partial<TeamOptions>;
  readonly files?: Partial<FileWorld>;
  readonly terminal?: Terminal;
  /** Replies with a delay wait for this. */
  readonly released?: Promise<void>;
};

/** Starts the command; what it wrote to files is in `written`. */
const start = (
  args: readonly string[],
  { says = usual, team = {}, files = {}, terminal = {}, released }: Asked = {},
) => {
  const timer = (_ms: number, due: () => void): (() => void) => {
    void (released ?? Promise.resolve()).then(due);
    return () => undefined;
  };
  const model = rehearse(says, { clock: { timer } });
  const [ann, bob, lead] = ['ann', 'bob', 'lead'].map((name) =>
    defineAgent({ name, description: `I am ${name}.`, prompt: 'p', models: [model] }),
  );
  const crew = defineTeam({ name: 'crew', agents: [ann!, bob!], coordinator: lead!, ...team });
  const opened: Cloister[] = [];
  const opens = async (): Promise<Cloister> => {
    const cloister = await openCloister({ agents: [crew], store: 'memory' });
    opened.push(cloister);
    return cloister;
  };
  const written = new Map<string, string>();
  const writeText: FileWorld['writeText'] = async (path, text) => void written.set(path, text);
  const run = startCli(args, scene(), { terminal, behaviour: { opens, files: { writeText, ...files } } });
  onTestFinished(async () => {
    await Promise.all(opened.map((one) => one.close()));
  });
  return { ...run, written, model };
};

/** Lets pending promises settle until the condition holds, and a little longer. */
const until = async (isSo: () => boolean): Promise<void> => {
  for (let tick = 0; tick < 100_000 && !isSo(); tick++) await settle();
  for (let tick = 0; tick < 50; tick++) await settle();
};

const done = async (...given: Parameters<typeof start>) => {
  const started = start(...given);
  const code = await started.code;
  return { code, stdout: started.stdout(), stderr: started.stderr(), written: started.written, model: started.model };
};

const tasksFile = (tasks: readonly TaskSpec[], goal: string | null = null): Partial<FileWorld> => ({
  readTasks: async () => ({ goal, tasks }),
});

describe('a goal', () => {
  test('is planned, worked on and answered: only the answer on stdout, the rest on stderr', async () => {
    const { code, stdout, stderr } = await done(['team', 'crew.yaml', 'Bees']);
    expect(code).toBe(0);
    expect(stdout).toBe('The whole answer.\n');
    const said = (words: RegExp): number => stderr.split('\n').findIndex((line) => words.test(line));
    const order = [
      /crew {2}started run [0-9a-f]+: Bees$/u,
      /crew {2}→ lead {2}started/u,
      /crew {2}task Find facts \(ann\) running$/u,
      /crew {2}task Find facts \(ann\) completed \d/u,
      /crew {2}task Write the page \(bob\) running$/u,
      /crew {2}task Write the page \(bob\) completed/u,
      /^Summary$/u,
      /^Tasks \(3\): 3 done$/u,
      /^✓ completed facts: Find facts +ann$/u,
      /^✓ completed page: Write the page +bob$/u,
    ].map(said);
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    // The start of a task is shown once, not again for its cell.
    expect(stderr).not.toMatch(/→ (?:ann|bob)/u);
  });

  test('without a usable plan ends with what was wrong with the last one, in text and in JSON', async () => {
    const tasks = [{ title: 'Facts' }, { title: 'Page', description: 'Write it.', dependsOn: ['fact'] }];
    const says: readonly ScriptLine[] = [{ reply: JSON.stringify(tasks) }];
    const problems =
      'Task 1 ("Facts"): description is missing. Task 2 ("Page"): it depends on "fact", which does not exist. Did you mean "facts"?';
    const text = await done(['team', 'crew.yaml', 'Bees'], { says });
    expect(text.code).toBe(5);
    expect(text.stderr).toContain(problems);
    const json = await done(['team', 'crew.yaml', 'Bees', '--json'], { says });
    expect(JSON.parse(json.stdout)).toMatchObject({
      error: { code: 'plan_invalid', message: expect.stringContaining(problems) as string },
    });
  });

  test('can come from stdin, and a team file can replace the command', async () => {
    const stdin = async (): Promise<string> => 'Bees\n';
    for (const args of [['team', 'crew.yaml'], ['crew.yaml'], ['crew.yaml', '-'], ['./crew.yml']]) {
      const { code, model } = await done(args, { files: { stdin } });
      expect(code).toBe(0);
      expect(JSON.stringify(model.requests[0]!.prompt)).toContain('# Goal\\nBees\\n');
    }
  });

  test('that is missing is reported', async () => {
    const { code, stderr } = await done(['team', 'crew.yaml']);
    expect(code).toBe(4);
    expect(stderr).toMatch(/missing goal[^]*try: .*--tasks <file>/u);
  });
});

describe('tasks', () => {
  const [facts, doubts] = plan.tasks as readonly TaskSpec[];

  test('from a file are run without a plan; the last results are the answer', async () => {
    const asked: unknown[] = [];
    const readTasks: FileWorld['readTasks'] = async (...given) => {
      asked.push(given);
      return { goal: null, tasks: [facts!] };
    };
    const { code, stdout, model } = await done(['team', 'crew.yaml', '--tasks', 't.yaml'], { files: { readTasks } });
    expect(code).toBe(0);
    expect(stdout).toBe('Three facts.\n');
    expect(model.requests).toHaveLength(1);
    expect(asked).toEqual([['t.yaml', ['ann', 'bob']]]);
  });

  test.each([[['--final-answer']], [['--answer']], [['About bees']]])(
    'are answered by the coordinator when %j is given',
    async (more) => {
      const { stdout, model } = await done(['team', 'crew.yaml', ...more, '--tasks', 't.yaml'], {
        files: tasksFile([facts!, doubts!]),
      });
      expect(stdout).toBe('The whole answer.\n');
      expect(model.requests).toHaveLength(3);
      expect(JSON.stringify(model.requests.at(-1)!.prompt)).toContain(
        more[0] !== 'About bees' ? 'Combine the results' : 'About bees',
      );
    },
  );

  test('in the team file are run unless others are given', async () => {
    const teamTasks = async (): Promise<readonly TaskSpec[]> => [doubts!];
    expect((await done(['team', 'crew.yaml'], { files: { teamTasks } })).stdout).toBe('Two doubts.\n');
    const files = { teamTasks, ...tasksFile([facts!]) };
    expect((await done(['team', 'crew.yaml', '--tasks', 't.yaml'], { files })).stdout).toBe('Three facts.\n');
  });

  test('that are invalid are refused with every problem on its own line, and nothing runs', async () => {
    const readTasks = async (): Promise<never> => {
      throw new CloisterError('tasks_invalid', '\n  t.yaml:3 tasks: one\n  t.yaml:4 tasks: two\n');
    };
    const { code, stderr, model } = await done(['team', 'crew.yaml', '--tasks', 't.yaml'], { files: { readTasks } });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: The task graph is invalid\.\n {2}t\.yaml:3 tasks: one\n {2}t\.yaml:4 tasks: two\ntry: /u,
    );
    expect(model.requests).toEqual([]);
  });

  test('for a team without a coordinator cannot get a final answer, which is reported before anything runs', async () => {
    const { code, stderr, model } = await done(['team', 'crew.yaml', '--tasks', 't', '--final-answer'], {
      files: tasksFile([facts!]),
      team: { coordinator: undefined as never },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/no coordinator/u);
    expect(model.requests).toEqual([]);
  });
});

describe('a plan', () => {
  test('is shown as a list on a terminal, as JSON elsewhere, and is not run', async () => {
    const piped = await done(['team', 'crew.yaml', 'Bees', '--plan-only']);
    expect(piped.code).toBe(0);
    expect(JSON.parse(piped.stdout)).toEqual({ goal: 'Bees', tasks: plan.tasks });
    expect(piped.stderr).toMatch(/Run the plan: npx cloister team crew\.yaml --from-plan [0-9a-f]+/u);
    expect(piped.model.requests).toHaveLength(1);
    expect(piped.stderr).not.toMatch(/^Tasks/mu);

    const { stdout, stderr } = await done(['team', 'crew.yaml', 'Bees', '--plan-only'], { terminal: { tty: true } });
    expect(stderr).not.toMatch(/skipped|Find facts/u);
    expect(stdout).toContain('Plan (3 tasks): Bees\n  1. Find facts\n     facts · ann\n     Find facts.\n');
    expect(stdout).toContain('  3. Write the page\n     page · bob, after facts, doubts\n');
  });

  test('is saved in the form that --from-plan reads, and its graph is drawn', async () => {
    const { written, stderr } = await done([
      'team',
      'crew.yaml',
      'Bees',
      '--plan-only',
      '--save-plan',
      'plan.json',
      '--graph',
      'g.mmd',
    ]);
    expect(JSON.parse(written.get('plan.json')!)).toEqual({ goal: 'Bees', tasks: plan.tasks });
    expect(written.get('g.mmd')).toBe('mermaid of facts pending, doubts pending, page pending\n');
    expect(stderr).toMatch(
      /Plan written to plan\.json\.\nGraph written to g\.mmd\.\nRun the plan: npx cloister team crew\.yaml --from-plan plan\.json/u,
    );
  });

  test('is saved with the former option name too, which the help hides', async () => {
    const { written } = await done(['team', 'crew.yaml', 'Bees', '--plan-only', '--save', 'plan.json']);
    expect(JSON.parse(written.get('plan.json')!)).toEqual({ goal: 'Bees', tasks: plan.tasks });
    expect((await done(['team', '--help'])).stdout).not.toMatch(/--(?:save|answer)\b(?!-)/u);
  });

  test('from a file is run and answered', async () => {
    const files = tasksFile(plan.tasks, 'Bees');
    const { code, stdout, model } = await done(['team', 'crew.yaml', '--from-plan', 'plan.json'], { files });
    expect(code).toBe(0);
    expect(stdout).toBe('The whole answer.\n');
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).toContain('# Goal\\nBees');
  });

  test('with memoryScope all is refused unless the team allows it, even from a file', async () => {
    const asking = plan.tasks.map((task, at) => (at === 0 ? { ...task, memoryScope: 'all' as const } : task));
    const { code, stderr, model } = await done(['team', 'crew.yaml', '--from-plan', 'plan.json'], {
      files: tasksFile(asking, 'Bees'),
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/Task "Find facts" in the plan asks for memoryScope: all/u);
    expect(model.requests).toEqual([]);

    const own = await done(['team', 'crew.yaml', '--tasks', 'plan.json'], { files: tasksFile(asking, 'Bees') });
    expect(own.code).toBe(0);
  });

  test('of an unknown run is refused', async () => {
    const { code, stderr } = await done(['team', 'crew.yaml', '--from-plan', 'abc']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/There is no such run/u);
  });

  test('with --json is the data of the one value', async () => {
    const { stdout } = await done(['team', 'crew.yaml', 'Bees', '--plan-only', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', data: { goal: 'Bees', tasks: plan.tasks } });
  });
});

describe('what is written', () => {
  test.each([
    ['g.svg', 'svg of facts completed, doubts completed, page completed\n'],
    ['g.MMD', 'mermaid of facts completed, doubts completed, page completed\n'],
    ['g.md', '```mermaid\nmermaid of facts completed, doubts completed, page completed\n```\n'],
  ])('is the graph in the form of the file: %s', async (path, expected) => {
    const { written } = await done(['team', 'crew.yaml', 'Bees', '--graph', path]);
    expect([...written]).toEqual([[path, expected]]);
  });

  // invariants: graph-file-writable-first, graph-file-own-only
  test.each([
    [
      'a folder that is not there',
      { whyNotWritable: async () => 'its folder is not there' },
      /cannot be written: its folder/u,
    ],
    [
      'somebody’s own file',
      { readText: async () => '# My notes' },
      /already exists and is not a graph written by cloister/u,
    ],
  ])('never goes to %s, which is said before anything runs', async (_what, files, expected) => {
    const { code, stderr, model } = await done(['team', 'crew.yaml', 'Bees', '--graph', 'notes.md'], { files });
    expect(code).toBe(4);
    expect(stderr).toMatch(expected);
    expect(model.requests).toEqual([]);
  });

  test('can replace what an earlier run wrote', async () => {
    const { drawMermaid, drawSvg } = await import('#core/tasks');
    const before = [{ ...plan.tasks[0]!, dependsOn: [], status: 'ready' as const }];
    for (const [path, text] of [
      ['g.svg', drawSvg(before)],
      ['g.mmd', drawMermaid(before)],
      ['g.md', `\`\`\`mermaid\n${drawMermaid(before)}\`\`\`\n`],
    ] as const) {
      const { code, written } = await done(['team', 'crew.yaml', 'Bees', '--graph', path], {
        files: { readText: async () => text },
      });
      expect([code, written.has(path)]).toEqual([0, true]);
    }
  });

  test.for([[], ['--json'], ['--jsonl']])(
    'that fails at the end is reported, does not lose the answer, and exits with 1: %s',
    async (form) => {
      const writeText = async (): Promise<never> => {
        throw new Error('disk full');
      };
      const args = ['team', 'crew.yaml', 'Bees', '--graph', 'g.svg', ...form];
      const { code, stdout, stderr } = await done(args, { files: { writeText } });
      expect(code).toBe(1);
      expect(stdout).toContain('The whole answer.');
      expect(stderr).toContain('error: The graph could not be written to g.svg: disk full');
    },
  );
});

describe('a task that fails', () => {
  const says = membersSay({ when: { text: 'Find doubts' }, reply: { fault: 400 } });

  test('is shown with its reason, as are the tasks it blocks; completed work is kept and shown', async () => {
    const { code, stdout, stderr, written } = await done(['team', 'crew.yaml', 'Bees', '--graph', 'g.svg'], { says });
    expect(code).toBe(5);
    expect(stdout).toMatch(/^The whole answer\.\n\nMissing from this answer:\n- Find doubts \(by bob\): failed/u);
    expect(stderr).toMatch(/task Find doubts \(bob\) failed \d.*: it did not complete/u);
    expect(stderr).toMatch(/task Write the page \(bob\) blocked: it depends on doubts, which failed/u);
    expect(stderr).toMatch(
      /Tasks \(3\): 1 failed, 1 blocked, 1 done\n✓ completed facts[^\n]*\n✗ failed {4}doubts[^\n]*\n⊘ blocked {3}page/u,
    );
    expect(written.get('g.svg')).toBe('svg of facts completed, doubts failed, page blocked\n');
  });

  test('is in the JSON with its reason and its cells', async () => {
    const { stdout, stderr } = await done(['team', 'crew.yaml', 'Bees', '--json'], { says });
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'partial',
      missing: ['doubts', 'page'],
      tasks: [
        { id: 'facts', status: 'completed', result: 'Three facts.', cells: [expect.any(String)] },
        { id: 'doubts', status: 'failed', reason: { code: 'failed' }, cells: [expect.any(String)] },
        { id: 'page', status: 'blocked', reason: { code: 'dependency', task: 'doubts' }, cells: [] },
      ],
    });
    expect(stderr).toBe('');
  });

  test('and is retried says so', async () => {
    const again = membersSay({ when: { text: 'Find doubts' }, times: 1, reply: { fault: 400 } });
    const { code, stderr } = await done(['team', 'crew.yaml', 'Bees'], {
      says: again,
      team: { retries: 1, backOffMs: 0 },
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(/task Find doubts \(bob\) will be retried \d/u);
  });

  test('a coordinator without a valid plan leaves no tasks, and says why', async () => {
    const { code, stdout, stderr } = await done(['team', 'crew.yaml', 'Bees'], {
      says: [{ reply: 'I would rather not.' }],
    });
    expect(code).toBe(5);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/error: The coordinator did not produce a usable plan/u);
    expect(stderr).not.toMatch(/^Tasks/mu);
  });
});

describe('on a terminal', () => {
  const held = membersSay({ when: { text: 'Find doubts' }, reply: { text: 'Two doubts.', delayMs: 1 } });

  /** Waits until this many requests were made and all but the delayed one were answered. */
  const drawn = async (
    requests: number,
    terminal: Terminal,
    args = ['team', 'crew.yaml', 'Bees'],
    more: Asked = {},
  ) => {
    const gate = Promise.withResolvers<void>();
    const run = start(args, { says: held, terminal: { tty: true, ...terminal }, released: gate.promise, ...more });
    await until(() => run.model.requests.length >= requests);
    await run.pass(100);
    return { run, release: () => gate.resolve() };
  };

  test('the graph is drawn in place: what is done, what is running, and what waits for what', async () => {
    const { run, release } = await drawn(3, {});
    const { lines, cursorVisible } = emulate(run.screen(), 80);
    expect(lines.slice(0, 4)).toEqual([
      '  3 tasks: 1 running, 1 waiting, 1 done',
      expect.stringMatching(/^✓ ┌ Find facts +ann$/u),
      expect.stringMatching(/^● └ Find doubts +bob {2}model rehearsal/u),
      expect.stringMatching(/^· ─ Write the page +bob {2}after Find doubts$/u),
    ]);
    expect(cursorVisible).toBe(false);
    release();
    expect(await run.code).toBe(0);
    const after = emulate(run.screen(), 80);
    expect(after.cursorVisible).toBe(true);
    // Once, with its id, below the summary.
    expect(after.lines.filter((line) => /Find facts/u.test(line))).toEqual([
      expect.stringMatching(/^✓ completed facts: Find facts/u),
    ]);
    expect(after.lines).toContain('The whole answer.');
  });

  test.each([
    [24, 6],
    [40, 10],
    [200, 50],
  ])('it stays within %i columns and %i rows, however many tasks there are', async (columns, rows) => {
    const many = Array.from({ length: 60 }, (_, at): TaskSpec => ({
      id: `t${at}`,
      title: `Task 界 ${at} of a long name`,
      description: at === 7 ? 'Find doubts' : 'x',
      ...(at > 20 ? { dependsOn: ['t7'] } : {}),
    }));
    const { run, release } = await drawn(21, { columns, rows }, ['team', 'crew.yaml', '--tasks', 't'], {
      files: tasksFile(many),
    });
    for (let tick = 0; tick < 3; tick++) await run.pass(100);
    const screen = emulate(run.screen(), columns, rows);
    expect(screen.wrapped).toBe(false);
    expect(screen.lines.length).toBeLessThan(rows);
    release();
    expect(await run.code).toBe(0);
  });

  test('Ctrl-C stops cleanly: completed tasks are shown, the others say why not, and the graph is written', async () => {
    const { run } = await drawn(3, {}, ['team', 'crew.yaml', 'Bees', '--graph', 'g.svg']);
    run.interrupt();
    expect(await run.code).toBe(130);
    const { lines, cursorVisible } = emulate(run.screen(), 80);
    expect(cursorVisible).toBe(true);
    expect(lines).toContain('Three facts.');
    expect(lines.join('\n')).toMatch(/Tasks \(3\): .*2 skipped, 1 done/u);
    expect(run.written.get('g.svg')).toBe('svg of facts completed, doubts skipped, page skipped\n');
  });
});

test('text in titles and answers is sanitized before it reaches the terminal', async () => {
  const nasty = '\u001B[31mRed\u0007\u202Eder';
  const files = tasksFile([{ id: 'a', title: nasty, description: 'x' }]);
  for (const tty of [true, false]) {
    const asked = { files, terminal: { tty }, says: [{ reply: nasty }] };
    const { code, stdout, stderr } = await done(['team', 'crew.yaml', '--tasks', 't'], asked);
    expect(code).toBe(0);
    expect(stderr).toContain('Red');
    for (const sign of ['[31m', '\u0007', '\u202E']) expect(`${stdout}${stderr}`).not.toContain(sign);
  }
  const says = [{ reply: JSON.stringify({ tasks: [{ id: 'a', title: nasty, description: nasty }] }) }];
  const { stdout } = await done(['team', 'crew.yaml', nasty, '--plan-only'], { says, terminal: { tty: true } });
  expect(stdout).toContain('Plan (1 task): Red');
  for (const sign of ['[31m', '\u0007', '\u202E']) expect(stdout).not.toContain(sign);
});

describe('a run that is over', () => {
  /** One runtime for several commands: it is closed at the end of the test. */
  const afterwards = async (says: readonly ScriptLine[] = usual) => {
    const model = rehearse(says);
    const [ann, bob, lead] = ['ann', 'bob', 'lead'].map((name) =>
      defineAgent({ name, description: `I am ${name}.`, prompt: 'p', models: [model] }),
    );
    const crew = defineTeam({ name: 'crew', agents: [ann!, bob!], coordinator: lead! });
    const cloister = await openCloister({ agents: [crew], store: 'memory' });
    onTestFinished(() => cloister.close());
    const session = cloister.runTeam(crew, 'Bees');
    await session.outcome;
    const kept = new Proxy(cloister, {
      get: (target, key) => {
        if (key === 'close' || key === Symbol.asyncDispose) return async () => undefined;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const written = new Map<string, string>();
    const writeText: FileWorld['writeText'] = async (path, text) => void written.set(path, text);
    const cli = async (...args: readonly string[]) => {
      const run = startCli(args, scene(), { behaviour: { opens: async () => kept, files: { writeText } } });
      const code = await run.code;
      return { code, stdout: run.stdout(), stderr: run.stderr() };
    };
    return { cli, written, tasks: await cloister.tasks(session.run) };
  };

  test('is shown with its tasks, and listed by its goal', async () => {
    const { cli } = await afterwards();
    const { stdout } = await cli('show', 'last');
    expect(stdout).toMatch(/^goal {5}Bees$/mu);
    expect(stdout).toMatch(/^Tasks \(3\): 3 done\n✓ completed facts: Find facts/mu);
    expect((await cli('runs')).stdout).toMatch(/ crew .* Bees$/mu);
    expect(JSON.parse((await cli('show', 'last', '--json')).stdout)).toMatchObject({
      goal: 'Bees',
      tasks: [{ id: 'facts' }, { id: 'doubts' }, { id: 'page' }],
    });
  });

  test('has a graph that show can write', async () => {
    const { cli, written } = await afterwards();
    expect(await cli('show', 'last', '--graph', 'g.svg')).toMatchObject({
      code: 0,
      stderr: 'Graph written to g.svg.\n',
    });
    expect(written.get('g.svg')).toBe('svg of facts completed, doubts completed, page completed\n');
  });

  test('is explained by task id: the source of everything its cell was shown', async () => {
    const { cli, tasks } = await afterwards();
    const { code, stdout } = await cli('explain', 'last', 'page');
    expect(code).toBe(0);
    expect(stdout).toContain(tasks[2]!.cells.at(-1)!);
    expect(stdout).toMatch(/← result of task "Find facts" \(facts, by ann\) in ann-/u);
    expect(stdout).toMatch(/← result of task "Find doubts" \(doubts, by bob\) in bob-/u);
  });

  test('a task that never ran, and an unknown task, are reported as such', async () => {
    const { cli } = await afterwards(membersSay({ when: { text: 'Find doubts' }, reply: { fault: 400 } }));
    const blocked = await cli('explain', 'last', 'page');
    expect([blocked.code, blocked.stderr]).toEqual([
      1,
      expect.stringMatching(/No agent has worked on task page: it is blocked/u),
    ]);
    expect((await cli('explain', 'last', 'pages')).stderr).toMatch(/its tasks: facts, doubts, page/u);
  });

  test('that only planned shows no tasks: they were never run', async () => {
    const { cli } = await afterwards();
    expect((await cli('team', 'crew.yaml', 'Ants', '--plan-only')).code).toBe(0);
    const { stdout } = await cli('show', 'last');
    expect(stdout).toMatch(/^goal {5}Ants$/mu);
    expect(stdout).not.toMatch(/^Tasks/mu);
    const again = await cli('team', 'crew.yaml', '--from-plan', 'last');
    expect([again.code, again.stdout]).toEqual([0, 'The whole answer.\n']);
  });
});
