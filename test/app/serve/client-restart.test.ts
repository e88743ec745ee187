// A client's tools when the server that asked is gone: the call waits in the log, and its result continues the run.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Cloister } from 'cloister';
import { openCloister } from 'cloister';
import { virtualClock } from 'cloister/testkit';
import { scriptAgents, time } from '../../headends/client-tools/scripted-agents.ts';
import type { ScriptedAgents } from '../../headends/client-tools/scripted-agents.ts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { chatTool, chatTools, serveTools, turn } from './client-driver.ts';
import type { ServeToolsOptions, ToolsServed } from './client-driver.ts';

const workspace = async (): Promise<string> => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder.path;
};

/** A server on the same workspace as the one before. */
const serve = async (path: string, { agents }: ScriptedAgents, options: ServeToolsOptions['options'] = {}) =>
  serveTools({ agents, of: { workspace: path }, options });

/** Stops a server: its runs that wait are left to be resumed. */
const stop = async ({ server, cloister }: ToolsServed): Promise<void> => {
  await server.stop(0);
  await cloister.close();
};

const onlyRun = async (cloister: Cloister) => {
  const runs = await cloister.runs();
  expect(runs).toHaveLength(1);
  return runs[0]!;
};

const expectSound = async (cloister: Cloister, run: string): Promise<void> => {
  expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  expect(await cloister.replay(run)).toMatchObject({ ok: true, differences: [] });
};

describe('after a restart', () => {
  // invariant: client-call-is-asked
  test.each([false, true])(
    'a result continues the run, whether or not the server has taken it up itself (%s): no model is asked again',
    async (takesUp) => {
      const path = await workspace();
      const [before, after] = [scriptAgents(), scriptAgents()];
      const first = await serve(path, before);
      const asked = await first.ask('weather:a, time:b; weather:c');
      await stop(first);
      const second = await serve(path, after, { port: 0 });
      if (takesUp) await second.server.listen();
      const next = await second.give([
        [asked.calls[0]!, 'sun'],
        [asked.calls[1]!, 'noon'],
      ]);
      expect([next.status, next.finish, next.text]).toEqual([200, 'tool_calls', 'Round 2.']);
      // Only what this server's model has used: the rest was reported before.
      expect(next.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 10 });
      const last = await second.give([[next.calls[0]!, 'rain']]);
      expect(last.text).toBe('Told: sun | noon | rain');
      expect([before.model.requests.length, after.model.requests.length]).toEqual([1, 2]);
      await expectSound(second.cloister, (await onlyRun(second.cloister)).run);
    },
  );

  test('a result that was taken before continues its run; the client need not know that', async () => {
    const path = await workspace();
    const gate = Promise.withResolvers<string>();
    const first = await serve(path, scriptAgents({ execute: () => gate.promise, repeat: 'free' }));
    const asked = await first.ask('weather:a; own:x; time:b');
    const results = [[asked.calls[0]!, 'sun']] as const;
    const lost = first.give(results).catch(() => null);
    const isTaken = async (): Promise<boolean> => {
      const { run } = await onlyRun(first.cloister);
      return (await first.cloister.show(run)).events.some(
        (event) => event.type === 'tool-start' && event.tool === 'own',
      );
    };
    while (!(await isTaken())) await turn();
    // The process is gone: nothing more of it is written.
    await first.server.stop(0);
    const second = await serve(path, scriptAgents({ repeat: 'free' }));
    // The first process has not let go of the run: what comes of the result is read from there.
    const again = second.give(results);
    gate.resolve('late');
    const { status, calls } = await again;
    expect([status, calls.map((call) => call.function.name)]).toEqual([200, ['time']]);
    await first.cloister.close();
    await lost;
  });

  // invariant: client-result-as-sent
  test('a result counts once: the same again continues nothing once another turn has used it', async () => {
    const path = await workspace();
    const agents = scriptAgents();
    const first = await serve(path, agents);
    const asked = await first.ask('weather:a; weather:b');
    const next = await first.give([[asked.calls[0]!, 'sun']]);
    await stop(first);
    const second = await serve(path, agents);
    // The answer with the next call was lost, so the client sends the result again.
    const same = await second.give([[asked.calls[0]!, 'sun']]);
    expect([same.finish, same.calls]).toEqual(['tool_calls', next.calls]);
    expect((await second.give([[next.calls[0]!, 'rain']])).text).toBe('Told: sun | rain');
    const { run } = await onlyRun(second.cloister);
    const rulings = (await second.cloister.show(run)).events.filter(({ type }) => type === 'ruling');
    expect(rulings).toHaveLength(2);
    // Now it is history.
    expect((await second.give([[asked.calls[0]!, 'sun']])).status).toBe(200);
    expect(await second.cloister.runs()).toHaveLength(2);
  });

  test('another caller’s results are its own words, and the run keeps waiting', async () => {
    const path = await workspace();
    const first = await serve(path, scriptAgents());
    const asked = await first.ask('weather:a');
    await stop(first);
    const second = await serve(path, scriptAgents());
    const theft = await second.give([[asked.calls[0]!, 'stolen']], { as: 'you' });
    expect(theft.status).toBe(200);
    expect((await second.give([[asked.calls[0]!, 'sun']])).text).toBe('Told: sun');
  });

  test('tools of later requests are there, too', async () => {
    const path = await workspace();
    const agents = scriptAgents();
    const first = await serve(path, agents);
    const asked = await first.ask('weather:a; noon:b; noon:c');
    const noon = chatTool({ ...time, name: 'noon' });
    const next = await first.give([[asked.calls[0]!, 'sun']], { tools: [...chatTools, noon] });
    expect(next.calls.map((call) => call.function.name)).toEqual(['noon']);
    await stop(first);
    const second = await serve(path, agents);
    const third = await second.give([[next.calls[0]!, '12']]);
    expect(third.calls.map((call) => call.function.name)).toEqual(['noon']);
    expect((await second.give([[third.calls[0]!, '0']])).text).toBe('Told: sun | 12 | 0');
    await expectSound(second.cloister, (await onlyRun(second.cloister)).run);
  });

  test('with agents that have changed, results are history', async () => {
    const path = await workspace();
    const first = await serve(path, scriptAgents());
    const asked = await first.ask('weather:a');
    await stop(first);
    const second = await serve(path, scriptAgents({ description: 'Is another one.' }));
    expect((await second.give([[asked.calls[0]!, 'sun']])).status).toBe(200);
    expect(await second.cloister.runs()).toHaveLength(2);
  });

  test('time goes on: what nobody answered in time has failed', async () => {
    const path = await workspace();
    const clock = virtualClock();
    const first = await serveTools({
      agents: scriptAgents().agents,
      of: { workspace: path, clock },
      options: { clock, clientToolMs: 5_000 },
    });
    await first.ask('weather:a');
    await stop(first);
    await clock.advance(10_000);
    const cloister = await openCloister({ agents: scriptAgents().agents, workspace: path, clock });
    onTestFinished(() => cloister.close());
    const { run } = await onlyRun(cloister);
    const resumed = await cloister.resume(run);
    await resumed.clientCalls();
    await clock.advance(1);
    const { output } = await resumed.outcome;
    expect(output).toContain('The client sent no result in time');
    await expectSound(cloister, run);
  });
});

