// What a log records about files that its cells wrote, from hand-written logs and from broken ones.
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
  requestCalls(...calls: readonly Call[]): void {
    this.reply(this.cell, this.attempt(this.cell, 1, []), calls, usage(1, 1));
  }
  beginCall({ name, input }: Call, about = aboutOf(input)): number {
    return this.begin(this.cell, { do: 'step', name: `tool:${name}`, repeat: 'free', about: { tool: name, ...about } });
  }
  complete(op: number): void {
    this.settle(this.cell, op, { ok: true, value: { text: 'Wrote.' } });
  }
  fail(op: number, code: 'file_refused' | 'tool_timeout' | 'cancelled' | 'deadline_passed' | 'store_failed'): void {
    this.settle(this.cell, op, { ok: false, failure: { code } });
  }
}

const aboutOf = (input: string) =>
  input.length <= 500 ? { args: input } : { args: `${input.slice(0, 500)}…`, argsChars: input.length };

const describeFiles = ({ frames }: { readonly frames: readonly Frame[] }, cell = lead) => {
  const { files, possible, outputs, problems } = writtenFiles(frames).get(cell)!;
  return {
    files: [...files].map(([path, { content, op }]) => `${path}=${content} (${op})`),
    maybe: [...possible].flatMap(([path, some]) => some.map(({ content, op }) => `${path}=${content} (${op})`)),
    outputs: [...outputs.keys()],
    problems,
  };
};

const nothing = { files: [], maybe: [], outputs: [], problems: [] };

test('a later write replaces an earlier one, and files are listed in the order in which they settled', () => {
  const log = new Log();
  const asked = [write('a', '1'), write('b', '2'), write('a', '3')];
  log.requestCalls(...asked);
  for (const one of asked) log.complete(log.beginCall(one));
  expect(describeFiles(log)).toEqual({ ...nothing, files: ['b=2 (2)', 'a=3 (3)'] });
});

// invariant: written-files-uncertain-apart
test('when writes settle out of order, the last to settle is the file, and the other one is possible', () => {
  const log = new Log();
  const asked = [write('a', 'first'), write('a', 'second')];
  log.requestCalls(...asked);
  const [first, second] = asked.map((one) => log.beginCall(one));
  log.complete(second!);
  log.complete(first!);
  expect(describeFiles(log)).toEqual({ ...nothing, files: ['a=first (1)'], maybe: ['a=second (2)'] });
});

// invariant: written-files-uncertain-apart
test('a write that was in flight, stopped or failed midway may have changed its file; a refused one has not', () => {
  for (const [code, maybe] of [
    [null, ['a=2 (3)']],
    ['file_refused', []],
    ['store_failed', ['a=2 (3)']],
    ['tool_timeout', ['a=2 (3)']],
    ['deadline_passed', ['a=2 (3)']],
    ['cancelled', ['a=2 (3)']],
  ] as const) {
    const log = new Log();
    log.requestCalls(write('a', '1'));
    log.complete(log.beginCall(write('a', '1')));
    log.requestCalls(write('a', '2'));
    const op = log.beginCall(write('a', '2'));
    if (code !== null) log.fail(op, code);
    expect(describeFiles(log), String(code)).toEqual({ ...nothing, files: ['a=1 (1)'], maybe });
  }
});

test('a stopped write may still take effect after a later one has settled', () => {
  const log = new Log();
  log.requestCalls(write('a', 'late'));
  log.fail(log.beginCall(write('a', 'late')), 'tool_timeout');
  log.requestCalls(write('a', 'next'));
  log.complete(log.beginCall(write('a', 'next')));
  expect(describeFiles(log)).toEqual({ ...nothing, files: ['a=next (3)'], maybe: ['a=late (1)'] });
});

test('calls of other tools before, between and after writes are not mistaken for writes', () => {
  const log = new Log();
  const asked = [call('search', {}), write('a', '1'), call('search', '{"path":"b"}'), write('b', '2')];
  log.requestCalls(...asked);
  for (const one of asked) log.complete(log.beginCall(one));
  expect(describeFiles(log)).toEqual({ ...nothing, files: ['a=1 (2)', 'b=2 (4)'] });
});

// invariant: written-files-from-replies
test('arguments that the schema rejects write nothing, and later writes keep their own arguments', () => {
  const log = new Log();
  const asked = [call('write_file', 'no json'), call('write_file', { path: 1, content: '' }), write('a', '1')];
  log.requestCalls(...asked);
  for (const [index, one] of asked.entries()) {
    const op = log.beginCall(one);
    if (index === 2) log.complete(op);
    else log.fail(op, 'file_refused');
  }
  expect(describeFiles(log)).toEqual({ ...nothing, files: ['a=1 (3)'] });
});

test('the whole content is reported, however much of it the step itself shows', () => {
  const log = new Log();
  const content = 'é😀"\n'.repeat(5_000);
  log.requestCalls(write('a', content));
  log.complete(log.beginCall(write('a', content)));
  const file = writtenFiles(log.frames).get(lead)!.files.get('a');
  expect(file).toMatchObject({ content, bytes: Buffer.byteLength(content), op: 1 });
});

