import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256 } from '#base';
import type { CellId } from '#base';
import type {
  ChildOperation,
  Crossed,
  CrossingEnd,
  CrossingKind,
  Frame,
  GrantName,
  Label,
  LedgerLink,
} from '#contracts';
import { Mailbox } from '#testing/core/bus';
import { partyOf } from '#core/cells';
import { Door, replaceContent } from '#core/crossings';
import type { CrossingRequest } from '#core/crossings';
import { agent, ask, call, lines } from '../session/driver.ts';

const lead = 'lead-1' as CellId;
const helper = 'child-2' as CellId;
const goal: CrossingRequest<'goal'> = { kind: 'goal', from: lead, to: helper, content: 'Go' };
const moment = { at: 1_000, frame: 7 };

/** A door with a cell and its child. */
const doorOf = (withdrawn: readonly GrantName[] = []): Door => {
  const door = new Door({ withdrawnFrom: (name, frame) => (name === 'child' && frame > 5 ? withdrawn : []) });
  door.admit(partyOf({ cell: lead, parent: null, agent: agent('lead') }));
  door.admit(partyOf({ cell: helper, parent: lead, agent: agent('child') }));
  return door;
};

const crossGoal = (door: Door, request = goal): Crossed<'goal'> => {
  const passed = door.cross(request, moment);
  if ('refused' in passed) throw new Error(passed.refused);
  return passed;
};

test.for<[title: string, request: CrossingRequest, door: Door]>([
  ['an end is not a cell of the run', { ...goal, to: 'child-3' as CellId }, doorOf()],
  ['the kind is not granted', { ...goal, kind: 'share' }, doorOf()],
  ['it goes the other way', { ...goal, from: helper, to: lead }, doorOf()],
  ['an operator has withdrawn the grant', goal, doorOf(['goal'])],
  ['a cell passes it to itself', { ...goal, from: helper }, doorOf()],
])('the crossing is refused, and the ledgers of its ends record that, when %s', ([, request, door]) => {
  expect(door.permits(request, moment.frame)).toBe(false);
  expect(door.pending.entries).toEqual([]);
  expect(door.cross(request, moment)).toEqual({ refused: 'no-grant' });
  const { links, contents } = door.seal()!;
  expect(contents).toEqual([]);
  const { kind, from, to } = request;
  const entry = { at: 1_000, bytes: 2, grant: null, kind, labels: [], sha256: sha256('Go'), tokens: 1 };
  expect(links.flatMap(({ cell, entries }) => entries.map(({ seq: _seq, ...one }) => [cell, one]))).toEqual([
    [from, { ...entry, other: to, verdict: 'no-grant', way: 'out' }],
    [to, { ...entry, other: from, verdict: 'no-grant', way: 'in' }],
  ]);
});

// invariant: fork-only-removes
test('a grant is withdrawn from the frame of the fork on, and from no other agent', () => {
  const door = doorOf(['goal', 'result']);
  expect(door.permits(goal, 5)).toBe(true);
  expect(door.permits(goal, 6)).toBe(false);
  expect(door.permits({ kind: 'result', from: helper, to: lead }, 6)).toBe(false);
  expect(door.permits({ kind: 'result', from: lead, to: 'outside' }, 6)).toBe(true);
});

// invariant: door-asks-policy
test('a decision that throws is a refusal', () => {
  const door = new Door({
    withdrawnFrom: () => {
      throw new Error('a log that cannot be read');
    },
  });
  door.admit(partyOf({ cell: lead, parent: null, agent: agent('lead') }));
  expect(door.cross({ ...goal, from: 'outside', to: lead }, moment)).toEqual({ refused: 'filter-failed' });
});

test('what is known of a cell does not change, and an ended cell is no end', () => {
  const door = doorOf(['result']);
  const result = { kind: 'result', from: helper, to: lead } as const;
  door.admit(partyOf({ cell: helper, parent: lead, agent: agent('another') }));
  expect(door.permits(result, 6)).toBe(false);
  door.forget(helper);
  expect(door.permits(goal, 0)).toBe(false);
});

