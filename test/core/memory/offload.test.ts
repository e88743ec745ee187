import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Sees } from '#contracts';
import type { ScriptedReply } from '#testkit';
import { agent, always, ask, call, calls, cheap, lastResults, lines, ofType, tool } from '../session/driver.ts';

type Options = NonNullable<Parameters<typeof agent>[1]>;

/** One agent with one tool that returns the given output. */
const askTool = async (output: any, replies: readonly (string | ScriptedReply)[], options: Options = {}) =>
  ask(agent('solo', { tools: [tool('dump', () => output)], ...options }), {
    says: [...lines({ solo: replies }), always('Done.')],
  });

test.for<[title: string, output: any, extension: string]>([
  ['one line of text', 'x'.repeat(100_000), 'txt'],
  ['JSON', { type: 'json', value: { rows: Array.from({ length: 9_000 }, (_, index) => index) } }, 'json'],
  ['a plain object', { rows: 'y'.repeat(100_000) }, 'json'],
  ['typed text', { type: 'text', value: 'é'.repeat(50_000) }, 'txt'],
])('100 KB of %s is shown as a short preview with the name to read the rest by', async ([, output, extension]) => {
  const { requests, outcome, events } = await askTool(output, [call('dump')]);
  const [result] = lastResults(requests);
  expect(Buffer.byteLength(result!.text)).toBeLessThan(2_048);
  expect(result!.text).toContain(`read_output {"name": "dump_001.${extension}"`);
  expect(ofType(events, 'tool-end')[0]).toMatchObject({ ok: true, output: `dump_001.${extension}` });
  expect(Buffer.byteLength(requests.at(-1)!.text)).toBeLessThan(6_000);
  expect(outcome.status).toBe('completed');
});

const page = /^([\s\S]*)\n\[bytes (\d+) to (\d+) of (\d+)\]$/u;

/** Reads an output as a model would: page by page, each from where the last one ended. */
const readAll = async (text: string, bytes: number | undefined, limits: Options['limits'] = {}) => {
  const pages: { from: number; text: string }[] = [];
  const says = [
    ...lines({ solo: [call('dump')] }),
    {
      reply: ({ toolResults }: { toolResults: readonly { text: string }[] }) => {
        const read = page.exec(toolResults[0]!.text);
        if (read !== null) pages.push({ from: Number(read[2]), text: read[1]! });
        const next = read === null ? 0 : Number(read[3]);
        if (read !== null && (next >= Number(read[4]) || pages.length > 400)) return 'All read.';
        return call('read_output', { name: 'dump_001.txt', from: next, ...(bytes && { bytes }) });
      },
    },
  ];
  const { outcome } = await ask(
    agent('solo', { tools: [tool('dump', () => text)], limits: { maxToolTurns: 500, maxRetries: 0, ...limits } }),
    { says, listen: false },
  );
  return { outcome, pages };
};

test('read_output pages through an output and returns every byte of it, whatever its characters', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'binary', minLength: 50, maxLength: 120 }), { minLength: 2, maxLength: 3 }),
      fc.option(fc.integer({ min: 16, max: 400 }), { nil: undefined }),
      async (texts, bytes) => {
        const text = texts.join('').padEnd(130, '€😀');
        const { outcome, pages } = await readAll(text, bytes, { max_tokens_per_step: 32 });
        expect(outcome.output).toBe('All read.');
        const read = Buffer.concat(pages.map((one) => Buffer.from(one.text)));
        expect(read.equals(Buffer.from(text))).toBe(true);
        let at = 0;
        for (const one of pages) {
          expect(one.from).toBe(at);
          at += Buffer.byteLength(one.text);
        }
      },
    ),
    { numRuns: 25 },
  ));

test('the preview and the first page after it join without a gap', async () => {
  const text = 'añ€😀'.repeat(4_000);
  const { requests } = await askTool(text, [
    call('dump'),
    call('read_output', { name: 'dump_001.txt', from: 1_199, bytes: 500 }),
  ]);
  const [preview, next] = lastResults(requests);
  const [shown, note] = preview!.text.split('\n[');
  expect(text.startsWith(shown!)).toBe(true);
  expect(note).toContain(`"from": ${Buffer.byteLength(shown!)}`);
  const [, body, from] = page.exec(next!.text)!;
  const bytes = Buffer.from(text);
  expect(bytes.toString('utf8', Number(from), Number(from) + Buffer.byteLength(body!))).toBe(body);
});

