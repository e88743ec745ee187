// What an agent is told about a name, when agents that it may not message come and go.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CellId } from '#base';
import { Directory } from '#core/bus';
import { mayWrite } from '#core/crossings';

type Entry = Parameters<Directory['add']>[0];
type Change = { readonly add: Entry } | { readonly remove: CellId };

const roles = ['parent', 'children', 'siblings'];
const agents = ['a', 'b', 'c'];
const noTopics = { hear: [], say: [] };

/** Cell 0 is the requester; the parent of a cell is an earlier one. */
const entries = fc
  .array(
    fc.record({
      agent: fc.constantFrom(...agents),
      messages: fc.uniqueArray(fc.constantFrom(...roles, ...agents), { maxLength: 3 }),
      parent: fc.nat(),
      workflow: fc.constantFrom(null, 'w'),
    }),
    { minLength: 2, maxLength: 12 },
  )
  .map((drawn) =>
    drawn.map(({ agent, messages, parent, workflow }, no): Entry => {
      const name = workflow === null ? agent : `${workflow}:${agent}`;
      const above = no === 0 ? null : (`c${parent % no}` as CellId);
      const spawned = { name, workflow, topics: [] };
      return {
        cell: `c${no}` as CellId,
        parent: above,
        agent,
        name,
        spawned,
        messages,
        topics: noTopics,
        createdAt: 0,
        part: null,
      };
    }),
  );

/** All are added in order; then some end, in any order, and hundreds of others come and go. */
const changes = (all: readonly Entry[], ending: readonly number[], crowd: boolean): readonly Change[] => {
  const ended = [...new Set(ending.map((no) => 1 + (no % (all.length - 1))))].map((no) => all[no]!.cell);
  const late = ended.toSpliced(Math.ceil(ended.length / 2), 0, ...(crowd ? ['crowd' as CellId] : []));
  return [
    ...all.map((add) => ({ add })),
    ...late.flatMap((remove): readonly Change[] => (remove === 'crowd' ? crowdChanges : [{ remove }])),
  ];
};

const crowdChanges: readonly Change[] = Array.from({ length: 1_100 }, (_, no): readonly Change[] => {
  const cell = `x${no}` as CellId;
  const spawned = { name: 'b', workflow: null, topics: [] };
  const messages = [...roles, ...agents];
  return [
    {
      add: {
        cell,
        parent: 'x' as CellId,
        agent: 'x',
        name: 'b',
        spawned,
        messages,
        topics: noTopics,
        createdAt: 0,
        part: null,
      },
    },
    { remove: cell },
  ];
}).flat();

const lookups = (sequence: readonly Change[], requester: CellId): readonly unknown[] => {
  const directory = new Directory({ check: () => undefined });
  for (const change of sequence)
    if ('add' in change) directory.add(change.add);
    else directory.remove(change.remove);
  const self = directory.get(requester)!;
  return [...agents, ...agents.map((name) => `w:${name}`), 'x', 'parent', 'nobody'].map((name) => {
    const result = directory.lookup(self, name);
    return result.found === null ? [result.why, result.known] : result.found.cell;
  });
};

// invariants: mail-names-only-reachable, mail-ended-only-reachable
test('agents that it may not message change nothing that an agent is told', () => {
  fc.assert(
    fc.property(entries, fc.array(fc.nat(), { maxLength: 12 }), fc.boolean(), (all, ending, crowd) => {
      const [requester] = all as [Entry, ...Entry[]];
      const sequence = changes(all, ending, crowd);
      const mayKnow = ({ add }: { readonly add: Entry }): boolean => add === requester || mayWrite(requester, add);
      const known = new Set(
        sequence.flatMap((change) => ('add' in change && mayKnow(change) ? [change.add.cell] : [])),
      );
      const ofKnown = sequence.filter((change) => known.has('add' in change ? change.add.cell : change.remove));
      expect(lookups(sequence, requester.cell)).toEqual(lookups(ofKnown, requester.cell));
    }),
    { numRuns: 150, seed: 18 },
  );
});
