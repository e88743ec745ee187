// `check`, `agents`, `init`, the help of an agent, and runs of agent files.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { CheckReport, ImportReport } from '#contracts';
import { listTemplates } from '../../../src/app/agents/init-folder.ts';
import { cli, emulate, escape, scene } from './driver.ts';
import type { Terminal } from './driver.ts';
import { checkReport, problem, template, toolNames } from './file-world.ts';
import type { FileWorld } from './file-world.ts';

const withFiles = (args: readonly string[], files: Partial<FileWorld>, terminal: Terminal = {}) =>
  cli(args, scene(), { behaviour: { files }, terminal });

const check = (report: Partial<CheckReport>, args: readonly string[] = [], terminal: Terminal = {}) =>
  withFiles(['check', ...args], { check: async () => checkReport(report) }, terminal);

test('a check without problems says so, and shows the worst case and the reach of the agents', async () => {
  const { code, stdout, stderr } = await check({});
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe(`Agents
  lead  lead.ai
  └─scout  agents/scout.ai

Worst case for one run, if every model uses all it is allowed to use
  agents  501, up to 1 level of sub-agents
  tokens  2,251,662,336
  cost    $12.5000

What each agent can reach
  lead
    env                 OPENAI_API_KEY
    sub-agents’ env     WEB_KEY
    sub-agents’ servers web
    sub-agents’ tools   web/search
  scout
    env                 OPENAI_API_KEY, WEB_KEY
    servers             web
    tools               web/search

No problems · 2 agents
`);
});

test('problems come first, grouped by file, each with its line, its key and the likely intended key', async () => {
  const problems = [
    problem(),
    problem({ file: 'b.ai', line: null, key: null, message: 'The file is empty.', nearest: null }),
    problem({ line: 9, key: 'models', message: 'expected a list.', nearest: null }),
    problem({ line: 12, key: 'agents.0', message: 'No agent "scuot".', nearest: 'scout' }),
  ];
  const { code, stdout } = await check({ ok: false, problems });
  expect(code).toBe(1);
  expect(stdout.split('\n').slice(0, 5)).toEqual([
    'lead.ai:7  limits.maxRetry: unknown key; did you mean "maxRetries"?',
    'lead.ai:9  models: expected a list.',
    'lead.ai:12  agents.0: No agent "scuot"; did you mean "scout"?',
    'b.ai  The file is empty.',
    '',
  ]);
  expect(stdout).toContain('\n4 problems in 2 files · 2 agents\n');
  expect((await check({ ok: false, problems }, ['--json'])).code).toBe(1);
});

test('a check lists what each agent asks before, and who may answer', async () => {
  const { reach } = checkReport({});
  const approve = {
    mail: { need: 2 },
    'mail/send': { by: ['legal', 'ops'], need: 2, not: 'asker' },
    pay: { when: 'arguments' },
    write_file: {},
  } as const;
  const { stdout } = await check({ reach: { ...reach, lead: { ...reach['lead']!, approve, asks: true } } });
  expect(stdout).toContain(
    `    asks before         mail (2 people), mail/send (2 of legal, ops; not the
                        asker), pay (by its arguments), write_file
    asks                a person
`,
  );
});

test('warnings are printed and do not fail the check', async () => {
  const warnings = [
    { code: 'description-vague', agent: 'scout', message: '`scout` is described in 4 characters' },
  ] as const;
  const { code, stdout } = await check({ warnings });
  expect(code).toBe(0);
  expect(stdout).toContain('Warnings\n  description-vague: `scout` is described in 4 characters\n');
  expect(stdout).toContain('\nNo problems, 1 warning · 2 agents\n');
});

test('cycles are shown with their path, long ones by their ends', async () => {
  const long = Array.from({ length: 1_000 }, (_, place) => `a${place}`);
  const { stdout } = await check({
    cycles: [
      ['a', 'b', 'a'],
      [...long, 'a0'],
    ],
  });
  expect(stdout).toContain('Cycles\n  a → b → a\n');
  expect(stdout).toMatch(/a18 →\s+… 981 more … → a0\n/u);
});

