// Agents in code name in `spawns` other agents of their Cloister.
// invariant: spawns-linked-once
import fc from 'fast-check';
import { defineAgent, defineTeam, openCloister } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { ai, createFolders } from './driver.ts';

const reply = ({ agent, toolResults }: RequestView): ScriptedReply => {
  if (agent === 'writer') return { text: 'Written.' };
  const calls = [{ tool: 'spawn_agent', args: { agent_id: 'writer', initial_message: 'Write.' } }];
  return toolResults.length === 0 ? { calls } : { text: 'Done.' };
};

const models = [rehearse([{ reply }])];

const define = (name: string, more: object = {}): Agent =>
  defineAgent({ name, description: `It is ${name}.`, prompt: 'Do it.', models, ...more });

const spawner = (name: string, ...spawns: readonly (string | Agent)[]): Agent =>
  define(name, { tools: ['spawn_agent'], spawns });

const open = async (agents: readonly (Agent | string)[], more: object = {}) => {
  const cloister = await openCloister({ agents, store: 'memory', ...more });
  onTestFinished(() => cloister.close());
  return cloister;
};

test('an agent is spawned by the name under which the Cloister has it, however the run is started', async () => {
  const lead = spawner('lead', 'writer');
  const cloister = await open([lead, define('writer')]);
  for (const agent of ['lead', lead]) {
    const { run, status, spawned } = await cloister.run(agent, 'Go.').outcome;
    expect({ status, spawned }).toMatchObject({ status: 'completed', spawned: [{ output: 'Written.' }] });
    expect((await cloister.audit(run)).ok).toBe(true);
    expect((await cloister.replay(run)).ok).toBe(true);
  }
});

test('a name means the same agent as the agent itself', async () => {
  const writer = define('writer');
  const other = define('other');
  const [named, given] = [spawner('lead', 'writer', other, 'self'), spawner('lead', writer, other, 'self')];
  const digestOf = async (lead: Agent) => (await open([lead, writer])).agents[0]!.digest;
  expect(await digestOf(named)).toBe(await digestOf(given));
  // Also below others: sub-agents, agents that are spawned, members of a team.
  for (const wrap of [
    (one: Agent) => define('top', { agents: [one] }),
    (one: Agent) => spawner('top', one),
    (one: Agent) => defineTeam({ name: 'top', agents: [one] }),
  ]) {
    const { agents } = await open([wrap(named), writer]);
    const [top] = agents;
    const below = [...top!.children.agents, ...top!.children.spawnable, ...(top!.team?.members ?? [])];
    expect(below[0]!.children.spawnable.map(({ name }) => name)).toEqual(['writer', 'other']);
  }
});

test('an agent from a file can be named too, and one that is registered later names those that are there', async () => {
  const folders = createFolders({ 'writer.ai': ai() });
  const cloister = await open([spawner('lead', 'writer'), 'writer.ai'], { cwd: folders.cwd, models, env: {} });
  expect((await cloister.run('lead', 'Go.').outcome).spawned).toMatchObject([{ output: 'Written.' }]);
  cloister.register(spawner('second', 'writer'));
  expect((await cloister.run('second', 'Go.').outcome).spawned).toMatchObject([{ output: 'Written.' }]);
  const before = cloister.agents.find(({ name }) => name === 'second')!;
  cloister.register(define('writer', { prompt: 'Do something else.' }));
  expect(cloister.agents.find(({ name }) => name === 'second')).toBe(before);
  expect(() => cloister.register(spawner('third', 'nobody'))).toThrow('"nobody" is not one of');
});

test.each<[string, readonly Agent[], RegExp]>([
  [
    'unknown',
    [spawner('lead', 'writter'), define('writer')],
    /Agent "lead": spawns\.agents: "writter" is not one of: writer\. Did you mean "writer"\? Give it to openCloister too/u,
  ],
  ['the only agent', [spawner('lead', 'writer')], /no agent is named "writer"\. Give it to openCloister too/u],
  ['a cycle', [spawner('lead', 'writer'), spawner('writer', 'lead')], /in a cycle: lead → writer → lead/u],
  ['itself', [spawner('lead', 'lead')], /in a cycle: lead → lead\. An agent can spawn itself as "self"/u],
  ['a team', [spawner('lead', 'crew'), defineTeam({ name: 'crew', agents: [define('writer')] })], /"crew" is a team/u],
])('a name that cannot be spawned is refused when the Cloister is opened: %s', async (_, agents, words) => {
  await expect(open(agents)).rejects.toThrow(words);
  // The same with a config.
  const folders = createFolders({ 'file.ai': ai() });
  await expect(open([...agents, 'file.ai'], { cwd: folders.cwd, models, env: {} })).rejects.toThrow(
    /spawns\.agents: /u,
  );
});

test('any graph of names is linked as it is written, or refused because it has a cycle', async () => {
  const names = ['a', 'b', 'c', 'd'] as const;
  const graph = fc.tuple(...names.map(() => fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 })));
  const reaches = (edges: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean => {
    const seen = new Set<string>();
    const pending = [...edges.get(from)!];
    for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
      if (one === to) return true;
      if (!seen.has(one)) pending.push(...edges.get(one)!);
      seen.add(one);
    }
    return false;
  };
  await fc.assert(
    fc.asyncProperty(graph, async (rows) => {
      const edges = new Map(names.map((name, index) => [name as string, rows[index]!]));
      const given = names.map((name) =>
        edges.get(name)!.length === 0 ? define(name) : spawner(name, ...edges.get(name)!),
      );
      const hasCycle = names.some((name) => reaches(edges, name, name));
      const opened = await openCloister({ agents: given, store: 'memory' }).catch((error: Error) => error.message);
      if (typeof opened === 'string') {
        expect(opened).toContain('in a cycle');
        expect(hasCycle).toBe(true);
        return;
      }
      expect(hasCycle).toBe(false);
      for (const { name, children } of opened.agents)
        expect(children.spawnable.map((one) => one.name)).toEqual(edges.get(name));
      await opened.close();
    }),
    { numRuns: 100 },
  );
});
