// What a log says about the files that its cells wrote, told from hand-written logs and from broken ones.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CellId } from '#base';
import type { AgentDefinition, Frame } from '#contracts';
import { writtenFiles } from '#core/audit';
import { builtinSchemas } from '#core/session';
import { birthOf, definitionOf, FrameWriter, lead, researcher, usage } from './frames.ts';
import type { Call } from './frames.ts';

const writer: AgentDefinition = { ...definitionOf('You write.', ['search']), tools: [builtinSchemas.write_file] };

const call = (name: string, args: object | string): Call => ({
  type: 'call',
  id: 'c',
  name,
  input: typeof args === 'string' ? args : JSON.stringify(args),
});
const write = (path: string, content: string): Call => call('write_file', { path, content });

/** A log of one cell, written turn by turn; steps settle when the case says so. */
class Log extends FrameWriter {
  readonly cell: CellId;
  constructor(definition: AgentDefinition = writer, cell = lead) {
    super();
    this.cell = cell;
    this.open(birthOf(cell, null, definition, {}), definition, 'Write.');
  }
  asks(...calls: readonly Call[]): void {
    this.reply(this.cell, this.attempt(this.cell, 1, []), calls, usage(1, 1));
  }
  begins({ name, input }: Call, about = aboutOf(input)): number {
    return this.begin(this.cell, { do: 'step', name: `tool:${name}`, repeat: 'free', about: { tool: name, ...about } });
  }
  done(op: number): void {
    this.settle(this.cell, op, { ok: true, value: { text: 'Wrote.' } });
  }
  fails(op: number, code: 'file_refused' | 'tool_timeout' | 'cancelled' | 'deadline_passed' | 'store_failed'): void {
    this.settle(this.cell, op, { ok: false, failure: { code } });
  }
}

const aboutOf = (input: string) =>
  input.length <= 500 ? { args: input } : { args: `${input.slice(0, 500)}…`, argsChars: input.length };

const told = ({ frames }: { readonly frames: readonly Frame[] }, cell = lead) => {
  const { files, maybe, outputs, problems } = writtenFiles(frames).get(cell)!;
  return {
    files: [...files].map(([path, { content, op }]) => `${path}=${content} (${op})`),
    maybe: [...maybe].flatMap(([path, some]) => some.map(({ content, op }) => `${path}=${content} (${op})`)),
    outputs: [...outputs],
    problems,
  };
};

const nothing = { files: [], maybe: [], outputs: [], problems: [] };

test('a later write replaces an earlier one, and files come in the order in which they settled', () => {
  const log = new Log();
  const asked = [write('a', '1'), write('b', '2'), write('a', '3')];
  log.asks(...asked);
  for (const one of asked) log.done(log.begins(one));
  expect(told(log)).toEqual({ ...nothing, files: ['b=2 (2)', 'a=3 (3)'] });
});

test('of writes that settle in another order than they began, the last to settle is the file, and the other may lie there', () => {
  const log = new Log();
  const asked = [write('a', 'first'), write('a', 'second')];
  log.asks(...asked);
  const [first, second] = asked.map((one) => log.begins(one));
  log.done(second!);
  log.done(first!);
  expect(told(log)).toEqual({ ...nothing, files: ['a=first (1)'], maybe: ['a=second (2)'] });
});

test('a write in flight, stopped or failed midway may have changed its file; one that was refused has not', () => {
  for (const [code, maybe] of [
    [null, ['a=2 (3)']],
    ['file_refused', []],
    ['store_failed', ['a=2 (3)']],
    ['tool_timeout', ['a=2 (3)']],
    ['deadline_passed', ['a=2 (3)']],
    ['cancelled', ['a=2 (3)']],
  ] as const) {
    const log = new Log();
    log.asks(write('a', '1'));
    log.done(log.begins(write('a', '1')));
    log.asks(write('a', '2'));
    const op = log.begins(write('a', '2'));
    if (code !== null) log.fails(op, code);
    expect(told(log), String(code)).toEqual({ ...nothing, files: ['a=1 (1)'], maybe });
  }
});

test('a write that was stopped may still land after a later one has settled', () => {
  const log = new Log();
  log.asks(write('a', 'late'));
  log.fails(log.begins(write('a', 'late')), 'tool_timeout');
  log.asks(write('a', 'next'));
  log.done(log.begins(write('a', 'next')));
  expect(told(log)).toEqual({ ...nothing, files: ['a=next (3)'], maybe: ['a=late (1)'] });
});

test('calls of other tools stand between, before and after without being taken for writes', () => {
  const log = new Log();
  const asked = [call('search', {}), write('a', '1'), call('search', '{"path":"b"}'), write('b', '2')];
  log.asks(...asked);
  for (const one of asked) log.done(log.begins(one));
  expect(told(log)).toEqual({ ...nothing, files: ['a=1 (2)', 'b=2 (4)'] });
});

test('arguments that the schema refuses write nothing, and the writes after them keep their own', () => {
  const log = new Log();
  const asked = [call('write_file', 'no json'), call('write_file', { path: 1, content: '' }), write('a', '1')];
  log.asks(...asked);
  for (const [index, one] of asked.entries()) {
    const op = log.begins(one);
    if (index === 2) log.done(op);
    else log.fails(op, 'file_refused');
  }
  expect(told(log)).toEqual({ ...nothing, files: ['a=1 (3)'] });
});

test('the whole content is told, however much of it the step itself shows', () => {
  const log = new Log();
  const content = 'é😀"\n'.repeat(5_000);
  log.asks(write('a', content));
  log.done(log.begins(write('a', content)));
  const file = writtenFiles(log.frames).get(lead)!.files.get('a');
  expect(file).toMatchObject({ content, bytes: Buffer.byteLength(content), op: 1 });
});

