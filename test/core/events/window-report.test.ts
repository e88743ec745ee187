import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { utf8Bytes } from '#base';
import type { Category, DurableEvent, Frame, RuleName, WindowLimit } from '#contracts';
import { projectEvents, windowReport } from '#core/events';
import {
  FrameWriter,
  birthOf,
  definitions,
  digestOf,
  fromDefinition,
  fromGoal,
  goals,
  goodRun,
  lead,
  longText,
  model,
  outcomeOf,
  researcher,
  reviewer,
  usage,
  user,
} from '../audit/frames.ts';
import type { Change, ShownSegment } from '../audit/frames.ts';

const categories: readonly Category[] = ['SYSTEM', 'CONTEXT', 'DIALOG', 'TOOLS'];

const shown = (category: Category, text: string, rule: RuleName = 'goal@1'): ShownSegment => ({
  origin: { rule, of: [] },
  category,
  part: user(text),
});

const bytesOf = (text: string): number => utf8Bytes(JSON.stringify(user(text)));

/** Gives the attempts of the run these windows, in order; the last one applies to all that follow. */
const withWindows = (frames: readonly Frame[], windows: readonly WindowLimit[]): readonly Frame[] => {
  let no = 0;
  return frames.map((frame) => {
    if (frame.attempt === undefined) return frame;
    const window = windows[Math.min(no++, windows.length - 1)]!;
    return { ...frame, attempt: { ...frame.attempt, window } };
  });
};

const wide: WindowLimit = { tokens: 100_000, by: 'default' };
const narrow: WindowLimit = { tokens: 8_000, by: 'model' };

const eventsOf = (frames: readonly Frame[]): readonly DurableEvent[] => {
  const fold = projectEvents('contents');
  return frames.flatMap((frame) => fold.next(frame));
};

const windowEvents = (frames: readonly Frame[]): readonly DurableEvent[] =>
  eventsOf(frames).filter(({ type }) => type.startsWith('window-'));

const opened = (): FrameWriter => {
  const log = new FrameWriter();
  log.open(birthOf(lead, null, definitions.lead, {}), definitions.lead, goals.lead);
  return log;
};

test('a window is reported by category: messages, bytes and tokens shown in the newest request', async () => {
  const { frames } = goodRun();
  const [parent, child] = await windowReport(withWindows(frames, [wide]));
  expect(parent).toMatchObject({ cell: lead, parent: null, agent: 'lead', model, limit: wide });
  expect(child).toMatchObject({ cell: researcher, parent: lead, agent: 'researcher' });
  // The system prompt and two tools; the goal and the reply; two results.
  expect(categories.map((category) => parent!.categories[category].messages)).toEqual([3, 0, 2, 2]);
  // The child's steps were compacted and its tool was removed.
  expect(categories.map((category) => child!.categories[category].messages)).toEqual([1, 1, 1, 0]);
  const newest = frames.findLast(({ cell, attempt }) => cell === lead && attempt !== undefined)!.attempt!;
  expect(parent!.total).toEqual({ messages: 7, bytes: newest.bytes, tokens: 200 });
});

test('tokens are estimated as a quarter of the bytes until a reply has reported its usage', async () => {
  const log = opened();
  const op = log.attempt(lead, 1, [{ add: [...fromDefinition(definitions.lead), fromGoal(goals.lead)] }]);
  const { total } = (await windowReport(withWindows(log.frames, [wide])))[0]!;
  expect(total.tokens).toBe(Math.ceil(total.bytes / 4));
  log.reply(lead, op, [{ type: 'text', text: 'Done.' }], usage(1_000, 10));
  expect((await windowReport(withWindows(log.frames, [wide])))[0]!.total).toEqual({ ...total, tokens: 1_000 });
});

test('a cell that has sent no request has an empty window without a limit', async () => {
  const [cell] = await windowReport(opened().frames);
  expect(cell).toMatchObject({ model: null, limit: null, total: { messages: 0, bytes: 0, tokens: 0 }, happened: [] });
  expect(await windowReport([])).toEqual([]);
});

/** Three requests: the second shortens a result, the third compacts, recaps and drops. */
const trimmedRun = (): FrameWriter => {
  const log = opened();
  const first = log.attempt(lead, 1, [
    { add: [shown('SYSTEM', 'rules'), shown('DIALOG', 'goal'), shown('DIALOG', 'one'), shown('TOOLS', longText)] },
  ]);
  log.reply(lead, first, [], usage(10, 1));
  log.attempt(lead, 2, [{ replace: [3, 3], by: shown('TOOLS', 'short', 'shorten@1') }]);
  log.attempt(lead, 3, [
    { add: [shown('DIALOG', 'two'), shown('CONTEXT', 'known'), shown('DIALOG', 'three')] },
    { replace: [2, 4], by: shown('CONTEXT', 'steps', 'compact@1') },
    { replace: [5, 5], by: shown('CONTEXT', 'said', 'recap@1') },
    { drop: [6, 6], rule: 'fit@1' },
  ]);
  return log;
};