test('check and help say which name models see, if it is another one', async () => {
  const [lead, scout] = checkReport().agents;
  const names = toolNames('web.scout', 'web_scout');
  const { stdout } = await check({ agents: [lead!, { ...scout!, ...names }] });
  expect(stdout).toContain('\nTool names\n  scout: MCP clients and scripts see web.scout; models see web_scout\n\n');
  expect((await check({})).stdout).not.toContain('Tool names');
  const agentHelp = async () => ({ name: 'scout', description: 'Looks.', usage: 'x', template, ...names });
  expect((await withFiles(['scout.ai', '--help'], { agentHelp })).stdout).toContain(
    '\nTool name:\n  MCP clients and scripts see web.scout; models see web_scout\n\nUsage:',
  );
  expect((await withFiles(['lead.ai', '--help'], {})).stdout).not.toContain('Tool name:');
});

test('a worst case without a known limit says so', async () => {
  const { stdout } = await check({ worstCase: { agents: null, depth: 0, tokens: null, usd: null } });
  expect(stdout).toContain(
    '  agents  no known limit, no sub-agents\n  tokens  no known limit\n  cost    no known limit\n',
  );
});

test('an agent that appears twice is marked where its sub-agents are left out', async () => {
  const leaf = (name: string) => ({ name, file: `${name}.ai`, agents: [] });
  const tree = [
    { ...leaf('lead'), agents: [leaf('a'), { ...leaf('b'), agents: [{ ...leaf('a'), agents: [leaf('c')] }] }] },
  ];
  const { stdout } = await check({ tree });
  expect(stdout).toContain(`  lead  lead.ai
  ├─a (see above)  a.ai
  └─b  b.ai
    └─a  a.ai
      └─c  c.ai
`);
});

test('ten thousand problems, agents, cycles and warnings print in bounded form, and JSON has all of them', async () => {
  const many = Array.from({ length: 10_000 }, (_, place) => place);
  const report: Partial<CheckReport> = {
    ok: false,
    problems: many.map((line) => problem({ file: `f${line % 100}.ai`, line })),
    cycles: many.map((place) => [`a${place}`, `a${place}`]),
    warnings: many.map((place) => ({ code: 'unpriced', agent: `a${place}`, message: 'no price' })),
    tree: many.map((place) => ({ name: `a${place}`, file: `a${place}.ai`, agents: [] })),
    reach: Object.fromEntries(many.map((place) => [`a${place}`, checkReport().reach['lead']!])),
  };
  const { stdout } = await check(report);
  expect(stdout.split('\n').length).toBeLessThan(1_000);
  for (const more of [
    '9,800 more problems',
    '9,800 more agents',
    '9,980 more cycles',
    '9,950 more agents',
    '9,950 more warnings',
  ])
    expect(stdout).toContain(`… and ${more}: use --json for all`);
  expect(stdout).toContain('10,000 problems in 100 files');
  expect(JSON.parse((await check(report, ['--json'])).stdout)).toEqual({ ...checkReport(), ...report });
});

test('with --syntax-only no topology is printed', async () => {
  const { stdout } = await check({ worstCase: { agents: null, depth: 0, tokens: null, usd: null } }, ['--syntax-only']);
  expect(stdout).toBe('No problems · 2 agents, syntax only\n');
});

test.each<[args: readonly string[], asked: object]>([
  [[], { paths: ['.'], syntaxOnly: false, connect: false, config: null }],
  [['a.ai', 'team/'], { paths: ['a.ai', 'team/'], syntaxOnly: false, connect: false, config: null }],
  [
    ['--syntax-only', '--config', 'c.json', 'a.ai', '--connect'],
    { paths: ['a.ai'], syntaxOnly: true, connect: true, config: 'c.json' },
  ],
])('check passes its arguments on: %j', async (args, asked) => {
  const seen: unknown[] = [];
  await withFiles(['check', ...args], {
    check: async (options) => {
      seen.push(options);
      return checkReport();
    },
  });
  expect(seen).toEqual([asked]);
});