// invariant: door-freezes-a-copy
test('crossed content is a frozen copy that cannot be changed afterwards', () => {
  const door = doorOf();
  const marks: Label[] = ['secret'];
  const loose = { ...goal, labels: marks };
  const passed = crossGoal(door, loose);
  marks.push('untrusted');
  (loose as { content: string }).content = 'Something else';
  expect(passed).toEqual({ ...goal, labels: ['secret'], cell: helper, seq: 0 });
  expect([passed, passed.labels].every(Object.isFrozen)).toBe(true);
  const { links, contents } = door.seal()!;
  expect(contents[0]).toBe(passed);
  expect(links.flatMap(({ entries }) => entries.map(({ labels }) => labels))).toEqual([['secret'], ['secret']]);
});

const forgeries: readonly (readonly [title: string, forge: (crossed: Crossed<'goal'>) => unknown])[] = [
  ['a plain object', () => ({ ...goal, cell: helper, seq: 0 })],
  ['a spread', (crossed) => ({ ...crossed })],
  ['a spread with other content', (crossed) => ({ ...crossed, content: 'Stop' })],
  ['a clone', (crossed) => structuredClone(crossed)],
  ['its JSON, read again', (crossed) => JSON.parse(JSON.stringify(crossed))],
  ['an object whose prototype it is', (crossed) => Object.create(crossed)],
  [
    'an object with the same prototype',
    (crossed) => Object.setPrototypeOf({ ...crossed }, Reflect.getPrototypeOf(crossed)),
  ],
  ['one that its constructor made', (crossed) => Reflect.construct(crossed.constructor as never, [{}, crossed])],
  [
    'one that its constructor made of it',
    (crossed) => Reflect.construct(crossed.constructor as never, [crossed, crossed]),
  ],
  ['a proxy', (crossed) => new Proxy(crossed, {})],
  ['one of another run', () => crossGoal(doorOf())],
  ['nothing', () => null],
];

// invariants: seal-is-private, seal-names-ledger
test.for(forgeries)('%s is not content that crossed', ([, forge]) => {
  const door = doorOf();
  const crossed = crossGoal(door);
  expect(() => door.check(crossed, helper)).not.toThrow();
  expect(() => door.check(forge(crossed) as Crossed, helper)).toThrow('did not cross');
});

// invariant: seal-is-private
test('whatever is replaced in the class of a crossing, a forgery is refused', () => {
  const door = doorOf();
  const crossed = crossGoal(door);
  const holders = [crossed.constructor, Reflect.getPrototypeOf(crossed)!];
  const methods = holders.flatMap((holder) => Reflect.ownKeys(holder).map((key) => [holder, key] as const));
  for (const [holder, key] of methods) {
    const before = Reflect.get(holder, key) as unknown;
    const isReplaced = typeof before === 'function' && Reflect.set(holder, key, () => true);
    expect(() => door.check({ ...crossed } as Crossed, helper), String(key)).toThrow('did not cross');
    if (isReplaced) Reflect.set(holder, key, before);
  }
});

// invariant: door-only-way-in
test('what crossed into one cell is not accepted by another', () => {
  const door = doorOf();
  const crossed = crossGoal(door);
  expect(() => door.check(crossed, lead)).toThrow('did not cross');
  expect(() => new Mailbox(lead, door).put(crossed as never)).toThrow('did not cross');
  expect(() => new Mailbox(helper, door).put({ ...crossed } as never)).toThrow('did not cross');
});