test('shortened, compacted and dropped messages are reported with time, operation and turn', async () => {
  const { frames } = trimmedRun();
  const attempts = frames.filter(({ attempt }) => attempt !== undefined);
  const at = (no: number) => attempts[no]!.at;
  const [cell] = await windowReport(withWindows(frames, [wide]));
  expect(cell!.happened).toEqual([
    {
      at: at(1),
      op: 1,
      turn: 2,
      what: 'shortened',
      messages: 1,
      bytesBefore: bytesOf(longText),
      bytesAfter: bytesOf('short'),
    },
    {
      at: at(2),
      op: 2,
      turn: 3,
      what: 'compacted',
      messages: 3,
      bytesBefore: bytesOf('one') + bytesOf('short') + bytesOf('two'),
      bytesAfter: bytesOf('steps') + bytesOf('said'),
    },
    { at: at(2), op: 2, turn: 3, what: 'dropped', messages: 1, bytesBefore: bytesOf('known'), bytesAfter: 0 },
  ]);
});

test('trim events precede the request they made room for, one per kind of trim', async () => {
  const { frames } = trimmedRun();
  const events = eventsOf(withWindows(frames, [wide])).slice(3);
  expect(events.map(({ type }) => type)).toEqual([
    'model-end',
    'window-trim',
    'model-start',
    'window-trim',
    'window-trim',
    'model-start',
  ]);
  const trims = windowEvents(withWindows(frames, [wide]));
  const { happened } = (await windowReport(withWindows(frames, [wide])))[0]!;
  expect(
    trims.map((event) =>
      event.type === 'window-trim'
        ? [event.at, event.op, event.how, event.messages, event.bytesBefore, event.bytesAfter]
        : [],
    ),
  ).toEqual(
    happened.map((one) =>
      'messages' in one ? [one.at, one.op, one.what, one.messages, one.bytesBefore, one.bytesAfter] : [],
    ),
  );
});

test('tools removed for the last turn, and omitted reasoning, are not reported as trims', async () => {
  const log = opened();
  log.attempt(lead, 1, [{ add: [shown('SYSTEM', 'rules'), shown('SYSTEM', 'tool'), shown('DIALOG', 'reply')] }]);
  log.attempt(lead, 2, [
    { drop: [1, 1], rule: 'last-turn@1' },
    { replace: [2, 2], by: shown('DIALOG', 'reply without reasoning', 'reply@1') },
  ]);
  const frames = withWindows(log.frames, [wide]);
  expect(windowEvents(frames)).toEqual([]);
  expect((await windowReport(frames))[0]).toMatchObject({ total: { messages: 2 }, happened: [] });
});

test('an offloaded output is reported with its tool, name and size', async () => {
  const { frames } = goodRun();
  const [parent, child] = await windowReport(withWindows(frames, [wide]));
  expect(parent!.happened).toEqual([]);
  expect(child!.happened[0]).toEqual({
    at: frames.find(({ cell, record }) => cell === researcher && record.type === 'settle' && record.op === 1)!.at,
    op: 1,
    turn: 1,
    what: 'offloaded',
    tool: 'search',
    output: 'search_001.txt',
    bytes: utf8Bytes(longText),
  });
});

test('a window that shrinks is reported as clamped; one that grows or stays is not', async () => {
  const log = opened();
  for (const turn of [1, 2, 3, 4]) log.attempt(lead, turn, turn === 1 ? [{ add: [shown('DIALOG', 'x')] }] : []);
  const frames = withWindows(log.frames, [narrow, wide, wide, { tokens: 99_999, by: 'given' }]);
  expect((await windowReport(frames))[0]!.happened).toMatchObject([
    { what: 'clamped', turn: 4, op: 3, window: { tokens: 99_999, by: 'given' }, was: 100_000 },
  ]);
  expect(windowEvents(frames)).toMatchObject([
    { type: 'window-clamp', cell: lead, agent: 'lead', window: { tokens: 99_999, by: 'given' }, was: 100_000 },
  ]);
});

