// Who may pass what to whom, against a model that lists every permission of a random run, pair by pair.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CellId } from '#base';
import type { AgentDefinition, CrossingEnd, CrossingKind, GrantName, TeamPart } from '#contracts';
import { Door } from '#core/crossings';
import type { Party } from '#core/crossings';

const agents = ['a', 'b', 'c'];
const roles = ['parent', 'children', 'siblings'];
const topics = ['news', 'jobs'];
const grantNames: readonly GrantName[] = ['goal', 'result', 'note', 'history'];
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

const some = <T>(of: readonly T[]): fc.Arbitrary<T[]> => fc.uniqueArray(fc.constantFrom(...of));

const drawn = fc.record({
  agent: fc.constantFrom(...agents),
  grants: some(grantNames),
  share: fc.option(some(['system', 'context'] as const), { nil: undefined }),
  messages: fc.option(some([...roles, ...agents]), { nil: undefined }),
  topics: fc.option(fc.record({ hear: some(topics), say: some(topics) }), { nil: undefined }),
  isTeam: fc.boolean(),
  part: fc.constantFrom<TeamPart>(
    { part: 'plan' },
    { part: 'answer' },
    { part: 'task', task: 't', attempt: 1, scope: 'dependencies' } as TeamPart,
    { part: 'task', task: 't', attempt: 1, scope: 'all' } as TeamPart,
  ),
  spawned: fc.boolean(),
  byOutside: fc.boolean(),
  parent: fc.nat(),
});

/** Cell 0 is the root; the parent of every other cell is an earlier one. All children of a team are its members. */
const runs: fc.Arbitrary<readonly Party[]> = fc.array(drawn, { minLength: 1, maxLength: 7 }).map((cells) =>
  cells.map(({ agent, grants, share, messages, topics: rules, part, spawned, byOutside, parent }, no): Party => {
    const above = no === 0 ? null : parent % no;
    const cellOf = (index: number): CellId => `c${index}` as CellId;
    const definition = {
      grants,
      ...(share === undefined ? {} : { share }),
      ...(messages === undefined ? {} : { messages }),
      ...(rules === undefined ? {} : { topics: rules }),
      ...(cells[no]!.isTeam ? { team: {} } : {}),
    } as unknown as AgentDefinition;
    return {
      cell: cellOf(no),
      parent: above === null ? null : cellOf(above),
      requestedBy: above === null || byOutside ? 'outside' : cellOf(above),
      agent: { name: agent, definition },
      spawned,
      part: above !== null && cells[above]!.isTeam ? part : null,
    };
  }),
);

type Withdrawn = Readonly<Record<string, readonly GrantName[] | undefined>>;
const withdrawals: fc.Arbitrary<Withdrawn> = fc.record(
  Object.fromEntries(agents.map((name) => [name, some([...grantNames, 'share' as const])])),
  { requiredKeys: [] },
);

const doorOf = (parties: readonly Party[], withdrawn: Withdrawn): Door => {
  const door = new Door({ withdrawnFrom: (name) => withdrawn[name] ?? [] });
  for (const party of parties) door.admit(party);
  return door;
};

type Question = {
  readonly kind: CrossingKind;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly topic?: string;
  readonly unread?: true;
};

const questions = (parties: readonly Party[]): readonly Question[] => {
  const ends: readonly CrossingEnd[] = ['outside', ...parties.map(({ cell }) => cell)];
  return ends.flatMap((from) =>
    ends.flatMap((to) =>
      kinds.flatMap((kind): Question[] => {
        if (kind === 'broadcast') return topics.map((topic) => ({ kind, from, to, topic }));
        return [{ kind, from, to }, ...(kind === 'note' ? [{ kind, from, to, unread: true } as const] : [])];
      }),
    ),
  );
};

const keyOf = ({ kind, from, to, topic = '', unread }: Question): string =>
  [kind, from, to, topic, unread === true].join(' ');