// invariants: door-only-way-in, ledger-makes-crossed
test('a recorded frame is restored only if its ledger granted that content', () => {
  const door = doorOf();
  const crossed = crossGoal(door);
  const recorded = JSON.parse(
    JSON.stringify({ run: 'r', no: 3, at: 0, cell: lead, record: { type: 'cancel' }, ...door.seal() }),
  ) as Frame;
  const [content] = recorded.contents!;
  const resumed = doorOf();
  const restored = resumed.restore(recorded).contents!;
  expect(restored).toEqual([crossed]);
  expect(() => resumed.check(restored[0]!, helper)).not.toThrow();
  for (const contents of [
    [{ ...content!, content: 'Stop' }],
    [{ ...content!, seq: 1 }],
    [{ ...content!, kind: 'share' as const }],
    [{ ...content!, cell: 'child-3' as CellId }],
    [{ ...content!, from: 'outside' as const }],
    [{ ...content!, to: 'child-3' as CellId }],
    [{ ...content!, labels: ['secret' as const] }],
  ])
    expect(() => doorOf().restore({ ...recorded, contents })).toThrow('its ledger does not have');
});

// invariant: ledger-one-link-per-frame
test('a run whose ledger was changed is not continued: the error names the frame and the cell', () => {
  const written = doorOf();
  const frames = [3, 4].map((no) => {
    crossGoal(written);
    return {
      run: 'r',
      no,
      at: 0,
      cell: lead,
      record: { type: 'cancel' },
      links: written.seal()!.links,
    } as unknown as Frame;
  });
  const [first, second] = frames as [Frame, Frame];
  const restoreAll = (all: readonly Frame[]) => {
    const door = doorOf();
    for (const frame of all) door.restore(frame);
    return door;
  };
  expect(() => restoreAll(frames)).not.toThrow();
  const [link] = second.links!;
  const [entry] = link!.entries;
  const withLink = (changed: Partial<LedgerLink>): Frame => ({ ...second, links: [{ ...link!, ...changed }] });
  for (const frame of [
    withLink({ entries: [{ ...entry!, grant: 'share' }] }),
    withLink({ entries: [{ ...entry!, verdict: 'no-grant' }] }),
    withLink({ entries: [] }),
    withLink({ previous: sha256('other') }),
    withLink({ hash: sha256('other') }),
  ])
    expect(() => restoreAll([first, frame])).toThrow(
      expect.objectContaining({ code: 'store_damaged', message: expect.stringMatching(/Frame 4\b.*lead-1/u) }),
    );
  // A link that is missing, or there twice.
  expect(() => restoreAll([second])).toThrow('hash chain');
  expect(() => restoreAll([first, first])).toThrow('hash chain');
});

const kinds: readonly CrossingKind[] = [
  'goal',
  'result',
  'share',
  'dependency',
  'message',
  'broadcast',
  'note',
  'file',
  'history',
];
const end = fc.constantFrom<CrossingEnd>(lead, helper, 'outside', 'child-3' as CellId);
const crossing: fc.Arbitrary<CrossingRequest> = fc.record({
  kind: fc.constantFrom(...kinds),
  from: end,
  to: end,
  content: fc.string({ unit: 'grapheme' }),
  labels: fc.uniqueArray(fc.constantFrom<Label>('secret', 'untrusted')),
});

// invariants: ledger-both-ends, ledger-one-link-per-frame, ledger-numbers-per-cell
test('every decision is in the hash chain of its cells, and each link follows from the one before', () =>
  fc.assert(
    fc.property(fc.array(fc.array(crossing, { maxLength: 4 }), { maxLength: 6 }), (frames) => {
      const door = doorOf();
      const last = new Map<CrossingEnd, { hash: string; seq: number }>();
      for (const frame of frames) {
        for (const one of frame) door.cross(one, moment);
        for (const { cell, entries, previous, hash } of door.seal()?.links ?? []) {
          const before = last.get(cell) ?? { hash: '0'.repeat(64), seq: -1 };
          expect(previous).toBe(before.hash);
          expect(hash).toBe(sha256(previous + JSON.stringify(entries)));
          expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => before.seq + 1 + index));
          last.set(cell, { hash, seq: entries.at(-1)!.seq });
        }
      }
      const written = [...last.values()].reduce((sum, { seq }) => sum + seq + 1, 0);
      const expected = frames
        .flat()
        .reduce((sum, { from, to }) => sum + [from, to].filter((one) => one !== 'outside').length, 0);
      expect(written).toBe(expected);
    }),
    { numRuns: 200 },
  ));