test('agents are listed with file and description, and problems are counted on stderr', async () => {
  const seen: unknown[] = [];
  const files = (over: Partial<CheckReport>): Partial<FileWorld> => ({
    check: async (options) => {
      seen.push(options);
      return checkReport(over);
    },
  });
  const listed = await withFiles(['agents', 'team', '--config', 'c.json'], files({}));
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  expect(listed.stdout).toBe(`agent  file             description
lead   lead.ai          Leads the research.
scout  agents/scout.ai  Looks things up on the web.
`);
  expect(seen).toEqual([{ paths: ['team'], syntaxOnly: true, connect: false, config: 'c.json' }]);
  const broken = await withFiles(['agents'], files({ ok: false, problems: [problem()] }));
  expect(broken).toMatchObject({ code: 1, stderr: '1 problem: see `cloister check .`\n' });
  const [lead, scout] = checkReport().agents;
  const everywhere = await withFiles(
    ['agents'],
    files({
      agents: [
        { ...lead!, from: 'here' },
        { ...scout!, from: 'home', byName: false },
      ],
    }),
  );
  expect(seen.at(-1)).toMatchObject({ paths: [] });
  expect(everywhere.stdout).toBe(`agent  file             from                       description
lead   lead.ai          this folder                Leads the research.
scout  agents/scout.ai  home folder, by path only  Looks things up on the web.
`);
  const none = await withFiles(['agents', 'x'], files({ agents: [] }));
  expect(none.stdout).toBe('No agents found in x.\nCreate some with `cloister init`, or pass an .ai file.\n');
  const nowhere = await withFiles(['agents'], files({ agents: [] }));
  expect(nowhere.stdout).toContain('in this folder, in the folders of the config or in the home folder');
  const checked = await withFiles(['check'], files({ agents: [], tree: [], warnings: [] }));
  expect(checked.stdout).toBe('No problems · 0 agents\nCreate some with `cloister init`, or pass an .ai file.\n');
  const json = await withFiles(['agents', '--json'], files({}));
  expect(JSON.parse(json.stdout)).toEqual(checkReport().agents);
});

test('init lists the files it created and the next steps', async () => {
  expect(await withFiles(['init', 'my team'], {})).toMatchObject({
    code: 0,
    stdout: `Created in /work/my team, from the template start:
  lead.ai
  scout.ai
  .ai-agent.json

Next steps:
  cd 'my team'
  npx cloister check
  npx cloister lead.ai "What about backups?"
`,
  });
  expect((await withFiles(['init'], {})).stdout).not.toContain('cd ');
});

test('init takes a template, and asks for one on a terminal only', async () => {
  const made = async (args: readonly string[], typed: readonly string[] | null) => {
    const terminal = { tty: typed !== null };
    const { stdout } = await cli(['init', 'x', ...args], scene(), {
      terminal,
      behaviour: { lines: { isTerminal: true, texts: typed ?? ['team'] } },
    });
    return /template (\S+):/u.exec(stdout)?.[1] ?? JSON.parse(stdout).template;
  };
  expect(await made([], null)).toBe('start');
  expect(await made(['--template', 'team'], null)).toBe('team');
  expect(await made(['--template', 'team'], ['start'])).toBe('team');
  expect(await made(['--json'], ['team'])).toBe('start');
  expect(await made([], [''])).toBe('start');
  expect(await made([], ['2'])).toBe('team');
  expect(await made([], ['team'])).toBe('team');
  const asked = await cli(['init'], scene(), {
    terminal: { tty: true },
    behaviour: { lines: { isTerminal: true, texts: [''] } },
  });
  expect(asked.stderr).toMatch(/^Which template\?\n {2}1 {2}start +a lead and a scout\n {2}2 {2}team/u);
});

test('the help of init lists every template', async () => {
  const { stdout } = await withFiles(['init', '--help'], {});
  for (const { name } of listTemplates(new URL('../../../templates/', import.meta.url)))
    expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'mu'));
});

test('import shows what became of each file, and fails if one could not be written', async () => {
  const note = { line: 3, key: 'tools', message: 'Left out: Bash.' } as const;
  const file = { from: 'a.md', what: 'agent', notes: [] } as const;
  const report: ImportReport = {
    ok: false,
    to: 'agents',
    files: [
      { ...file, to: 'agents/a.ai', state: 'written', notes: [{ ...note, kind: 'decide' }] },
      { ...file, from: 'b.md', to: 'agents/b.ai', state: 'exists' },
    ],
  };
  const asked: unknown[] = [];
  const files = { import: async (options: unknown) => (asked.push(options), report) };
  const { code, stdout } = await withFiles(['import', 'x', '--to', 'y', '--dry-run'], files);
  expect(asked).toEqual([{ path: 'x', to: 'y', dryRun: true, config: null }]);
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: `a.md → agents/a.ai
  decide  line 3, tools: Left out: Bash.
b.md → agents/b.ai (not written: it exists with other content; move it, or use --to)

1 agent in agents · 0 changed, 0 dropped, 1 to decide
1 file not written: agents/b.ai, because other content is there. Move it, or
    use --to.
`,
  });
  expect(JSON.parse((await withFiles(['import', 'x', '--json'], files)).stdout)).toEqual(report);
});

