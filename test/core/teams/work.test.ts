// How a team works through its tasks: order, parallel work, failures, retries, messages, budgets, time, stopping from outside.
import { describe, expect, test } from 'vitest';
import { CloisterError, defineTeam } from 'cloister';
import type { Task } from 'cloister';
import { task, TeamStage } from './stage.ts';

const titleOf = (prompt: string): string => /^# Task: Title (\S+)/u.exec(prompt)?.[1] ?? '';
const states = (tasks: readonly Task[]) => Object.fromEntries(tasks.map(({ id, status }) => [id, status]));
const failing = (...ids: readonly string[]) =>
  new TeamStage(({ prompt }) => {
    if (ids.includes(titleOf(prompt))) throw new Error('no');
    return { text: `did ${titleOf(prompt)}`, ms: 10 };
  });
const clean = { ok: true, problems: [] };

describe('order and capacity', () => {
  test('ready tasks run in parallel up to the cap, by priority and then in order', async () => {
    let [running, most] = [0, 0];
    const stage: TeamStage = new TeamStage(() => {
      most = Math.max(most, ++running);
      void stage.clock.timer(9, () => running--);
      return { text: 'x', ms: 10 };
    });
    const tasks = [task('a'), task('b', [], { priority: 5 }), task('c'), task('d', [], { priority: 9 }), task('e')];
    await stage.run(stage.team(['ann'], { parallel: 2 }), tasks);
    expect(most).toBe(2);
    expect(stage.requests.map(({ prompt }) => titleOf(prompt))).toEqual(['d', 'b', 'a', 'c', 'e']);
  });

  test('a task without assignee goes to the member with the most capacity; two tasks of one member are two cells', async () => {
    const stage = failing();
    const team = stage.team(['ann', 'bob'], { parallel: 3, capacity: { ann: 1, bob: 2 } });
    const { cloister, session, tasks } = await stage.run(team, [task('a'), task('b'), task('c')]);
    expect(tasks.map(({ assignee }) => assignee)).toEqual(['bob', 'ann', 'bob']);
    const reports = await cloister.tasks(session.run);
    expect(new Set(reports.flatMap(({ cells }) => cells)).size).toBe(3);
  });

  test('a busy member does not hold up the others', async () => {
    const stage = failing();
    const team = stage.team(['ann', 'bob'], { parallel: 4, capacity: { ann: 1 } });
    const tasks = [
      task('a', [], { assignee: 'ann' }),
      task('b', [], { assignee: 'ann' }),
      task('c', [], { assignee: 'bob' }),
    ];
    await stage.run(team, tasks);
    expect(stage.requests.map(({ prompt }) => titleOf(prompt))).toEqual(['a', 'c', 'b']);
  });
});

describe('failures', () => {
  test('a failure blocks only its dependents, with the reason, and the rest is done', async () => {
    const stage = failing('b');
    const { cloister, session, outcome, tasks } = await stage.run(stage.team(['ann']), [
      task('a'),
      task('b', ['a']),
      task('c', ['b']),
      task('d', ['c']),
      task('e', ['a']),
    ]);
    expect(states(tasks)).toEqual({ a: 'completed', b: 'failed', c: 'blocked', d: 'blocked', e: 'completed' });
    expect(session.queue.get('d')?.reason).toMatchObject({ code: 'dependency', task: 'b' });
    expect(session.queue.get('b')?.reason).toMatchObject({ code: 'failed', error: 'model_server' });
    expect(outcome).toMatchObject({
      status: 'partial',
      output: expect.stringMatching(/^## Title e \(by ann\)\n\ndid e\n\nMissing from this answer:\n- Title b /u),
      missing: ['b', 'c', 'd'],
    });
    expect(await cloister.audit(session.run)).toMatchObject(clean);
  });

  test('a task is retried after a pause that doubles, is shown the same, and may succeed', async () => {
    let left = 2;
    const times: number[] = [];
    const stage: TeamStage = new TeamStage(({ prompt }) => {
      if (titleOf(prompt) !== 'b') return 'x';
      times.push(stage.clock.now());
      if (left-- > 0) throw new Error('not yet');
      return 'done';
    });
    const { tasks, session, cloister } = await stage.run(stage.team(['ann'], { backOffMs: 1_000 }), [
      task('a'),
      task('b', ['a'], { retries: 3 }),
    ]);
    expect(tasks[1]).toMatchObject({ status: 'completed', attempts: 3, result: 'done' });
    expect([times[1]! - times[0]!, times[2]! - times[1]!]).toEqual([1_000, 2_000]);
    const shown = stage.requests.filter(({ prompt }) => titleOf(prompt) === 'b').map(({ prompt }) => prompt);
    expect(new Set(shown).size).toBe(1);
    expect(await cloister.audit(session.run)).toMatchObject(clean);
    expect((await cloister.replay(session.run)).differences).toEqual([]);
  });

  test('a partial answer does not complete a task', async () => {
    const stage = new TeamStage(() => ({ text: 'so far', call: { tool: 'list_files', args: {} } }));
    const agent = stage.agent('ann', { tools: ['list_files'], limits: { maxToolTurns: 1, maxRetries: 0 } });
    const team = defineTeam({ name: 'crew', agents: [agent] });
    const { tasks, outcome } = await stage.run(team, [task('a')]);
    expect(tasks[0]).toMatchObject({ status: 'failed', result: null });
    expect(outcome.status).toBe('failed');
  });

  test('when everything fails the run fails and reports why', async () => {
    const stage = failing('a');
    const { outcome } = await stage.run(stage.team(['ann']), [task('a')]);
    expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'model_server' } });
  });
});

