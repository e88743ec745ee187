import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256 } from '#base';
import type { CellId } from '#base';
import { cross, decide, createGrants, Ledger, narrowGrant } from '#core/crossings';
import type { GrantUses } from '#core/crossings';
import type { ChildOperation, Crossed, Crossing, CrossingKind, CrossingEnd, Frame, Grant, Label } from '#contracts';
import { Mailbox } from '#core/bus';
import { agent, ask, call, lines } from '../session/driver.ts';

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
  'checkpoint',
];
const ends = ['outside', 'lead-1', 'child-2', 'child-3'] as readonly CrossingEnd[];
const labels: readonly Label[] = ['secret', 'untrusted'];

/** Few values, so that grants and crossings often match. */
const kind = fc.oneof(fc.constantFrom(...kinds.slice(0, 2)), fc.constantFrom(...kinds));
const end = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ends.slice(0, 2)) }, fc.constantFrom(...ends));
const label = fc.uniqueArray(fc.constantFrom(...labels));
const crossing: fc.Arbitrary<Crossing> = fc.record({
  kind,
  from: end,
  to: end,
  content: fc.string({ unit: 'grapheme' }),
  labels: label,
});
const number = fc.oneof(fc.integer({ min: -5, max: 50 }), fc.constantFrom(Infinity, -Infinity, 0, -0));
const room = fc.record(
  { countMax: number, expiresAt: number, revoked: fc.boolean(), refuses: label },
  { requiredKeys: [] },
);
const grant: fc.Arbitrary<Grant> = fc
  .tuple(fc.record({ name: fc.string(), kind, from: end, to: end }), room)
  .map(([ends_, more]) => ({ ...ends_, ...more }));

const goal: Crossing<'goal'> = {
  kind: 'goal',
  from: 'lead-1' as CellId,
  to: 'child-2' as CellId,
  content: 'Go',
  labels: [],
};
const goalGrant: Grant = { name: 'goal', kind: 'goal', from: goal.from, to: goal.to };

test('only a grant of the same kind between the same ends allows a crossing', () =>
  fc.assert(
    fc.property(crossing, fc.array(grant, { maxLength: 6 }), fc.integer({ min: 0, max: 50 }), (one, grants, at) => {
      const verdict = decide(one, grants, at);
      const fitting = grants.filter(({ kind: of, from, to }) => of === one.kind && from === one.from && to === one.to);
      if (verdict.allowed) {
        expect(fitting).toContain(verdict.grant);
        expect(verdict.grant.revoked).not.toBe(true);
        expect(one.labels.some((mark) => verdict.grant.refuses?.includes(mark))).toBe(false);
        if (verdict.grant.expiresAt !== undefined) expect(at).toBeLessThan(verdict.grant.expiresAt);
        if (verdict.grant.countMax !== undefined) expect(verdict.grant.countMax).toBeGreaterThan(0);
      } else if (fitting.length === 0) expect(verdict.reason).toBe('no-grant');
      else expect(verdict.reason).not.toBe('no-grant');
    }),
    { numRuns: 2_000 },
  ));

test('narrowing never widens: whatever the narrowed grant allows, the original grant allows', () =>
  fc.assert(
    fc.property(
      grant,
      fc.array(room, { minLength: 1, maxLength: 3 }),
      label,
      fc.integer({ min: -10, max: 60 }),
      fc.nat(60),
      (wide, steps, marks, at, used) => {
        const narrow = steps.reduce((from, by) => narrowGrant(from, by), wide);
        const one: Crossing = { kind: wide.kind, from: wide.from, to: wide.to, content: '', labels: marks };
        const allows = (which: Grant): boolean => decide(one, [which], at, new Map([[which, used]])).allowed;
        if (allows(narrow)) expect(allows(wide)).toBe(true);
        const { name, kind: of, from, to } = narrow;
        expect({ name, kind: of, from, to }).toEqual({
          name: wide.name,
          kind: wide.kind,
          from: wide.from,
          to: wide.to,
        });
        expect(Object.isFrozen(narrow)).toBe(true);
      },
    ),
    { numRuns: 3_000 },
  ));