test('an agent’s own tool of that name writes nothing into its cell', () => {
  const log = new Log(definitionOf('You write elsewhere.', ['write_file']));
  log.asks(write('a', '1'));
  log.done(log.begins(write('a', '1')));
  expect(told(log)).toEqual(nothing);
});

test('files are in sight of agents that have a file tool, and of no others', () => {
  const inSight = (tools: readonly string[]) =>
    writtenFiles(new Log(definitionOf('You look.', tools)).frames).get(lead)!.inSight;
  expect([['read_file'], ['list_files'], ['search', 'write_file']].map(inSight)).toEqual([true, true, true]);
  expect([[], ['search'], ['read_output']].map(inSight)).toEqual([false, false, false]);
});

test('every cell has its own files, and outputs are told apart from them', () => {
  const log = new Log();
  const child = log.begin(
    lead,
    { do: 'child', name: 'agent:researcher', birth: birthOf(researcher, lead, writer, {}) },
    { ids: [researcher] },
  );
  log.reply(researcher, log.attempt(researcher, 1, []), [write('a', 'child')], usage(1, 1));
  log.asks(write('a', 'lead'));
  const own = log.begins(write('a', 'lead'));
  const { input } = write('a', 'child');
  log.tool(researcher, 'write_file', { args: input }, { text: 'Wrote 5 bytes.' });
  log.tool(researcher, 'search', { args: '{}' }, log.keep('x'.repeat(9_000), 'search_001.txt'));
  expect(told(log, researcher)).toEqual({ ...nothing, files: ['a=child (1)'], outputs: ['search_001.txt'] });
  expect(told(log)).toEqual({ ...nothing, maybe: ['a=lead (2)'] });
  expect([child, own]).toEqual([0, 2]);
});

test.for<[title: string, make: (log: Log) => void, problem: RegExp]>([
  [
    'there is no call for it',
    (log) => log.done(log.begins(write('a', '1'))),
    /operation 0 writes a file, but the call/u,
  ],
  [
    'its call is another',
    (log) => {
      log.asks(write('a', '1'));
      log.done(log.begins(write('a', '2')));
    },
    /operation 1 writes a file, but the call/u,
  ],
  [
    'its call is longer',
    (log) => {
      log.asks(write('a', 'x'.repeat(900)));
      log.done(log.begins(write('a', 'x'.repeat(901))));
    },
    /operation 1 writes a file, but the call/u,
  ],
  [
    'its call has no path',
    (log) => {
      log.asks(call('write_file', { content: '1' }));
      log.done(log.begins(call('write_file', { content: '1' })));
    },
    /operation 1 wrote a file, but the log does not say which/u,
  ],
  [
    'the reply cannot be read',
    (log) => log.settle(lead, log.attempt(lead, 1, []), { ok: true, value: { parts: 'none' } }),
    /^frame 2: /u,
  ],
])('a write of which the log does not tell enough is a problem, and no file: %s', ([, make, problem]) => {
  const log = new Log();
  make(log);
  const { files, maybe, problems } = told(log);
  expect({ files, maybe }).toEqual({ files: [], maybe: [] });
  expect(problems[0]).toMatch(problem);
});

const workload = (): readonly Frame[] => {
  const log = new Log();
  const asked = [write('a', '1'), call('search', {}), write('b/c', 'x'.repeat(600)), write('a', '2')];
  log.asks(...asked);
  const begun = asked.map((one) => log.begins(one));
  log.fails(begun[2]!, 'cancelled');
  log.done(begun[0]!);
  log.asks(write('d', '4'));
  log.done(log.begins(write('d', '4')));
  return log.frames;
};

/** Any value of a log replaced by any other. */
const broken = (frames: readonly Frame[], place: number, value: unknown): readonly Frame[] => {
  const places: { readonly holder: Record<string, unknown>; readonly key: string }[] = [];
  const copy = JSON.parse(JSON.stringify(frames)) as readonly Frame[];
  const walk = (holder: Record<string, unknown>): void => {
    for (const key of Object.keys(holder)) {
      places.push({ holder, key });
      if (typeof holder[key] === 'object' && holder[key] !== null) walk(holder[key] as Record<string, unknown>);
    }
  };
  walk(copy as never);
  const { holder, key } = places[place % places.length]!;
  holder[key] = value;
  return copy;
};

test('no log makes it throw, whatever value stands wherever', () => {
  const frames = workload();
  fc.assert(
    fc.property(fc.nat(), fc.jsonValue(), fc.nat(), fc.jsonValue(), (place, value, other, more) => {
      const some = broken(broken(frames, place, value), other, more);
      for (const { files, maybe } of writtenFiles(some).values())
        for (const file of [...files.values(), ...[...maybe.values()].flat()])
          expect(file.bytes).toBe(Buffer.byteLength(file.content));
    }),
    { numRuns: 1_000 },
  );
  expect(writtenFiles([]).size).toBe(0);
  expect(writtenFiles(fc.sample(fc.jsonValue(), 100) as unknown as readonly Frame[]).size).toBe(0);
});

test('a record cut anywhere tells the files of what was settled by then', () => {
  const frames = workload();
  const records = frames.map(({ record }) => record);
  for (let length = 1; length <= frames.length; length++) {
    const { files, maybe } = told({ frames: frames.slice(0, length) });
    const settled = (op: number) =>
      records.slice(0, length).some((record) => record.type === 'settle' && record.op === op && record.ok);
    expect(files).toEqual([...(settled(1) ? ['a=1 (1)'] : []), ...(settled(6) ? ['d=4 (6)'] : [])]);
    expect(maybe.every((one) => /^(?:a|b\/c|d)=/u.test(one))).toBe(true);
  }
});