/** A lead sends a request, calls a researcher that sends two, and sends another. */
const calledRun = (windows: readonly WindowLimit[]): readonly Frame[] => {
  const log = opened();
  log.attempt(lead, 1, [{ add: [shown('DIALOG', 'x')] }]);
  log.cross('goal', [lead, researcher], goals.child);
  log.begin(
    lead,
    { do: 'child', name: 'agent:researcher', birth: birthOf(researcher, lead, definitions.child, {}) },
    { ids: [researcher], definitions: [{ digest: digestOf(definitions.child), definition: definitions.child }] },
  );
  log.attempt(researcher, 1, [{ add: [shown('DIALOG', 'y')] }]);
  log.attempt(researcher, 2, []);
  log.attempt(lead, 2, []);
  return withWindows(log.frames, windows);
};

test('a child with a smaller window than its caller’s newest is clamped at its first request only', async () => {
  const frames = calledRun([wide, narrow, narrow, wide]);
  const [parent, child] = await windowReport(frames);
  expect(parent!.happened).toEqual([]);
  expect(child!.happened).toMatchObject([{ what: 'clamped', turn: 1, window: narrow, was: 100_000 }]);
  expect(windowEvents(frames)).toMatchObject([{ cell: researcher, window: narrow, was: 100_000 }]);
});

test('a caller’s window is remembered after a child has ended, for the next child', () => {
  const log = opened();
  log.attempt(lead, 1, [{ add: [shown('DIALOG', 'x')] }]);
  for (const child of [researcher, reviewer]) {
    const birth = birthOf(child, lead, definitions.child, {});
    const op = log.begin(lead, { do: 'child', name: 'agent:child', birth }, { ids: [child] });
    log.attempt(child, 1, [{ add: [shown('DIALOG', 'y')] }]);
    log.settle(lead, op, { ok: true, value: null, ended: { cell: child, outcome: outcomeOf('Done.', {}) } });
  }
  const frames = withWindows(log.frames, [wide, narrow]);
  expect(windowEvents(frames)).toMatchObject([{ cell: researcher }, { cell: reviewer, was: 100_000 }]);
});

test('a child whose window is as large as its caller’s, or larger, is not clamped', () => {
  expect(windowEvents(calledRun([narrow, narrow, wide, narrow]))).toEqual([]);
});

test('logs that do not record windows are reported without limits', async () => {
  const frames = goodRun().frames.map((frame) => {
    if (frame.attempt === undefined) return frame;
    const { window: _window, ...attempt } = frame.attempt;
    return { ...frame, attempt: attempt as typeof frame.attempt };
  });
  expect((await windowReport(frames)).map(({ limit }) => limit)).toEqual([null, null]);
  expect(windowEvents(frames).map(({ type }) => type)).toEqual(['window-trim']);
});

/** Changes that fit any view: positions are taken modulo its length. */
const steps = fc.array(
  fc.record({
    do: fc.constantFrom('add', 'replace', 'drop'),
    category: fc.constantFrom(...categories),
    text: fc.string({ maxLength: 20 }),
    rule: fc.constantFrom<RuleName>('compact@1', 'shorten@1', 'summary@1', 'reply@1'),
    from: fc.nat(50),
    length: fc.nat(4),
  }),
  { minLength: 1, maxLength: 30 },
);

test('for any changes, the categories add up to the size of the newest request, and every trim has its event', () =>
  fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 8 }), async (turns) => {
      const log = opened();
      const view: number[] = [];
      let next = 0;
      for (const [index, turn] of turns.entries()) {
        const changes = turn.map((step): Change => {
          if (step.do === 'add' || view.length === 0) {
            view.push(next++);
            return { add: [shown(step.category, step.text)] };
          }
          const first = step.from % view.length;
          const last = Math.min(view.length - 1, first + step.length);
          const range = [view[first]!, view[last]!] as const;
          if (step.do === 'drop') {
            view.splice(first, last - first + 1);
            return { drop: range, rule: 'fit@1' };
          }
          view.splice(first, last - first + 1, next++);
          return { replace: range, by: shown(step.category, step.text, step.rule) };
        });
        log.attempt(lead, index + 1, changes);
      }
      const frames = withWindows(log.frames, [wide]);
      const { total, categories: parts, happened } = (await windowReport(frames))[0]!;
      const newest = frames.at(-1)!.attempt!;
      expect(total.bytes).toBe(newest.bytes);
      expect(total.messages).toBe(view.length);
      expect(categories.reduce((sum, category) => sum + parts[category].bytes, 0)).toBe(total.bytes);
      expect(categories.reduce((sum, category) => sum + parts[category].messages, 0)).toBe(total.messages);
      expect(windowEvents(frames)).toHaveLength(happened.length);
    }),
    { numRuns: 200 },
  ));