test('narrowing narrows: whatever it removes is no longer allowed', () => {
  const at = (by: Parameters<typeof narrowGrant>[1], marks: readonly Label[] = [], used = 0) => {
    const narrow = narrowGrant(goalGrant, by);
    return decide({ ...goal, labels: marks }, [narrow], 100, new Map([[narrow, used]]));
  };
  expect(at({})).toMatchObject({ allowed: true });
  expect(at({ revoked: true })).toMatchObject({ reason: 'revoked' });
  expect(at({ expiresAt: 100 })).toMatchObject({ reason: 'expired' });
  expect(at({ expiresAt: 101 })).toMatchObject({ allowed: true });
  expect(at({ countMax: 0 })).toMatchObject({ reason: 'used-up' });
  expect(at({ countMax: 2 }, [], 2)).toMatchObject({ reason: 'used-up' });
  expect(at({ refuses: ['secret'] }, ['secret'])).toMatchObject({ reason: 'label' });
  expect(at({ refuses: ['secret'] }, ['untrusted'])).toMatchObject({ allowed: true });
});

test.for(['countMax', 'expiresAt'] as const)('a %s that is not a number allows nothing and widens nothing', (key) => {
  const odd: Grant = { ...goalGrant, [key]: NaN };
  expect(decide(goal, [odd], 100)).toMatchObject({ allowed: false });
  const none = narrowGrant({ ...goalGrant, [key]: 0 }, { [key]: NaN });
  expect(decide(goal, [none], 100)).toMatchObject({ allowed: false });
});

const throwing = new Proxy(goalGrant, {
  get: (target, key) => {
    if (key === 'refuses') throw new Error('a filter that fails');
    return Reflect.get(target, key) as unknown;
  },
});

test.for<[title: string, grants: readonly Grant[], marks: readonly Label[], reason: string]>([
  ['there is no grant', [], [], 'no-grant'],
  ['the grant is of another kind', [{ ...goalGrant, kind: 'share' }], [], 'no-grant'],
  ['the grant is for the other direction', [{ ...goalGrant, from: goal.to, to: goal.from }], [], 'no-grant'],
  ['the grant is for another cell', [{ ...goalGrant, to: 'child-3' as CellId }], [], 'no-grant'],
  ['the grant has expired', [{ ...goalGrant, expiresAt: 1_000 }], [], 'expired'],
  ['the grant was revoked', [{ ...goalGrant, revoked: true }], [], 'revoked'],
  ['the grant has a count of zero', [{ ...goalGrant, countMax: 0 }], [], 'used-up'],
  ['the grant refuses the label', [{ ...goalGrant, refuses: ['secret'] }], ['untrusted', 'secret'], 'label'],
  ['the grant’s filter throws', [throwing], [], 'filter-failed'],
])('the crossing is refused, and both ledgers record it, when %s', ([, grants, marks, reason]) => {
  const ledger = new Ledger();
  expect(cross({ ...goal, labels: marks }, { grants, ledger, at: 1_000 })).toEqual({ refused: reason });
  const { links, contents } = ledger.seal()!;
  expect(contents).toEqual([]);
  expect(links.map(({ cell, entries }) => [cell, entries])).toEqual(
    [goal.from, goal.to].map((cell, index) => [
      cell,
      [
        {
          at: 1_000,
          bytes: 2,
          grant: null,
          kind: 'goal',
          labels: marks,
          other: index === 0 ? goal.to : goal.from,
          seq: 0,
          sha256: sha256('Go'),
          tokens: 1,
          verdict: reason,
          way: index === 0 ? 'out' : 'in',
        },
      ],
    ]),
  );
});

test('a grant with a count is consumed by use, and refused crossings do not count', () => {
  const uses: GrantUses = new Map();
  const ledger = new Ledger();
  const grants = [{ ...goalGrant, countMax: 2, refuses: ['secret' as const] }];
  const passes = (marks: readonly Label[] = []) => {
    const passed = cross({ ...goal, labels: marks }, { grants, ledger, at: 0, uses });
    return 'refused' in passed ? passed.refused : 'passed';
  };
  expect([passes(), passes(['secret']), passes(), passes()]).toEqual(['passed', 'label', 'passed', 'used-up']);
});

test('crossed content is a frozen copy that cannot be changed afterwards', () => {
  const marks: Label[] = ['secret'];
  const loose = { ...goal, labels: marks };
  const ledger = new Ledger();
  const passed = cross(loose, { grants: [goalGrant], ledger, at: 0 });
  if ('refused' in passed) throw new Error(passed.refused);
  marks.push('untrusted');
  (loose as { content: string }).content = 'Something else';
  expect(passed).toEqual({ ...goal, labels: ['secret'], cell: goal.to, seq: 0 });
  expect([passed, passed.labels].every(Object.isFrozen)).toBe(true);
  expect(ledger.seal()!.contents[0]).toBe(passed);
});

const crossIn = (ledger: Ledger): Crossed<'goal'> => {
  const passed = cross(goal, { grants: [goalGrant], ledger, at: 0 });
  if ('refused' in passed) throw new Error(passed.refused);
  return passed;
};