test.for([
  ['an unknown name', { name: 'other_001.txt' }, 'file_missing', 'No such file or output'],
  ['a path', { name: '../dump_001.txt' }, 'file_missing', 'No such file or output'],
  ['an offset past the end', { name: 'dump_001.txt', from: 200_001 }, 'tool_arguments', 'past the end'],
  ['a negative offset', { name: 'dump_001.txt', from: -1 }, 'tool_arguments', 'invalid'],
  ['a fractional offset', { name: 'dump_001.txt', from: 1.5 }, 'tool_arguments', 'invalid'],
  ['no name', {}, 'tool_arguments', 'invalid'],
] as const)('read_output with %s is an error that names the problem', async ([, args, code, words]) => {
  const { requests, events } = await askTool('x'.repeat(200_000), [call('dump'), call('read_output', args)]);
  expect(lastResults(requests)[1]).toMatchObject({ type: 'error-text', text: expect.stringContaining(words) });
  expect(ofType(events, 'tool-end')[1]).toMatchObject({ ok: false, error: { code } });
});

test('a cell reads only its own outputs: another cell’s output of the same name does not exist for it', async () => {
  const dump = tool('dump', () => 'secret'.repeat(20_000));
  const child = agent('child', { tools: [tool('other', () => 'x')] });
  const { requests } = await ask(agent('lead', { tools: [dump], agents: [child] }), {
    says: lines({
      lead: [call('dump'), call('child', { prompt: 'Read it' }), 'Done.'],
      child: [call('read_output', { name: 'dump_001.txt' }), 'I could not.'],
    }),
  });
  const child2 = requests.filter(({ text }) => text.includes('Your task: Read it')).at(-1)!;
  expect(child2.text).toContain('No such file or output');
  expect(child2.text).not.toContain('secret');
});

test('equal outputs are stored once, and named, counted and read as if each were alone', async () => {
  const text = 'z'.repeat(50_000);
  const two = await askTool(text, [calls('dump', 'dump'), call('read_output', { name: 'dump_002.txt', from: 49_990 })]);
  const [first, second, read] = lastResults(two.requests);
  expect(second!.text).toBe(first!.text.replace('dump_001', 'dump_002'));
  expect(read!.text).toBe('zzzzzzzzzz\n[bytes 49990 to 50000 of 50000]');
  expect(two.outcome.spent.steps).toBe(3);
  const ends = ofType(two.events, 'tool-end').map(({ output, bytesOut }) => ({ output, bytes: bytesOut }));
  expect(ends.slice(0, 2)).toEqual([
    { output: 'dump_001.txt', bytes: ends[0]!.bytes },
    { output: 'dump_002.txt', bytes: ends[0]!.bytes },
  ]);
});

test('a failing tool’s own text is shown in the prompt', async () => {
  const fail = tool('fail', () => {
    throw new Error('Disk 7 is on fire.');
  });
  const { requests, cloister, report } = await ask(agent('solo', { tools: [fail] }), {
    says: lines({ solo: [call('fail'), 'It failed.'] }),
  });
  expect(lastResults(requests)[0]).toMatchObject({
    type: 'error-text',
    text: expect.stringContaining('Disk 7 is on fire.'),
  });
  // The error text is told only to those who may see causes.
  const told = async (sees: Sees) => JSON.stringify((await cloister.show(report.run, { sees })).events);
  expect(await told('answers')).not.toContain('Disk 7');
  expect(await told('causes')).toContain('Disk 7');
});

test('the text of a failing tool is shortened when long: 100 KB of it do not fill the prompt', async () => {
  const fail = tool('fail', () => {
    throw new Error(`Disk 7 is on fire. ${'x'.repeat(100_000)}`);
  });
  const { requests } = await ask(agent('solo', { tools: [fail] }), {
    says: lines({ solo: [call('fail'), 'It failed.'] }),
  });
  expect(lastResults(requests)[0]!.text).toContain('Disk 7 is on fire.');
  expect(Buffer.byteLength(lastResults(requests)[0]!.text)).toBeLessThan(16_100);
});

test('a child’s long answer is shown as a preview, framed as data, and its parent can page through it', async () => {
  const answer = `${'long and winding '.repeat(3_000)}the end`;
  const { requests, outcome } = await ask(agent('lead', { agents: [agent('child')] }), {
    says: lines({
      lead: [
        call('child', { prompt: 'Talk' }),
        call('read_output', { name: 'child_001.txt', from: answer.length - 7 }),
        'Read.',
      ],
      child: [cheap({ text: answer })],
    }),
  });
  const [shown, read] = lastResults(requests);
  expect(Buffer.byteLength(shown!.text)).toBeLessThan(2_048);
  expect(shown!.text).toContain('| long and winding');
  expect(read!.text).toMatch(/(?:^|\| )the end\n/u);
  expect(outcome.status).toBe('completed');
});

test.for([100, 300, 2_000])(
  'a text that was cut in the middle of a character (%i of them) is shown as it is stored',
  async (times) => {
    const cut = '😀'.repeat(times).slice(0, -1);
    const { requests, audit } = await askTool(cut, [call('dump')], { limits: { max_tokens_per_step: 200 } });
    expect(audit.ok).toBe(true);
    expect(lastResults(requests)[0]!.text.isWellFormed()).toBe(true);
  },
);