test('init refuses to overwrite files', async () => {
  const init = async () => {
    throw new CloisterError('options_invalid', 'team has lead.ai already.');
  };
  const { code, stdout, stderr } = await withFiles(['init', 'team'], { init });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('team has lead.ai already.');
});

test.each([[['lead.ai', '--help']], [['run', 'lead.ai', '-h']], [['run', '--help', './team/lead.ai']]])(
  'help after an agent file is the help of the agent: %j',
  async (args) => {
    const seen: unknown[] = [];
    const { code, stdout } = await withFiles([...args, '--config', 'c.json'], {
      agentHelp: async (...given) => {
        seen.push(given);
        return {
          name: 'lead',
          description: `Leads the research. ${'word '.repeat(30)}\n\nAnd more.`,
          usage: 'Compare "a" and $(b)',
          ...toolNames('lead'),
          template,
        };
      },
    });
    const path = args.find((arg) => arg.endsWith('.ai'))!;
    expect(seen).toEqual([[path, 'c.json']]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^lead\n\nDESCRIPTION\n {2}Leads the research\. word/u);
    expect(stdout).toContain('\n\n  And more.\n');
    expect(stdout).toContain(`\nUsage:\n  cloister ${path} 'Compare "a" and $(b)'\n`);
    expect(stdout).toMatch(/\nOptions:\n {2}--json /u);
    expect(stdout.endsWith(`\n\n${template}\n`)).toBe(true);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThan(80);
  },
);

test('the help of an agent is one value with --json; an agent name has no such help', async () => {
  const { stdout } = await cli(['lead.ai', '--help', '--json']);
  expect(JSON.parse(stdout)).toEqual({
    name: 'lead',
    ...toolNames('lead'),
    description: 'Leads the research.',
    usage: 'Compare two databases',
    template,
  });
  expect((await cli(['run', 'lead', '--help'])).stdout).toContain('Usage: cloister run [options] [agent] [input]');
});

const ran = async (args: readonly string[], files: Partial<FileWorld> = {}) => {
  const runs: unknown[] = [];
  const { opened, code } = await cli(args, scene(), {
    behaviour: { files, onRun: (agent, input) => void runs.push([agent, input]) },
  });
  return { agents: opened[0]?.agents, runs, code };
};

test.each<[args: readonly string[], agents: readonly string[], name: string]>([
  [['lead.ai', 'q'], ['lead.ai'], 'lead'],
  [['./team/lead.ai', 'q', '--agents', 'more'], ['./team/lead.ai', 'more'], 'lead'],
  [['run', 'lead.ai', 'q'], ['lead.ai'], 'lead'],
  [['run', 'team/lead', 'q'], ['team/lead'], 'lead'],
  [['run', 'lead', 'q', '--agents', 'a.ai', '--agents', 'team'], ['a.ai', 'team'], 'lead'],
])('an agent can be given by its file or by its name: %j', async (args, agents, name) => {
  expect(await ran(args)).toEqual({ agents, runs: [[name, 'q']], code: 0 });
});

test.each([[['lead.ai']], [['lead.ai', '-']], [['run', 'lead', '--agents', 'team']]])(
  'without an argument the input is read from stdin, without the final line break: %j',
  async (args) => {
    const { runs } = await ran(args, { stdin: async () => 'two\nlines\n' });
    expect(runs).toEqual([['lead', 'two\nlines']]);
  },
);

test('stdin is not touched when there is an input', async () => {
  const stdin = async () => {
    throw new Error('touched');
  };
  expect((await ran(['lead.ai', 'q'], { stdin })).code).toBe(0);
});

