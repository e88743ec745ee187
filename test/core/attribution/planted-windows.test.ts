// A window with a bug in it sends nothing that differs from what its segments, or its records, say.
import { afterEach, expect, test, vi } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Segment, SegmentRecord } from '#contracts';
import type * as SegmentModule from '../../../src/core/memory/segment.ts';
import type { ModelRequest } from '../../../src/core/memory/segment.ts';

const planted: {
  afterCut: ((request: ModelRequest, view: readonly Segment[]) => void) | undefined;
  record: ((record: SegmentRecord) => SegmentRecord) | undefined;
} = { afterCut: undefined, record: undefined };

vi.mock('../../../src/core/memory/segment.ts', async (load) => {
  const real = await load<typeof SegmentModule>();
  return {
    ...real,
    buildRequest: (view: readonly Segment[]) => {
      const request = real.buildRequest(view);
      planted.afterCut?.(request, view);
      return request;
    },
    segmentRecord: (segment: Segment) => planted.record?.(real.segmentRecord(segment)) ?? real.segmentRecord(segment),
  };
});

afterEach(() => Object.assign(planted, { afterCut: undefined, record: undefined }));

const turns = 30;

const runLong = async () => {
  const model = rehearse([{ times: turns, reply: { calls: [{ tool: 'look', args: {} }] } }, { reply: 'Done.' }]);
  const output = 'What was found, in a few words. '.repeat(40);
  const tool = { name: 'look', description: 'Looks', inputSchema: { type: 'object' }, execute: () => output };
  const agent = defineAgent({
    name: 'solo',
    description: 'Works',
    prompt: 'Work.',
    models: [model],
    tools: [tool],
    limits: { maxToolTurns: turns + 1, contextTokensMax: 3_000, maxOutputTokens: 500 },
  });
  await using cloister = await openCloister({ store: 'memory', agents: [agent] });
  const session = cloister.run('solo', 'Go');
  const { status, failure } = await session.outcome;
  const [cell] = await cloister.windows(session.run);
  return { ended: failure?.code ?? status, sent: model.requests.length, cuts: cell!.happened.length };
};

test('without a bug, everything is sent, also after cuts', async () => {
  const { ended, sent, cuts } = await runLong();
  expect([ended, sent, cuts > 2]).toEqual(['completed', turns + 1, true]);
});

const isShortened = ({ origin }: Segment): boolean => origin.rule.startsWith('shorten@');

const bugs: Record<string, NonNullable<typeof planted.afterCut>> = {
  'shows what was removed from the view': ({ prompt }) => void prompt.splice(2, 0, prompt[2]!),
  'leaves out what is in view': ({ prompt }) => void prompt.splice(2, 1),
  'shows another text where one was shortened': ({ prompt }, view) => {
    const at = view.findIndex(isShortened);
    if (at >= 0) prompt[at - 1] = { role: 'user', content: [{ type: 'text', text: 'Not in any record.' }] };
  },
  'mixes up the order': ({ prompt }) => void prompt.push(...prompt.splice(1, 2)),
  'loses the tools': ({ tools }) => void tools.splice(0),
};

// invariant: window-of-segments, compared-once
test.each(Object.entries(bugs))('a request that %s after a cut is not sent', async (_bug, afterCut) => {
  planted.afterCut = (request, view) => {
    if (view.some(isShortened)) afterCut(request, view);
  };
  const { ended, sent } = await runLong();
  expect(ended).toBe('unattributed');
  expect(sent).toBeGreaterThan(1);
  expect(sent).toBeLessThan(turns);
});

const wrongRecords: Record<string, (record: SegmentRecord) => SegmentRecord> = {
  'under another number': (record) => ({ ...record, id: record.id + 1 }),
  'with another origin': (record) => ({ ...record, origin: { ...record.origin, of: [] } }),
  'with another size': (record) => ({ ...record, bytes: record.bytes + 1 }),
};

// invariant: compared-once
test.each(Object.entries(wrongRecords))('a segment that is recorded %s is not sent', async (_bug, change) => {
  planted.record = (record) => (record.origin.rule.startsWith('tool-result@') ? change(record) : record);
  expect(await runLong()).toMatchObject({ ended: 'unattributed', sent: 1 });
});
