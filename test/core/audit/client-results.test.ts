// Logs in which a call of a client's tool, or its result, was changed.
// invariants: audit-client-results
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { recordFormats } from '#base';
import type { Json } from '#base';
import type { Frame, RecordOf, RecordType } from '#contracts';
import { auditRun } from '#core/audit';
import { fixtureFrames } from '../../fixtures/scenarios.ts';

const folder = fileURLToPath(new URL(`../../fixtures/workspaces/format-${recordFormats.newest}`, import.meta.url));

/** The recorded run of a client with tools: two calls, of which one failed, and one of a tool that came later. */
const recorded = (): readonly Frame[] => {
  const all = Object.values(Object.groupBy(fixtureFrames(folder), ({ run }) => run)).map((frames) => frames!);
  return all.find(([first]) => first!.record.type === 'open' && first!.record.birth.agent === 'served')!;
};

const problemsIn = async (frames: readonly Frame[]): Promise<readonly string[]> => {
  const { problems } = await auditRun(frames, { readBlob: async () => new Uint8Array(), damaged: [] });
  return problems.filter(({ code }) => code.startsWith('question')).map(({ message }) => message);
};

/** Changes the nth record of a type. */
const changed = <T extends RecordType>(
  type: T,
  nth: number,
  change: (record: RecordOf<T>) => object,
): readonly Frame[] => {
  let count = 0;
  return recorded().map((frame) =>
    frame.record.type === type && count++ === nth
      ? { ...frame, record: { ...frame.record, ...change(frame.record as RecordOf<T>) } }
      : frame,
  );
};

/** The nth step that records a result. */
const changedResult = (nth: number, change: (record: RecordOf<'settle'>) => object): readonly Frame[] => {
  const steps = recorded().flatMap(({ record }) =>
    record.type === 'begin' && record.do === 'step' && record.name.startsWith('tool:') ? [record.op] : [],
  );
  return recorded().map((frame) =>
    frame.record.type === 'settle' && frame.record.op === steps[nth]
      ? { ...frame, record: { ...frame.record, ...change(frame.record) } }
      : frame,
  );
};

const changedDefinition = (client: Json): readonly Frame[] =>
  recorded().map((frame) =>
    frame.definitions === undefined
      ? frame
      : ({
          ...frame,
          definitions: frame.definitions.map((one) => ({ ...one, definition: { ...one.definition, client } })),
        } as unknown as Frame),
  );

const notSent = 'its result is not what the client sent';

test('what was recorded is sound', async () => {
  expect(await problemsIn(recorded())).toEqual([]);
  expect(recorded().filter(({ record }) => record.type === 'ruling')).toHaveLength(3);
});

test.each<[string, () => readonly Frame[], string]>([
  ['a result by somebody else', () => changed('ruling', 0, () => ({ by: 'ann' })), 'ann did not request the run'],
  [
    'a result by somebody with another right',
    () => changed('ruling', 0, () => ({ right: 'operator' })),
    'only the caller of the run has the result of a tool of its client',
  ],
  [
    'a result for other arguments',
    () => changed('ruling', 0, () => ({ argsHash: 'f'.repeat(64) })),
    'about other arguments',
  ],
  ['another text', () => changedResult(0, () => ({ value: { text: 'black' } })), notSent],
  ['a failure that is none', () => changedResult(1, () => ({ ok: true, value: { text: 'none left' } })), notSent],
  [
    'a result that is a failure',
    () => changedResult(0, () => ({ ok: false, failure: { code: 'tool_failed', detail: 'green' } })),
    notSent,
  ],
  [
    'another long text',
    () => changedResult(2, ({ value }) => ({ value: { ...(value as object), text: 'y' } })),
    notSent,
  ],
  ['a tool that the client does not have', () => changedDefinition({}), 'its client has no tool fetch'],
  ['another time for a call', () => changedDefinition({ fetch: 1 }), 'its client has another time for a call'],
])('%s is found', async (_what, frames, message) => {
  expect(await problemsIn(frames())).toEqual(expect.arrayContaining([expect.stringContaining(message)]));
});

test('a result that is there twice is found', async () => {
  const frames = recorded();
  const at = frames.findIndex(({ record }) => record.type === 'ruling');
  const twice = frames.toSpliced(at + 1, 0, frames[at]!).map((frame, no) => ({ ...frame, no }));
  expect(await problemsIn(twice)).toEqual(expect.arrayContaining([expect.stringContaining('decided before')]));
});

test('a call that nobody was asked about is found', async () => {
  const frames = changed('begin', 3, ({ about }) => {
    const { ask: _ask, argsHash: _hash, ...rest } = about as Record<string, Json>;
    return { about: rest };
  });
  expect(await problemsIn(frames)).toEqual(expect.arrayContaining([expect.stringContaining('tool of the client')]));
});