test.each<[given: string, text: string | null]>([
  ['{"type":"object"}', null],
  ['answer.json', '{"type":"object"}\n'],
])('a schema can be given inline or as a file: %s', async (given, text) => {
  const options: unknown[] = [];
  const files = text === null ? {} : { readText: async (path: string) => (path === given ? text : '') };
  await cli(['lead.ai', 'q', '--schema', given], scene(), {
    behaviour: { files, onRun: (_agent, _input, more) => void options.push(more) },
  });
  expect(options).toEqual([{ budget: {}, schema: { type: 'object' } }]);
});

test.each<[text: string | null, error: RegExp]>([
  [null, /the schema in answer\.json cannot be read: no such file/u],
  ['[1]', /the schema in answer\.json is not a JSON object/u],
  ['{', /the schema in answer\.json is not a JSON object/u],
])('an invalid schema is a usage error, and nothing is opened: %s', async (text, error) => {
  const files = text === null ? {} : { readText: async () => text };
  const { code, stderr, opened } = await withFiles(['lead.ai', 'q', '--schema', 'answer.json'], files);
  expect({ code, opened }).toEqual({ code: 4, opened: [] });
  expect(stderr).toMatch(error);
});

const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom('\u001B[2J', '\u009B31m', '\r', '\n', '\t', '\u202E', '\uD800', '界', '\u0000'),
      fc.string(),
    ),
    {
      maxLength: 8,
    },
  )
  .map((parts) => parts.join(''));

const hostileReport = fc.record({ one: hostile, two: hostile }).map(({ one, two }): CheckReport => ({
  ok: false,
  agents: [{ name: one, file: two, description: one, ...toolNames(one, two) }],
  problems: [{ file: one, line: 3, key: two, message: one, nearest: two }],
  cycles: [[one, two, one]],
  worstCase: { agents: 1, depth: 0, tokens: 1, usd: 1 },
  reach: { [one]: { env: [two], servers: [one], tools: [two], through: { env: [one], servers: [], tools: [two] } } },
  warnings: [{ code: 'unpriced', agent: one, message: two }],
  tree: [{ name: one, file: two, agents: [{ name: two, file: one, agents: [] }] }],
}));

const forbidden = /(?!\n)\p{Cc}|[\u202A-\u202E\u2066-\u2069]|\p{Cs}/u;

test('no text in a file can send a control character to the terminal', () =>
  fc.assert(
    fc.asyncProperty(hostileReport, hostile, async (report, words) => {
      const files: Partial<FileWorld> = {
        check: async () => report,
        import: async () => ({
          ok: false,
          to: words,
          files: [
            {
              from: words,
              to: words,
              what: 'agent',
              state: 'exists',
              notes: [{ kind: 'decide', line: 1, key: words, message: words }],
            },
          ],
        }),
        init: async () => ({ folder: words, template: words, files: [words, `${words}.ai`], next: [words] }),
        agentHelp: async () => ({
          name: words,
          description: words,
          usage: words,
          template: words,
          ...toolNames(words, ''),
        }),
      };
      for (const args of [
        ['check'],
        ['check', '--json'],
        ['agents'],
        ['init', 'x'],
        ['import', 'x'],
        ['lead.ai', '--help'],
      ]) {
        const { stdout, stderr } = await withFiles(args, files);
        expect((stdout + stderr).replaceAll('\t', '')).not.toMatch(forbidden);
      }
    }),
  ));

test('lines fit the terminal unless a word is longer, and colour needs a terminal', async () => {
  const report: Partial<CheckReport> = {
    ok: false,
    problems: [problem({ message: 'word '.repeat(60) })],
    cycles: [Array.from({ length: 19 }, (_, place) => `agent-number-${place}`)],
    warnings: [{ code: 'unpriced', agent: 'a', message: 'word '.repeat(60) }],
    tree: [{ name: 'n'.repeat(90), file: 'f'.repeat(90), agents: [] }],
    reach: {
      lead: { ...checkReport().reach['lead']!, tools: Array.from({ length: 40 }, (_, place) => `web/tool${place}`) },
    },
  };
  for (const columns of [40, 80, 120]) {
    const { screen } = await check(report, [], { tty: true, colour: true, columns });
    expect(emulate(screen, columns, 1_000).wrapped).toBe(false);
    expect(screen).toContain(`${escape}[`);
  }
  expect((await check(report)).screen).not.toContain(escape);
});