test('a fork replaces the goal of a first frame as if the run had begun with it', () => {
  const openWith = (content: string): Frame => {
    const door = doorOf();
    door.cross({ ...goal, from: 'outside', to: lead, content }, moment);
    door.cross({ kind: 'history', from: 'outside', to: lead, content: 'Before' }, moment);
    return { run: 'r' as never, no: 0, at: 0, cell: lead, record: { type: 'cancel' }, ...door.seal()! };
  };
  const plain = (frame: Frame): unknown => JSON.parse(JSON.stringify(frame));
  expect(plain(replaceContent(openWith('One'), 'goal', 'Another, longer'))).toEqual(plain(openWith('Another, longer')));
});

test('plain text, or a crossing that was not checked, does not compile as crossed content', () => {
  const take = (goal_: Crossed<'goal'>): string => goal_.content;
  const passed = crossGoal(doorOf());
  expect(take(passed)).toBe('Go');
  // @ts-expect-error: plain text has not crossed.
  const text = (): Crossed<'goal'> => 'Go';
  // @ts-expect-error: a request is only a wish.
  const request = (): Crossed<'goal'> => goal;
  // @ts-expect-error: what crossed as one kind is not another.
  const other = (): Crossed<'result'> => passed;
  // @ts-expect-error: a copy of what crossed has not crossed.
  const copy = (): Crossed<'goal'> => ({ ...passed, content: 'Stop' });
  // @ts-expect-error: a child cannot begin from plain text.
  const begin = (operation: ChildOperation): ChildOperation => ({ ...operation, goal: 'Go' });
  // @ts-expect-error: what came back may be a refusal.
  const unread = (): Crossed<'goal'> => doorOf().cross(goal, moment);
  // @ts-expect-error: a mailbox takes no plain message.
  const put = (mailbox: Mailbox): void => mailbox.put({ seq: 0, kind: 'message', from: lead, content: 'Go' });
  expect([text, request, other, copy, begin, unread, put]).toHaveLength(7);
});

// invariant: child-refusal-costs-nothing
test.for([
  ['goal', ['result'], { refused: 1, cells: 1, words: 'The goal was refused: no-grant.' }],
  ['result', ['goal'], { refused: 1, cells: 2, words: 'No grant allows this crossing.' }],
] as const)(
  'without the grant for its %s a child is missing, and the parent learns no more than that',
  async ([, grants, expected]) => {
    const child = agent('child', { grants: [...grants] });
    const { outcome, audit, requests, report } = await ask(agent('lead', { agents: [child] }), {
      says: lines({
        lead: [call('child', { prompt: 'Go' }), 'Without it, then.'],
        child: ['A secret answer.'],
      }),
    });
    expect(outcome).toMatchObject({ status: 'partial', output: 'Without it, then.', missing: ['child'] });
    expect(audit).toMatchObject({ ok: true, refused: expected.refused });
    expect(report.cells).toHaveLength(expected.cells);
    expect(report.spent.spawns).toBe(expected.cells - 1);
    expect(requests.at(-1)!.text).toContain(expected.words);
    expect(requests.at(-1)!.text).not.toContain('A secret answer.');
    expect(report.events.filter(({ type }) => type === 'crossing-refused')).not.toHaveLength(0);
  },
);

test.for([
  ['goal', ['result'], 'The goal was refused: no-grant.'],
  ['result', ['goal'], 'The result was refused: no-grant.'],
] as const)('without the grant for its %s a root fails and returns nothing', async ([, grants, detail]) => {
  const { outcome, audit } = await ask(agent('solo', { grants: [...grants] }));
  expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'crossing_refused', detail } });
  expect(audit).toMatchObject({ refused: 1 });
});