const forgeries: readonly (readonly [title: string, forge: (crossed: Crossed<'goal'>) => unknown])[] = [
  ['a plain object', () => ({ ...goal, cell: goal.to, seq: 0 })],
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
  ['one of another run', () => crossIn(new Ledger())],
  ['nothing', () => null],
];

test.for(forgeries)('%s is not content that crossed', ([, forge]) => {
  const ledger = new Ledger();
  const crossed = crossIn(ledger);
  expect(() => ledger.check(crossed, goal.to as CellId)).not.toThrow();
  expect(() => ledger.check(forge(crossed) as Crossed, goal.to as CellId)).toThrow('did not cross');
});

test('what crossed into one cell is not accepted by another', () => {
  const ledger = new Ledger();
  const crossed = crossIn(ledger);
  expect(() => ledger.check(crossed, goal.from as CellId)).toThrow('did not cross');
  expect(() => new Mailbox(goal.from as CellId, ledger).put(crossed as never)).toThrow('did not cross');
  expect(() => new Mailbox(goal.to as CellId, ledger).put({ ...crossed } as never)).toThrow('did not cross');
});

test('a recorded frame is restored only if its ledger granted that content', () => {
  const ledger = new Ledger();
  const crossed = crossIn(ledger);
  const recorded = JSON.parse(
    JSON.stringify({ run: 'r', no: 3, at: 0, cell: goal.from, record: { type: 'cancel' }, ...ledger.seal() }),
  ) as Frame;
  const [content] = recorded.contents!;
  const restored = ledger.restore(recorded).contents!;
  expect(restored).toEqual([crossed]);
  expect(() => ledger.check(restored[0]!, goal.to as CellId)).not.toThrow();
  for (const contents of [
    [{ ...content!, content: 'Stop' }],
    [{ ...content!, seq: 1 }],
    [{ ...content!, kind: 'share' as const }],
    [{ ...content!, cell: 'child-3' as CellId }],
    [{ ...content!, from: 'outside' as const }],
    [{ ...content!, to: 'child-3' as CellId }],
    [{ ...content!, labels: ['secret' as const] }],
  ])
    expect(() => ledger.restore({ ...recorded, contents })).toThrow('its ledger does not have');
});

test('every decision is in the hash chain of its cells, and each link follows from the one before', () =>
  fc.assert(
    fc.property(fc.array(fc.array(crossing, { maxLength: 4 }), { maxLength: 6 }), (frames) => {
      const ledger = new Ledger();
      const last = new Map<CrossingEnd, { hash: string; seq: number }>();
      for (const frame of frames) {
        for (const one of frame) cross(one, { grants: [{ ...one, name: 'all' }], ledger, at: 0 });
        for (const { cell, entries, previous, hash } of ledger.seal()?.links ?? []) {
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

test('plain text, or a crossing that was not checked, does not compile as crossed content', () => {
  const take = (goal_: Crossed<'goal'>): string => goal_.content;
  const passed = cross(goal, { grants: [goalGrant], ledger: new Ledger(), at: 0 });
  if ('refused' in passed) throw new Error(passed.refused);
  expect(take(passed)).toBe('Go');
  // @ts-expect-error: plain text has not crossed.
  const text = (): Crossed<'goal'> => 'Go';
  // @ts-expect-error: a crossing is only a wish.
  const request = (): Crossed<'goal'> => goal;
  // @ts-expect-error: what crossed as one kind is not another.
  const other = (): Crossed<'result'> => passed;
  // @ts-expect-error: a copy of what crossed has not crossed.
  const copy = (): Crossed<'goal'> => ({ ...passed, content: 'Stop' });
  // @ts-expect-error: a child cannot begin from plain text.
  const child = (operation: ChildOperation): ChildOperation => ({ ...operation, goal: 'Go' });
  // @ts-expect-error: what came back may be a refusal.
  const unread = (): Crossed<'goal'> => cross(goal, { grants: [], ledger: new Ledger(), at: 0 });
  expect([text, request, other, copy, child, unread]).toHaveLength(6);
});

test('the grants of a cell come from its definition and its caller, and name no other agent', () => {
  const cell = 'solo-9' as CellId;
  expect(createGrants(agent('solo'), cell, 'outside')).toEqual([
    { name: 'goal', kind: 'goal', from: 'outside', to: cell },
    { name: 'result', kind: 'result', from: cell, to: 'outside' },
    { name: 'note', kind: 'note', from: cell, to: 'outside' },
  ]);
  expect(createGrants(agent('solo', { grants: [] }), cell, 'outside')).toEqual([]);
});

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