describe('odd names and many dependencies', () => {
  test('members may be named like built-in object properties', async () => {
    const stage = failing();
    const { outcome } = await stage.run(stage.team(['constructor', 'toString']), [task('a'), task('b'), task('c')]);
    expect(outcome.status).toBe('completed');
  });

  test('of many results each is shown in part, and none is omitted', async () => {
    const stage = new TeamStage(({ prompt }) => (titleOf(prompt) === 'end' ? 'done' : 'x'.repeat(7_000)));
    const parts = Array.from({ length: 120 }, (_, index) => task(`t${index}`));
    const { cloister, session } = await stage.run(stage.team(['ann'], { parallel: 20 }), [
      ...parts,
      task(
        'end',
        parts.map(({ id }) => id!),
      ),
    ]);
    const shown = stage.shown('Title end');
    expect(shown.match(/^### Title t\d+ \(by ann\)$/gmu)).toHaveLength(120);
    expect(shown.match(/^## Context from prerequisite tasks$/gmu)).toHaveLength(1);
    expect(shown.match(/read_output/gu)!.length).toBe(120);
    expect(await cloister.audit(session.run)).toMatchObject(clean);
  });

  test('completed results are the output, even if their dependents were not done', async () => {
    const stage = failing('page');
    const { outcome } = await stage.run(stage.team(['ann']), [task('facts'), task('licence'), task('page', ['facts'])]);
    expect(outcome.output).toContain('## Title facts (by ann)\n\ndid facts');
    expect(outcome.output).toContain('## Title licence (by ann)\n\ndid licence');
    expect(outcome.output).toContain('Missing from this answer:\n- Title page');
  });
});

describe('conditions', () => {
  test('a task skipped by its condition blocks no task, and is not missing', async () => {
    const stage = new TeamStage(({ prompt }) => (titleOf(prompt) === 'route' ? 'Billing.' : `did ${titleOf(prompt)}`));
    const { outcome, tasks } = await stage.run(stage.team(['ann']), [
      task('route'),
      task('billing', ['route'], { when: { task: 'route', is: 'billing' } }),
      task('tech', ['route'], { when: { task: 'route', is: 'tech' } }),
      task('answer', ['billing', 'tech']),
    ]);
    expect(states(tasks)).toEqual({ route: 'completed', billing: 'completed', tech: 'skipped', answer: 'completed' });
    expect(outcome).toMatchObject({ status: 'completed', missing: [] });
    expect(stage.shown('Title answer')).not.toContain('Title tech');
  });
});

describe('messages', () => {
  const talking = (to: string) =>
    new TeamStage(({ prompt, options }) => {
      const isFirst = titleOf(prompt) === 'a' && !options.prompt.some(({ role }) => role === 'tool');
      return isFirst
        ? { text: '', call: { tool: 'send_message', args: { to, message: 'Use metres.' } } }
        : { text: `did ${titleOf(prompt)}`, ms: 10 };
    });
  const crew = (stage: TeamStage, messages: boolean | Record<string, readonly string[]>) =>
    defineTeam({
      name: 'crew',
      agents: [stage.agent('ann', { tools: ['send_message'] }), stage.agent('bob')],
      parallel: 1,
      messages,
    });

  test('a message is shown once, to its recipient’s earliest task that has not started', async () => {
    const stage = talking('bob');
    const { cloister, session } = await stage.run(crew(stage, true), [
      task('z', [], { assignee: 'bob', priority: 9 }),
      task('a', [], { assignee: 'ann', priority: 5 }),
      task('b', ['a'], { assignee: 'bob' }),
      task('c', ['a'], { assignee: 'bob', priority: 3 }),
    ]);
    // The later task is more urgent and starts first; the message is for the earlier one.
    expect(stage.requests.map(({ prompt }) => titleOf(prompt))).toEqual(['z', 'a', 'a', 'c', 'b']);
    expect(stage.shown('Title b')).toContain('## Messages from team members\n- **ann**:\n');
    expect(stage.shown('Title b')).toContain('| Use metres.');
    expect(stage.shown('Title c')).not.toContain('metres');
    expect(stage.shown('Title z')).not.toContain('metres');
    expect(await cloister.audit(session.run)).toMatchObject(clean);
    expect((await cloister.replay(session.run)).differences).toEqual([]);
  });

  test('members that may not message each other are shown that there is no one to message', async () => {
    for (const messages of [false, { bob: ['ann'] }]) {
      const stage = talking('bob');
      const { cloister, session } = await stage.run(crew(stage, messages), [
        task('a', [], { assignee: 'ann' }),
        task('b', ['a'], { assignee: 'bob' }),
      ]);
      const summary = JSON.stringify(
        stage.requests.find(({ options }) => options.prompt.some(({ role }) => role === 'tool'))?.options,
      );
      expect(summary).toContain('AGENT_NOT_FOUND');
      expect(stage.shown('Title b')).not.toContain('metres');
      expect(await cloister.audit(session.run)).toMatchObject(clean);
    }
  });

  test('members’ own definitions do not let them bypass their team, nor publish to a working task', async () => {
    const isNew = (options: { readonly prompt: readonly { readonly role: string }[] }): boolean =>
      !options.prompt.some(({ role }) => role === 'tool');
    const stage: TeamStage = new TeamStage(({ agent, options }) => {
      if (agent === 'ann' && isNew(options))
        return { text: '', ms: 20, call: { tool: 'send_message', args: { to: 'bob', message: 'psst' } } };
      if (agent === 'cat' && isNew(options))
        return { text: '', ms: 20, call: { tool: 'publish', args: { topic: 'hall', message: 'psst' } } };
      if (agent === 'bob' && isNew(options)) return { text: '', call: { tool: 'subscribe', args: { topic: 'hall' } } };
      return { text: 'done', ms: 100 };
    });
    const tools = ['send_message', 'receive_message', 'publish', 'subscribe'] as const;
    const agents = ['ann', 'bob', 'cat'].map((name) =>
      stage.agent(name, { tools: [...tools], messages: ['siblings', 'parent'], topics: ['hall'] }),
    );
    const team = defineTeam({ name: 'crew', agents });
    const { cloister, session } = await stage.run(
      team,
      ['ann', 'bob', 'cat'].map((name) => task(name, [], { assignee: name })),
    );
    const mail = await cloister.mail(session.run);
    expect(mail.filter(({ state }) => state !== 'dead')).toEqual([]);
    expect(JSON.stringify(stage.requests.filter(({ agent }) => agent === 'ann'))).toContain('AGENT_NOT_FOUND');
    expect(await cloister.audit(session.run)).toMatchObject(clean);
  });

  test('a message from outside reaches the member it is addressed to; one to the team itself is refused', async () => {
    const stage = failing();
    const team = stage.team(['ann', 'bob'], { parallel: 1 });
    const cloister = await stage.open(team);
    const session = cloister.runTasks(team, [
      task('a', [], { assignee: 'ann' }),
      task('b', ['a'], { assignee: 'bob' }),
    ]);
    session.send('Be brief.', { to: 'bob' });
    expect(() => session.send('Hello')).toThrow(/one of: ann, bob/u);
    await stage.clock.advance(1);
    expect(session.getMessages('bob')).toMatchObject([{ from: null, to: 'bob', content: 'Be brief.' }]);
    await stage.finish(session);
    expect(stage.shown('Title b')).toContain('- **the user**:\n');
    expect(stage.shown('Title a')).not.toContain('brief');
    expect(await cloister.audit(session.run)).toMatchObject(clean);
  });
});

describe('while the coordinator plans', () => {
  const planning = (ids: readonly string[]) => {
    const plans = [ids].map((list) => JSON.stringify({ tasks: list.map((id) => task(id, [], { assignee: 'bob' })) }));
    return new TeamStage(({ prompt }) => {
      if (prompt.includes('# The team')) return { text: plans.shift()!, ms: 50 };
      return prompt.startsWith('# Goal') ? 'All.' : `did ${titleOf(prompt)}`;
    });
  };
  const start = async (stage: TeamStage) => {
    const team = stage.team(['ann', 'bob'], { coordinator: stage.agent('lead') });
    const cloister = await stage.open(team);
    const session = cloister.runTeam(team, 'Go.');
    await stage.clock.advance(10);
    return { cloister, session };
  };

  test('a message that arrives is shown to the first task of its recipient', async () => {
    const stage = planning(['a']);
    const { cloister, session } = await start(stage);
    session.send('Be brief.', { to: 'bob' });
    await stage.finish(session);
    expect(stage.shown('Title a')).toContain('| Be brief.');
    expect(await cloister.audit(session.run)).toMatchObject(clean);
    expect((await cloister.replay(session.run)).differences).toEqual([]);
  });

  test('added tasks wait for the plan and are checked together with it; the coordinator does not see them', async () => {
    const stage = planning(['a', 'b']);
    const { cloister, session } = await start(stage);
    const twice = session.addTasks([task('a', [], { assignee: 'ann' })]);
    const refused = twice.then(
      () => 'taken',
      (error: CloisterError) => error.message,
    );
    const added = session.addTasks([task('c', ['a'], { assignee: 'ann' })]);
    expect(await stage.finish(session)).toMatchObject({ status: 'completed', output: 'All.' });
    expect(await refused).toMatch(/a task with the id "a" already exists/u);
    await added;
    expect([...session.queue.tasks()].map(({ id, status }) => [id, status])).toEqual([
      ['a', 'completed'],
      ['b', 'completed'],
      ['c', 'completed'],
    ]);
    expect(stage.requests.filter(({ agent }) => agent === 'lead')).toHaveLength(2);
    expect(await cloister.audit(session.run)).toMatchObject(clean);
  });
});

describe('adding tasks to a running team', () => {
  test('added tasks are done, with the same checks', async () => {
    const stage = failing();
    const team = stage.team(['ann']);
    const cloister = await stage.open(team);
    const session = cloister.runTasks(team, [task('a')]);
    const wrong = [
      [task('a')],
      [task('b', ['nowhere'])],
      [task('b', ['c']), task('c', ['b'])],
      [task('b', [], { assignee: 'zoe' })],
      [],
    ];
    for (const tasks of wrong)
      await expect(session.addTasks(tasks)).rejects.toThrow(
        expect.objectContaining({ failure: expect.objectContaining({ code: 'tasks_invalid' }) }),
      );
    await session.addTasks([task('b', ['a'])]);
    // Named before they are added.
    await expect(session.addTasks([task('b')])).rejects.toThrow(CloisterError);
    await session.addTasks([task('c', ['b'])]);
    const outcome = await stage.finish(session);
    expect(outcome).toMatchObject({ status: 'completed', output: 'did c' });
    await expect(session.addTasks([task('d')])).rejects.toThrow(/has ended/u);
    expect(await cloister.audit(session.run)).toMatchObject(clean);
    expect((await cloister.replay(session.run)).differences).toEqual([]);
    expect((await cloister.tasks(session.run)).map(({ id, status }) => [id, status])).toEqual([
      ['a', 'completed'],
      ['b', 'completed'],
      ['c', 'completed'],
    ]);
  });
});

describe('stopped from outside', () => {
  test('a cancelled team stops running tasks and skips the rest', async () => {
    const stage = failing();
    const team = stage.team(['ann'], { parallel: 1 });
    const cloister = await stage.open(team);
    const session = cloister.runTasks(team, [task('a'), task('b'), task('c', ['b'])]);
    await stage.clock.advance(12);
    session.cancel();
    const outcome = await stage.finish(session);
    expect(outcome).toMatchObject({
      status: 'cancelled',
      output: expect.stringContaining('did a\n\nMissing from this answer:'),
    });
    expect(states([...session.queue.tasks()])).toEqual({ a: 'completed', b: 'skipped', c: 'skipped' });
    expect(session.queue.get('c')?.reason).toMatchObject({ code: 'aborted' });
    expect((await cloister.tasks(session.run)).map(({ status }) => status)).toEqual([
      'completed',
      'skipped',
      'skipped',
    ]);
    expect(await cloister.audit(session.run)).toMatchObject(clean);
  });

  test('a team that is asked to finish completes running tasks and starts nothing more', async () => {
    const stage = failing();
    const team = stage.team(['ann'], { parallel: 1 });
    const cloister = await stage.open(team);
    const session = cloister.runTasks(team, [task('a'), task('b', ['a'])]);
    await stage.clock.advance(5);
    session.finish();
    expect(await stage.finish(session)).toMatchObject({
      status: 'partial',
      output: expect.stringContaining('did a\n\nMissing from this answer:'),
      missing: ['b'],
    });
    expect(await cloister.audit(session.run)).toMatchObject(clean);
  });

  test('a team whose time is up ends with the results so far, even while a task waits for its retry', async () => {
    const stage = failing('b');
    const { outcome, tasks } = await stage.run(stage.team(['ann'], { budget: { ms: 500 }, backOffMs: 400 }), [
      task('a'),
      task('b', ['a'], { retries: 5 }),
      task('c', ['b']),
    ]);
    expect(outcome).toMatchObject({ status: 'timeout', output: expect.stringContaining('did a\n') });
    expect(states(tasks)).toEqual({ a: 'completed', b: 'skipped', c: 'skipped' });
  });
});

describe('budgets', () => {
  test('the budget of a team is one account; tasks it cannot afford are skipped with that reason', async () => {
    const stage = failing();
    const { cloister, session, outcome, tasks } = await stage.run(
      stage.team(['ann'], { parallel: 1, budget: { tokens: 1_100 } }),
      Array.from({ length: 120 }, (_, index) => task(`t${index}`)),
    );
    const done = tasks.filter(({ status }) => status === 'completed').length;
    expect(done).toBeGreaterThan(3);
    expect(done).toBeLessThan(120);
    for (const one of tasks.slice(done)) expect(one).toMatchObject({ status: 'skipped', reason: { code: 'budget' } });
    expect(outcome.status).toBe('partial');
    expect(outcome.spent.inputTokens + outcome.spent.outputTokens).toBeLessThanOrEqual(1_100);
    expect(await cloister.audit(session.run)).toMatchObject(clean);
  });

  test('the spawn cap counts tasks', async () => {
    const stage = failing();
    const { tasks } = await stage.run(stage.team(['ann'], { parallel: 1, budget: { spawns: 2 } }), [
      task('a'),
      task('b'),
      task('c'),
    ]);
    expect(states(tasks)).toEqual({ a: 'completed', b: 'completed', c: 'skipped' });
    expect(tasks[2]!.reason).toMatchObject({ code: 'budget' });
  });

  test('one spawn is reserved for the answer', async () => {
    const stage: TeamStage = new TeamStage(({ prompt }) => (prompt.startsWith('# Goal') ? 'Answered.' : 'x'));
    const team = stage.team(['ann'], { parallel: 1, coordinator: stage.agent('lead'), budget: { spawns: 3 } });
    const { outcome, tasks } = await stage.run(team, [task('a'), task('b'), task('c')], { answer: true });
    expect(states(tasks)).toEqual({ a: 'completed', b: 'completed', c: 'skipped' });
    expect(outcome.output).toContain('Answered.');
  });

  test('tasks leave the coordinator enough to answer with the results so far', async () => {
    const stage: TeamStage = new TeamStage(({ prompt }) =>
      prompt.startsWith('# Goal') ? 'Answered.' : { text: 'x', tokens: 1_200 },
    );
    const team = stage.team(['ann'], { parallel: 1, coordinator: stage.agent('lead'), budget: { tokens: 60_000 } });
    const tasks = Array.from({ length: 60 }, (_, index) => task(`t${index}`));
    const { outcome } = await stage.run(team, tasks, { answer: true, goal: 'Much.' });
    expect(outcome.status).toBe('partial');
    expect(outcome.output.startsWith('Answered.\n\nMissing from this answer:\n')).toBe(true);
  });
});

// invariant: team-reads-before-deciding
test('tasks that end together are handled together: the log and the team agree on every task', async () => {
  const stage: TeamStage = new TeamStage(() => {
    throw new Error('It cannot.');
  });
  const team = stage.team(['ann', 'bob'], { parallel: 2, budget: { spawns: 2 } });
  // When a and b have failed, c may no longer be started; d is blocked by b, which had ended by then.
  const asked = [task('a'), task('b'), task('c'), task('d', ['b', 'c'])];
  const { cloister, session, tasks, outcome } = await stage.run(team, asked);
  const summary = (all: readonly Pick<Task, 'id' | 'status' | 'reason'>[]) =>
    all.map(({ id, status, reason }) => ({ id, status, reason: reason ?? null }));
  expect(summary(tasks)).toEqual(summary(await cloister.tasks(session.run)));
  expect(summary(tasks)).toEqual(summary((outcome.data as unknown as { tasks: readonly Task[] }).tasks));
  expect(tasks[3]).toMatchObject({ status: 'blocked', reason: { task: 'b' } });
});