test('an agent’s own tool of the same name writes nothing into its cell', () => {
  const log = new Log(definitionOf('You write elsewhere.', ['write_file']));
  log.requestCalls(write('a', '1'));
  log.complete(log.beginCall(write('a', '1')));
  expect(describeFiles(log)).toEqual(nothing);
});

test('files are visible to agents that have a file tool, and to no others', () => {
  const inSight = (tools: readonly string[]) =>
    writtenFiles(new Log(definitionOf('You look.', tools)).frames).get(lead)!.hasFileTools;
  expect([['read_file'], ['list_files'], ['search', 'write_file']].map(inSight)).toEqual([true, true, true]);
  expect([[], ['search'], ['read_output']].map(inSight)).toEqual([false, false, false]);
});

test('every cell has its own files, and outputs are distinguished from them', () => {
  const log = new Log();
  const child = log.begin(
    lead,
    { do: 'child', name: 'agent:researcher', birth: birthOf(researcher, lead, writer, {}) },
    { ids: [researcher] },
  );
  log.reply(researcher, log.attempt(researcher, 1, []), [write('a', 'child')], usage(1, 1));
  log.requestCalls(write('a', 'lead'));
  const own = log.beginCall(write('a', 'lead'));
  const { input } = write('a', 'child');
  log.tool(researcher, 'write_file', { args: input }, { text: 'Wrote 5 bytes.' });
  log.tool(researcher, 'search', { args: '{}' }, log.offload('x'.repeat(9_000), 'search_001.txt'));
  expect(describeFiles(log, researcher)).toEqual({ ...nothing, files: ['a=child (1)'], outputs: ['search_001.txt'] });
  expect(describeFiles(log)).toEqual({ ...nothing, maybe: ['a=lead (2)'] });
  expect([child, own]).toEqual([0, 2]);
});

test.for<[title: string, make: (log: Log) => void, problem: RegExp]>([
  [
    'there is no call for it',
    (log) => log.complete(log.beginCall(write('a', '1'))),
    /operation 0 writes a file, but its call/u,
  ],
  [
    'its call is a different one',
    (log) => {
      log.requestCalls(write('a', '1'));
      log.complete(log.beginCall(write('a', '2')));
    },
    /operation 1 writes a file, but its call/u,
  ],
  [
    'its call is longer',
    (log) => {
      log.requestCalls(write('a', 'x'.repeat(900)));
      log.complete(log.beginCall(write('a', 'x'.repeat(901))));
    },
    /operation 1 writes a file, but its call/u,
  ],
  [
    'its call has no path',
    (log) => {
      log.requestCalls(call('write_file', { content: '1' }));
      log.complete(log.beginCall(call('write_file', { content: '1' })));
    },
    /operation 1 wrote a file, but the log does not say which/u,
  ],
  [
    'the reply cannot be read',
    (log) => log.settle(lead, log.attempt(lead, 1, []), { ok: true, value: { parts: 'none' } }),
    /^frame 2: /u,
  ],
])('a write whose record is incomplete is a problem, and no file: %s', ([, make, problem]) => {
  const log = new Log();
  make(log);
  const { files, maybe, problems } = describeFiles(log);
  expect({ files, maybe }).toEqual({ files: [], maybe: [] });
  expect(problems[0]).toMatch(problem);
});

const workload = (): readonly Frame[] => {
  const log = new Log();
  const asked = [write('a', '1'), call('search', {}), write('b/c', 'x'.repeat(600)), write('a', '2')];
  log.requestCalls(...asked);
  const begun = asked.map((one) => log.beginCall(one));
  log.fail(begun[2]!, 'cancelled');
  log.complete(begun[0]!);
  log.requestCalls(write('d', '4'));
  log.complete(log.beginCall(write('d', '4')));
  return log.frames;
};

/** The log with one value, anywhere, replaced by another. */
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

// invariant: written-files-never-throw
test('no log makes it throw, whatever value stands anywhere', () => {
  const frames = workload();
  fc.assert(
    fc.property(fc.nat(), fc.jsonValue(), fc.nat(), fc.jsonValue(), (place, value, other, more) => {
      const some = broken(broken(frames, place, value), other, more);
      for (const { files, possible } of writtenFiles(some).values())
        for (const file of [...files.values(), ...[...possible.values()].flat()])
          expect(file.bytes).toBe(Buffer.byteLength(file.content));
    }),
    { numRuns: 1_000 },
  );
  expect(writtenFiles([]).size).toBe(0);
  expect(writtenFiles(fc.sample(fc.jsonValue(), 100) as unknown as readonly Frame[]).size).toBe(0);
});

test('a log cut anywhere reports the files that had settled by then', () => {
  const frames = workload();
  const records = frames.map(({ record }) => record);
  for (let length = 1; length <= frames.length; length++) {
    const { files, maybe } = describeFiles({ frames: frames.slice(0, length) });
    const settled = (op: number) =>
      records.slice(0, length).some((record) => record.type === 'settle' && record.op === op && record.ok);
    expect(files).toEqual([...(settled(1) ? ['a=1 (1)'] : []), ...(settled(6) ? ['d=4 (6)'] : [])]);
    expect(maybe.every((one) => /^(?:a|b\/c|d)=/u.test(one))).toBe(true);
  }
});
