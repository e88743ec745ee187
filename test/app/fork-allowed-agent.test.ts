// An agent that a person allowed to work, and forks of its run.
// invariant: answer-not-forked
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister, RunSession } from 'cloister';
import { rehearse } from 'cloister/testkit';

const waiting = (session: RunSession): Promise<void> =>
  new Promise((resolve) => {
    if (session.waitsForPeople) resolve();
    session.onWaiting((waits) => waits && resolve());
  });

/** A lead whose mailer is marked as a whole. Nothing that the mailer calls is. `onSend`: while the mailer sends. */
const open = async (onSend: (cloister: Cloister, run: string) => Promise<void> = async () => undefined) => {
  const sent: string[] = [];
  const send = {
    name: 'send',
    description: 'Sends.',
    inputSchema: { type: 'object' },
    execute: async () => {
      await onSend(cloister, session.run);
      return `Sent as number ${sent.push('mail')}.`;
    },
  };
  const common = { description: 'Works.', prompt: 'Work.' };
  const mailer = defineAgent({
    ...common,
    name: 'mailer',
    tools: [send],
    models: [rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'send' }] } }, { reply: 'Sent.' }])],
  });
  const call = { calls: [{ tool: 'mailer', args: { prompt: 'Write.' } }] };
  const lead = defineAgent({
    ...common,
    name: 'lead',
    agents: [mailer],
    approve: 'mailer',
    models: [rehearse([{ when: { turn: 1 }, reply: call }, { reply: 'Done.' }])],
  });
  const cloister: Cloister = await openCloister({ agents: [lead], store: 'memory' });
  const session: RunSession = cloister.run('lead', 'Go');
  await waiting(session);
  const [question] = await session.questions();
  await cloister.answer(question!.id, { allow: true, sha256: question!.sha256 });
  await session.outcome;
  const [root, child] = (await cloister.show(session.run)).cells;
  return { cloister, session, sent, root: root!.cell, child: child!.cell };
};

test('a fork does not repeat the work of an agent that a person allowed once', async () => {
  const { cloister, session, sent, child } = await open();
  await using _cloister = cloister;
  expect(sent).toHaveLength(1);
  // The model request, the call of its tool, and the request after that.
  for (const op of [0, 1, 2])
    await expect(cloister.fork(session.run, { at: `${child}/${op}` })).rejects.toMatchObject({
      code: 'fork_invalid',
      failure: { detail: expect.stringContaining(`Fork at ${child}, where a person is asked again.`) },
    });
  expect(sent).toHaveLength(1);
});

test('a fork where it was started asks again, and one after its end keeps its result', async () => {
  const { cloister, session, sent, root, child } = await open();
  await using _cloister = cloister;
  const again = await cloister.fork(session.run, { at: child });
  await waiting(again);
  const [question] = await again.questions();
  expect([sent.length, question?.answers]).toEqual([1, []]);
  await cloister.answer(question!.id, { allow: false, sha256: question!.sha256 });
  await again.outcome;
  const after = await cloister.fork(session.run, { at: `${root}/3` });
  expect(await after.outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(sent).toHaveLength(1);
  for (const { run } of [again, after]) expect((await cloister.audit(run)).problems).toEqual([]);
});

test('neither does a checkpoint that was taken while it worked', async () => {
  const taken: string[] = [];
  const { cloister, sent } = await open(async (during, run) => {
    taken.push((await during.checkpoints.create(run)).id);
  });
  await using _cloister = cloister;
  await expect(cloister.checkpoints.branch(taken[0]!)).rejects.toMatchObject({
    code: 'checkpoint_invalid',
    failure: { detail: expect.stringContaining('A person allowed mailer to work for that run') },
  });
  expect([taken.length, sent.length]).toEqual([1, 1]);
});