/** The name of the grant for every crossing that is allowed. */
const listPermissions = (parties: readonly Party[], withdrawn: Withdrawn): ReadonlyMap<string, string> => {
  const all = new Map<string, string>();
  const allow = (
    kind: CrossingKind,
    from: CrossingEnd,
    to: CrossingEnd,
    more: { topic?: string; unread?: true; name?: string } = {},
  ): void => void all.set(keyOf({ kind, from, to, ...more }), more.name ?? kind);
  const taken = ({ agent }: Party, name: GrantName): boolean => (withdrawn[agent.name] ?? []).includes(name);
  const granted = (one: Party, name: GrantName): boolean =>
    one.agent.definition.grants.includes(name) && !taken(one, name);
  const readers = parties.filter(({ spawned, agent }) => spawned || 'messages' in agent.definition);
  for (const one of parties) {
    const { cell, parent, requestedBy, agent, part } = one;
    const team = parties.find((other) => other.cell === parent && 'team' in other.agent.definition);
    if (granted(one, 'goal')) allow('goal', requestedBy, cell);
    const isShown = (agent.definition.share ?? []).length > 0 || (parent === null && requestedBy === 'outside');
    if (isShown && !taken(one, 'share')) allow('share', requestedBy, cell);
    if (granted(one, 'result')) allow('result', cell, parent ?? 'outside');
    if (granted(one, 'note') && parent !== null) allow('note', cell, parent);
    if (granted(one, 'note') && parent !== null) allow('note', cell, parent, { unread: true });
    if (parent === null) allow('file', 'outside', cell);
    if (parent === null && !taken(one, 'history')) allow('history', 'outside', cell);
    if (team !== undefined) allow('message', team.cell, cell);
    if (team !== undefined) allow('dependency', team.cell, cell, { name: part?.part === 'task' ? part.scope : 'all' });
    const speaks = parent !== null || granted(one, 'result');
    if (speaks) allow('message', cell, 'outside');
    for (const topic of agent.definition.topics?.say ?? []) {
      if (speaks) allow('broadcast', cell, 'outside', { topic });
      for (const other of readers)
        if (other !== one && other.agent.definition.topics?.hear.includes(topic) && !(team && other.parent === parent))
          allow('broadcast', cell, other.cell, { topic });
    }
  }
  for (const one of readers) {
    allow('message', 'outside', one.cell);
    for (const topic of one.agent.definition.topics?.hear ?? []) allow('broadcast', 'outside', one.cell, { topic });
    for (const other of readers) {
      const isBeside = parties.some(
        ({ cell, agent }) => 'team' in agent.definition && cell === one.parent && cell === other.parent,
      );
      if (isBeside || !recipientsOf(one, readers).has(other) || !recipientsOf(other, readers).has(one)) continue;
      allow('message', one.cell, other.cell);
      if (!taken(one, 'note')) allow('note', one.cell, other.cell, { unread: true });
    }
  }
  return all;
};

/** Those that its definition names. */
const recipientsOf = (one: Party, all: readonly Party[]): ReadonlySet<Party> => {
  const named = (name: string): readonly Party[] => {
    if (name === 'parent') return all.filter(({ cell }) => cell === one.parent);
    if (name === 'children') return all.filter(({ parent }) => parent === one.cell);
    if (name === 'siblings') return one.parent === null ? [] : all.filter(({ parent }) => parent === one.parent);
    return all.filter(({ agent }) => agent.name === name);
  };
  const listed = (one.agent.definition.messages ?? ['parent', 'children']).flatMap(named);
  return new Set(listed.filter((other) => other !== one));
};

// invariants: mail-needs-both-names, policy-reads-no-content
test('a crossing is allowed exactly if the definitions and places of its ends allow it', () =>
  fc.assert(
    fc.property(runs, withdrawals, fc.string(), (parties, withdrawn, content) => {
      const door = doorOf(parties, withdrawn);
      const expected = listPermissions(parties, withdrawn);
      const asked = questions(parties);
      const allowed = asked.filter((question) => door.permits(question, 0));
      expect(allowed.map(keyOf).sort()).toEqual([...expected.keys()].sort());
      for (const question of allowed) {
        door.cross({ ...question, content }, { at: 0, frame: 0 });
        const [link] = door.seal()!.links;
        expect(link!.entries.at(-1)).toMatchObject({ grant: expected.get(keyOf(question)), verdict: 'granted' });
      }
    }),
    { numRuns: 300 },
  ));

// invariant: policy-reads-two-ends
test('what any other cell of the run is changes nothing', () =>
  fc.assert(
    fc.property(runs, withdrawals, (parties, withdrawn) => {
      const door = doorOf(parties, withdrawn);
      for (const question of questions(parties)) {
        const ends = parties.filter(({ cell }) => cell === question.from || cell === question.to);
        expect(doorOf(ends, withdrawn).permits(question, 0)).toBe(door.permits(question, 0));
      }
    }),
    { numRuns: 40 },
  ));

// invariant: fork-only-removes
test('what an operator withdraws allows nothing more', () =>
  fc.assert(
    fc.property(runs, withdrawals, (parties, withdrawn) => {
      const [before, after] = [doorOf(parties, {}), doorOf(parties, withdrawn)];
      const more = questions(parties).filter((one) => after.permits(one, 0) && !before.permits(one, 0));
      expect(more).toEqual([]);
    }),
    { numRuns: 100 },
  ));
