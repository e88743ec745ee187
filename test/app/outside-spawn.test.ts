// Agents that somebody outside starts under a live one: by code, within the `spawns` of the agent above.
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { AgentOptions, Cloister, RunSession } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import type { RequestView } from 'cloister/testkit';

const clean = { ok: true, problems: [] };

/** A resident lead that may spawn scouts; every agent repeats what it heard. */
const open = async (spawns: Partial<NonNullable<AgentOptions['spawns']>> = {}, more: Partial<AgentOptions> = {}) => {
  const requests: RequestView[] = [];
  const model = rehearse([
    {
      reply: (request) => {
        requests.push(request);
        if (request.agent === 'scout' && request.lastText.endsWith('Fail.')) return { fault: 401 };
        const order = /(?<tool>list_spawned_agents|spawn_agent|receive_message) (?<args>\{.*\})$/u.exec(
          request.lastText,
        );
        if (order?.groups !== undefined && request.toolResults.length === 0)
          return {
            calls: [{ tool: order.groups['tool']!, args: JSON.parse(order.groups['args']!) as object as never }],
          };
        const results = request.toolResults.map(({ text }) => text).join(' ');
        return `${request.agent} heard ${results === '' ? request.lastText.split('\n').at(-1)! : results}`;
      },
    },
  ]);
  const common = { prompt: 'Work.', models: [model] };
  const scout = defineAgent({ ...common, name: 'scout', description: 'Scouts.', topics: { hear: ['news'] } });
  const shy = defineAgent({ ...common, name: 'shy', description: 'Takes no goal.', grants: ['result'] });
  const lead = defineAgent({
    ...common,
    name: 'lead',
    description: 'Leads.',
    tools: ['spawn_agent', 'list_spawned_agents', 'receive_message'],
    spawns: { agents: [scout, shy], ...spawns },
    ...more,
  });
  const clock = virtualClock(1_000_000);
  const cloister = await openCloister({ agents: [lead, scout], store: 'memory', clock });
  return { cloister, clock, requests };
};

const finish = async (cloister: Cloister, session: RunSession) => {
  session.finish();
  const outcome = await session.outcome;
  expect(await cloister.audit(session.run)).toMatchObject(clean);
  expect((await cloister.replay(session.run)).differences).toEqual([]);
  return outcome;
};

// invariant: outside-spawn-from-log
test('agents that were started by both are named in the same order on a replay', async () => {
  const { cloister } = await open();
  const session = await cloister.spawn('lead');
  await session.ask('spawn_agent {"agent_id":"scout","initial_message":"Fail."}');
  const { sub_agent_id: other } = await session.spawn({ agent: 'scout', goal: 'Fail.' });
  await session.ask('hello');
  expect(await finish(cloister, session)).toMatchObject({ status: 'partial', missing: ['scout', other] });
});

// invariant: outside-spawn-goal-from-outside
test('an agent is started from outside: it sees the goal only, and its parent gets the result as mail', async () => {
  const { cloister, requests } = await open();
  const session = await cloister.spawn('lead');
  const started = await session.spawn({ agent: 'scout', goal: 'Look around.', metadata: { role: 'eyes' } });
  const [lead] = session.agents();
  expect(started).toMatchObject({
    sub_agent_id: 'scout',
    parent: lead!.cell,
    status: 'running',
    subscribed_topics: [],
  });
  expect(await session.ask('hello', { to: 'scout' })).toMatchObject({ text: 'scout heard hello' });
  expect(JSON.stringify(requests[0]!.messages)).toContain('Look around.');
  const listed = await session.ask('list_spawned_agents {}');
  expect(listed.text).toContain('"sub_agent_id":"scout"');
  session.finish('scout');
  expect((await session.ask('receive_message {}')).text).toContain('scout has ended (message_type: result');
  await finish(cloister, session);
  const { cells, events } = await cloister.show(session.run);
  expect(cells.map(({ agent, parent }) => [agent, parent])).toEqual([
    ['lead', null],
    ['scout', lead!.cell],
  ]);
  // The goal is a crossing from outside, under its own grant.
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'crossing', kind: 'goal', from: 'outside', to: started.cell, grant: 'goal' }),
  );
});

describe('what the parent may not start, nobody outside may start under it', () => {
  const refusal = async (promise: Promise<unknown>) =>
    promise.then(
      () => 'started',
      (error: Error) => error.message,
    );

  // invariant: outside-spawn-by-parent-rules
  test.each([
    ['another agent', { agent: 'lead' }, 'AGENT_NOT_FOUND'],
    ['a topic that the agent may not hear', { agent: 'scout', topics: ['secrets'] }, 'NOT_ALLOWED'],
    ['an invalid workflow', { agent: 'scout', workflow: '../up' }, 'NOT_ALLOWED'],
    ['a goal for an agent that takes none', { agent: 'shy', goal: 'Go.' }, 'shy accepts no goal'],
    ['an empty goal', { agent: 'scout', goal: ' ' }, 'The goal is empty'],
    ['under an agent that does not live', { agent: 'scout', parent: 'nobody' }, 'No live agent is named "nobody"'],
  ])('%s', async (_what, request, problem) => {
    const { cloister } = await open();
    const session = await cloister.spawn('lead', { message: 'hello' });
    await session.answer();
    expect(await refusal(session.spawn(request))).toContain(problem);
    expect(session.agents()).toHaveLength(1);
    await finish(cloister, session);
  });

  // invariant: outside-spawn-by-parent-rules
  test('children and spawns a minute count together with those that its model started', async () => {
    const { cloister, clock } = await open({ children: 2, perMinute: 3 });
    const session = await cloister.spawn('lead');
    await session.ask('spawn_agent {"agent_id":"scout"}');
    const second = await session.spawn({ agent: 'scout' });
    expect(second.sub_agent_id).toMatch(/^scout-[0-9a-f]{6}$/u);
    expect(await refusal(session.spawn({ agent: 'scout' }))).toContain('SPAWN_LIMIT');
    expect((await session.ask('spawn_agent {"agent_id":"scout"}')).text).toContain('SPAWN_LIMIT');
    session.finish(second.sub_agent_id);
    await clock.advance(10_000);
    await session.spawn({ agent: 'scout' });
    session.finish('scout');
    await clock.advance(10_000);
    expect(await refusal(session.spawn({ agent: 'scout' }))).toContain('SPAWN_RATE');
    expect((await session.ask('spawn_agent {"agent_id":"scout"}')).text).toContain('SPAWN_RATE');
    await clock.advance(60_000);
    await session.spawn({ agent: 'scout' });
    await finish(cloister, session);
  });

  test('depth, and the budget of the run', async () => {
    const { cloister } = await open({ depth: 1 });
    const session = await cloister.spawn('lead', { budget: { spawns: 1 } });
    const { sub_agent_id: name } = await session.spawn({ agent: 'scout' });
    expect(await refusal(session.spawn({ agent: 'scout', parent: name }))).toContain('NOT_ALLOWED');
    expect(await refusal(session.spawn({ agent: 'scout' }))).toContain('SPAWN_LIMIT');
    await finish(cloister, session);
    expect(await refusal(session.spawn({ agent: 'scout' }))).toContain('has ended');
  });

  test('under an agent without `spawns`', async () => {
    const { cloister } = await open();
    const session = await cloister.spawn('scout');
    expect(await refusal(session.spawn({ agent: 'scout' }))).toContain('NOT_ALLOWED: scout has no `spawns`');
    await finish(cloister, session);
  });
});
