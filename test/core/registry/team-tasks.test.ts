import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseYaml } from '#adapters/yaml';
import { parseTasksFile } from '#core/registry';

const parse = (path: string, text: string) => parseTasksFile(path, text, { parseYaml });

const task = fc.record(
  {
    title: fc.string(),
    description: fc.string(),
    id: fc.stringMatching(/^[a-z]{1,8}$/u),
    dependsOn: fc.array(fc.string()),
    priority: fc.integer(),
  },
  { requiredKeys: ['title'] },
);

describe('a task file', () => {
  test('parses the same as a list or under `tasks`, as JSON or YAML, on one line or many', () =>
    fc.assert(
      fc.property(
        fc.array(task, { minLength: 1 }),
        fc.option(fc.string()),
        fc.constantFrom(0, 1, 4),
        (tasks, goal, indent) => {
          const list = JSON.stringify(tasks, null, indent);
          const whole = JSON.stringify({ goal, tasks }, null, indent);
          for (const path of ['t.json', 't.yaml', 't.yml']) {
            expect(parse(path, list)).toMatchObject({ file: { goal: null, tasks }, problems: [] });
            expect(parse(path, whole)).toMatchObject({ file: { goal, tasks }, problems: [] });
          }
        },
      ),
    ));

  test.each([
    ['- title: A\n- title: B\n- title: C', [1, 2, 3]],
    ['# first\n\n---\n- title: A\n  description: |\n    - not a task\n- title: B\n- title: C', [4, 7, 8]],
    ['\uFEFF  - title: A\r\n  - title: B\r\n  - title: C\r\n', [1, 2, 3]],
    ['[\n{ title: A },\n\n{ title: B }, { title: C }]', [2, 4, 4]],
    ['goal: x\ntasks:\n  - title: A\n  - title: B\n\n  - title: C', [3, 4, 6]],
  ])('has the line of each task: %j', (text, lines) => {
    const { file, problems } = parse('t.yaml', text);
    expect(problems).toEqual([]);
    expect(file!.tasks).toMatchObject([{ title: 'A' }, { title: 'B' }, { title: 'C' }]);
    expect(lines.map((_, place) => file!.line(place))).toEqual(lines);
  });

  test('may be the --json output of a planning command', () => {
    const data = { goal: 'Bees', tasks: [{ title: 'A' }] };
    const printed = { run: 'abc', status: 'completed', output: '…', data, error: null };
    expect(parse('p.json', JSON.stringify(printed))).toMatchObject({ file: data, problems: [] });
  });
});

describe('a problem in a task file', () => {
  test.each([
    ['t.json', '{', /^null null: This is not JSON/u],
    ['t.json', '"x"', /Expected a list of tasks, or `goal` and `tasks`; got "x"/u],
    ['t.json', '{}', /tasks: The key `tasks` is missing/u],
    ['t.yaml', 'goal: x\ntaks: []\ntasks: []', /^2 taks: Unknown key `taks`.*tasks$/u],
    ['t.yaml', 'tasks: 3', /^1 tasks: Expected a list of tasks; got 3/u],
    ['t.yaml', 'goal: [1]\ntasks: []', /^1 goal: Expected text; got a list/u],
    ['t.yaml', '- a\n- !!js x', /^2 null: Tags are not allowed/u],
    ['t.yaml', '- a: 1\n  a: 2', /^2 null: Duplicate key `a`/u],
    ['t.yaml', 'x', /^1 null: Expected keys and values/u],
    ['t.yaml', `- title: ${'x'.repeat(130_000)}`, /Too long: the limit is 128000/u],
  ])('%s %j', (path, text, expected) => {
    const { file, problems } = parse(path, text);
    expect(file).toBeNull();
    expect(problems.map(({ line, key, message, nearest }) => `${line} ${key}: ${message}${nearest ?? ''}`)).toEqual([
      expect.stringMatching(expected),
    ]);
  });

  test('never throws, whatever the text', () =>
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        for (const given of [text, `- ${text}`, `[${text}]`, `# ${text}\n---\n- x`])
          for (const path of ['t.json', 't.yaml']) {
            const { file, problems } = parse(path, given);
            expect(file === null).toBe(problems.length > 0);
          }
      }),
    ));
});
