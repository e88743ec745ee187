import { describe, expect, test } from 'vitest';
import { ScriptError, rehearse } from '#testkit';
import type { Script } from '#testkit';
import { askFor, failureOf, readParts } from './driver.ts';

const problemsOf = (script: unknown): readonly string[] => {
  try {
    rehearse(script as Script);
  } catch (error) {
    if (error instanceof ScriptError) return error.problems;
    throw error;
  }
  return [];
};

const yaml = `
strict: false
modelId: small
price: { input: 1, output: 2 }
lines:
  - when: { agent: lead, turn: 1 }
    times: 1
    reply: { fault: 429, retryAfterMs: 100 }
  - when: { agent: lead, turn: 1 }
    reply:
      reasoning: Let me look.
      text: "Looking for {{goal}}."
      calls:
        - { tool: find, args: { query: "{{goal}}", limit: 3 } }
        - { tool: read, id: mine }
  - when:
      pattern: /GREEN/i
    reply:
      pieces: ["Found ", "{{results}}"]
      usage: { input: 10, output: 2, cacheRead: 4 }
  - reply: Nothing more to say.
`;

const typed: Script = {
  strict: false,
  modelId: 'small',
  price: { input: 1, output: 2 },
  lines: [
    { when: { agent: 'lead', turn: 1 }, times: 1, reply: { fault: 429, retryAfterMs: 100 } },
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        reasoning: 'Let me look.',
        text: 'Looking for {{goal}}.',
        calls: [
          { tool: 'find', args: { query: '{{goal}}', limit: 3 } },
          { tool: 'read', id: 'mine' },
        ],
      },
    },
    {
      when: { pattern: /GREEN/i },
      reply: { pieces: ['Found ', '{{results}}'], usage: { input: 10, output: 2, cacheRead: 4 } },
    },
    { reply: 'Nothing more to say.' },
  ],
};

test('a script in YAML behaves like the same script in TypeScript', async () => {
  const play = async (script: Script | string) => {
    const model = rehearse(script);
    const asks = [
      askFor(),
      askFor(),
      askFor({ turns: [{ find: 'green tea', read: 'leaf' }] }),
      askFor({ agent: 'other' }),
    ];
    const heard: unknown[] = [];
    for (const asked of asks) {
      const parts = readParts(model, asked).catch((error: unknown) => (error as { statusCode: number }).statusCode);
      heard.push(await parts);
    }
    return { heard, name: model.modelId, price: model.model.price };
  };
  const [fromYaml, fromTypes] = [await play(yaml), await play(typed)];
  expect(fromYaml).toEqual(fromTypes);
  expect(JSON.stringify(fromYaml)).toContain('green tea\\nleaf');
  expect(fromYaml.heard[0]).toBe(429);
});

describe('a script that is not valid', () => {
  test.each<[string, unknown, string]>([
    ['an unknown key', [{ reply: { txet: 'a', text: 'a' } }], 'lines[0].reply.txet: unknown key; did you mean "text"?'],
    [
      'a key of another place',
      [{ agent: 'a', reply: 'a' }],
      'lines[0].agent: unknown key. Known keys: when, times, reply.',
    ],
    ['a missing reply', [{ reply: 'a' }, { when: { turn: 1 } }], 'lines[1]: expected a reply; got nothing.'],
    ['a reply without content', [{ reply: {} }], 'lines[0].reply: expected at least one of text'],
    ['text and pieces', [{ reply: { text: 'a', pieces: [] } }], 'lines[0].reply: expected text or pieces; got both.'],
    [
      'a turn from zero',
      [{ when: { turn: 0 }, reply: 'a' }],
      'lines[0].when.turn: expected a whole number, 1 or more; got 0.',
    ],
    [
      'an unknown fault',
      [{ reply: { fault: 'cutt' } }],
      'lines[0].reply.fault: expected an HTTP status from 400 to 599, or network',
    ],
    ['a status that is no fault', [{ reply: { fault: 200 } }], 'lines[0].reply.fault: expected an HTTP status'],
    [
      'a broken pattern',
      [{ when: { pattern: '/(/' }, reply: 'a' }],
      'lines[0].when.pattern: expected a regular expression',
    ],
    [
      'a pattern without slashes',
      [{ when: { pattern: 'x' }, reply: 'a' }],
      'lines[0].when.pattern: expected a regular expression',
    ],
    [
      'a call without a tool',
      [{ reply: { calls: [{ args: {} }] } }],
      'lines[0].reply.calls[0]: expected the name of a tool',
    ],
    [
      'arguments that are no object',
      [{ reply: { calls: [{ tool: 'a', args: '{}' }] } }],
      'calls[0].args: expected an object with fields; got "{}".',
    ],
    ['a piece that is not a string', [{ reply: { pieces: ['a', 2] } }], 'lines[0].reply.pieces[1]: expected a string'],
    [
      'more cached than there is',
      [{ reply: { text: 'a', usage: { input: 1, cacheRead: 2 } } }],
      'lines[0].reply.usage: expected cacheRead',
    ],
    [
      'retryAfterMs without a status',
      [{ reply: { text: 'a', retryAfterMs: 1 } }],
      'lines[0].reply.retryAfterMs: expected a fault',
    ],
    ['a price without output', { lines: [], price: { input: 1 } }, 'price: expected output'],
    ['no lines', { strict: true }, 'the script: expected lines; got nothing.'],
    ['no script', 42, 'the script: expected an object with any of lines, strict'],
    ['no line', ['a'], 'lines[0]: expected an object with any of when, times, reply; got "a".'],
    ['a dangerous key', JSON.parse('[{"reply":"a","__proto__":{}}]'), 'lines[0].__proto__: unknown key.'],
  ])('with %s is reported with its place', (_, script, problem) => {
    const problems = problemsOf(script);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  test('is reported with all its problems', () => {
    expect(problemsOf([{ reply: { delayMs: -1, text: 1 }, times: 0 }])).toHaveLength(3);
  });

  test('in YAML is reported with the row', () => {
    expect(problemsOf('lines:\n  - reply: a\n  - reply:\n      text: b\n      dealyMs: 3\n')).toEqual([
      expect.stringMatching(/^line 5, lines\[1\]\.reply\.dealyMs: unknown key; did you mean "delayMs"\?/u),
    ]);
    expect(problemsOf('- reply: a\n\n- when: { turn: two }\n  reply: b\n')).toEqual([
      expect.stringMatching(/^line 3, lines\[1\]\.when\.turn: expected a whole number/u),
    ]);
    expect(problemsOf('- reply: a\n- times: 1\n')).toEqual(['line 2, lines[1]: expected a reply; got nothing.']);
    expect(problemsOf('- reply: {{goal}}\n')[0]).toMatch(/^line 1, .*must be quoted/u);
    expect(problemsOf('')).toHaveLength(1);
  });

  test('that is not YAML is reported with the row', () => {
    expect(problemsOf('lines:\n  - reply: "a\n')[0]).toMatch(/^line \d: /u);
    expect(problemsOf('lines: [\nstrict')[0]).toMatch(/^line \d: /u);
  });

  test('because a function returned an invalid reply is reported with its line', async () => {
    const model = rehearse([{ reply: 'a', times: 1 }, { reply: () => ({ txt: 'b' }) as never }]);
    await readParts(model, askFor());
    const failure = await failureOf(model.doStream(askFor()));
    expect(failure).toBeInstanceOf(ScriptError);
    expect(failure.problems[0]).toContain('lines[1].reply().txt: unknown key; did you mean "text"?');
  });
});
