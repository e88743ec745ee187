// GET /v1/agents: what a caller is told about its agents, and the operator about all of them.
// invariants: topology-of-caller
import { expect, onTestFinished, test } from 'vitest';
import { defineAgent, hashToken, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { buildServer } from '../../../src/app/build-server.ts';
import { getRequest } from './local-requests.ts';

const serve = async () => {
  const models = [rehearse([{ reply: 'Done.' }])];
  const common = { description: 'Works.', prompt: 'Work.', models };
  const scout = defineAgent({
    ...common,
    name: 'scout',
    tools: ['read_file'],
    messages: ['aide'],
    topics: { hear: ['news'] },
  });
  const aide = defineAgent({ ...common, name: 'aide', messages: ['scout'], topics: { say: ['news'] } });
  const lead = defineAgent({
    ...common,
    name: 'lead',
    agents: [scout, aide],
    messages: ['parent', 'children', 'aide', 'other'],
    budget: { tokens: 9000 },
    approve: ['scout'],
  });
  const other = defineAgent({ ...common, name: 'other', agents: [scout] });
  const cloister = await openCloister({ agents: [lead, other], store: 'memory' });
  const tokens = [
    { name: 'ann', sha256: hashToken('ann'), agents: ['lead'] },
    { name: 'boss', sha256: hashToken('boss'), operator: true },
    { name: 'board', sha256: hashToken('board'), operator: true, may: ['watch' as const] },
  ];
  let checks = 0;
  const checkTopology = async () => {
    checks += 1;
    return { worstCase: { agents: 3, depth: 1, tokens: 9000, usd: null }, warnings: ['lead: no timeout'] };
  };
  const server = await buildServer(cloister, { tokens }, { checkTopology });
  onTestFinished(() => cloister.close());
  const get = async (token: string): Promise<any> => (await server.fetch(getRequest('/v1/agents', token))).json();
  return { get, checks: () => checks };
};

test('a caller is told about the agents that it may use, and the names of those below them', async () => {
  const { get } = await serve();
  const { agents, topology } = await get('ann');
  expect(agents).toEqual([
    {
      name: 'lead',
      description: 'Works.',
      models: ['rehearsal/rehearsal'],
      tools: [],
      agents: ['scout', 'aide'],
      team: false,
      topics: [],
      // That there is an `other` is not for everybody to know.
      messages: ['parent', 'children', 'aide'],
      approve: ['scout'],
      budget: { tokens: 9000 },
    },
  ]);
  expect(topology).toEqual({
    edges: [
      { from: 'lead', to: 'scout', kind: 'calls' },
      { from: 'lead', to: 'aide', kind: 'calls' },
      { from: 'scout', to: 'aide', kind: 'messages' },
      { from: 'aide', to: 'scout', kind: 'messages' },
      { from: 'aide', to: 'scout', kind: 'topic' },
    ],
    worstCase: null,
    warnings: [],
  });
});

test('an operator is told about all of them, and what the check finds, which is looked for once', async () => {
  const { get, checks } = await serve();
  const { agents, topology } = await get('boss');
  expect(agents.map(({ name }: any) => name)).toEqual(['lead', 'other', 'scout', 'aide']);
  expect(agents.find(({ name }: any) => name === 'scout').tools).toEqual(['read_file']);
  expect(agents[0].messages).toEqual(['parent', 'children', 'aide', 'other']);
  expect(topology).toMatchObject({ worstCase: { agents: 3, tokens: 9000 }, warnings: ['lead: no timeout'] });
  expect(topology.edges).toContainEqual({ from: 'other', to: 'scout', kind: 'calls' });
  await get('boss');
  expect(checks()).toBe(1);
  expect((await get('board')).agents).toEqual([]);
});