describe('a run with tools of a client', () => {
  test('can be resumed and forked in code, and its calls can be answered there, by whoever requested it', async () => {
    const path = await workspace();
    const first = await serve(path, scriptAgents());
    const asked = await first.ask('weather:a');
    await stop(first);
    const cloister = await openCloister({ agents: scriptAgents().agents, workspace: path });
    onTestFinished(() => cloister.close());
    const { run } = await onlyRun(cloister);
    // Nobody else has the result: it is no question to people.
    expect(await cloister.questions()).toEqual([]);
    const [question] = await cloister.questions({ all: true });
    const answer = { allow: true, sha256: question!.sha256, reason: 'sun' };
    expect(question).toMatchObject({ id: asked.calls[0]!.id, why: 'client', tool: 'weather' });
    await expect(cloister.answer(question!.id, answer)).rejects.toMatchObject({ code: 'question_unknown' });
    const cell = question!.cell;
    const fork = await cloister.fork(run, { at: `${cell}/1` });
    while (!fork.waitsForPeople) await turn();
    const [call] = await fork.clientCalls();
    expect(call).toMatchObject({ name: 'weather', args: { text: 'a' } });
    expect(await cloister.answer(call!.id, { ...answer, sha256: call!.sha256 })).toMatchObject({ state: 'allowed' });
    expect((await fork.outcome).output).toBe('Told: sun');
    await expectSound(cloister, fork.run);
    const resumed = await cloister.resume(run);
    expect((await resumed.clientCalls()).map(({ id }) => id)).toEqual([question!.id]);
    await cloister.answer(question!.id, { ...answer, reason: 'snow' }, { by: 'me' });
    expect((await resumed.outcome).output).toBe('Told: snow');
    await expectSound(cloister, run);
  });

  test('is no question for people over REST, and nobody answers it there', async () => {
    const served = await serve(await workspace(), scriptAgents());
    const asked = await served.ask('weather:a');
    const [question] = await served.cloister.questions({ all: true });
    expect(question!.id).toBe(asked.calls[0]!.id);
    const failed = await served.cloister
      .answer(question!.id, { allow: true, sha256: question!.sha256, reason: 'x' }, { by: 'you' })
      .catch((error: { readonly code: string }) => error.code);
    expect(failed).toBe('question_unknown');
    expect((await served.give([[asked.calls[0]!, 'sun']])).text).toBe('Told: sun');
  });
});
