// A client that waits for an answer over REST gets the same answer as the session itself, as soon as it is there.
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { RunSession } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { awaitAnswer } from '#testing/headends/rest';
import { Gate } from '../../app/serve/gated-agent.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const { signal: never } = new AbortController();

/** `start` starts a scout; `read` reads mail in the middle of its work; `wrong` cannot be answered; anything else is repeated as the answer, once the gate opens. */
const openResident = async () => {
  const gate = new Gate();
  const model = rehearse(
    [
      {
        reply: ({ lastText, toolResults, agent }) => {
          const received = lastText
            .split('\n')
            .at(-1)!
            .replace(/^(?:\| |Your task: )/u, '');
          const done = toolResults.length > 0;
          if (received === 'start' && !done) return { calls: [{ tool: 'spawn_agent', args: { agent_id: 'scout' } }] };
          if (received === 'read' && !done) return { calls: [{ tool: 'receive_message', args: {} }] };
          if (received === 'wrong') return { fault: 401 };
          return { text: `${agent}: ${received}`, delayMs: 1 };
        },
      },
    ],
    { clock: { timer: (_ms, due) => gate.hold(due) } },
  );
  const common = { description: 'd', prompt: 'p', models: [model], limits: { maxRetries: 0 } };
  const scout = defineAgent({ ...common, name: 'scout' });
  const tools = ['spawn_agent', 'receive_message'];
  const host = defineAgent({ ...common, name: 'host', tools, spawns: { agents: [scout] } });
  const cloister = await openCloister({ agents: [host], store: 'memory' });
  onTestFinished(async () => cloister.close());
  return { gate, cloister };
};

const errorCode = (answer: Promise<unknown>): Promise<unknown> =>
  answer.catch((error: Error & { code?: string }) => `${error.code}`);

type Scene = (session: RunSession, gate: Gate) => Promise<string | undefined>;

const scenes: Readonly<Record<string, Scene>> = {
  'the first message': async () => undefined,
  'a later message': async (session) => session.send('later'),
  'a message to one that it started': async (session, gate) => {
    session.send('start');
    gate.open({ stay: true });
    while (session.agents().length < 2) await turn();
    return session.send('look', { to: 'scout' });
  },
  'a message that is read in the middle of other work': async (session, gate) => {
    session.send('read');
    gate.open({ stay: true });
    for await (const event of session) if (event.type === 'tool-start') break;
    return session.send('meanwhile');
  },
  'a message that is answered together with a later one': async (session, gate) => {
    const message = session.send('read');
    gate.open({ stay: true });
    for await (const event of session) if (event.type === 'tool-start') break;
    session.send('meanwhile');
    return message;
  },
  'a message that cannot be answered': async (session) => session.send('wrong'),
  'a message to one that is asked to finish before it reads it': async (session) => {
    const message = session.send('too late');
    session.finish();
    return message;
  },
  'a message to one that is cancelled': async (session) => {
    const message = session.send('too late');
    session.cancel();
    return message;
  },
  'a message that never was': async () => 'm-none',
};

const told = (session: RunSession, message: string | undefined, signal: AbortSignal): Promise<unknown> =>
  errorCode(awaitAnswer({ session, causes: async () => [] }, message, signal));

describe('what is answered to', () => {
  test.for(Object.entries(scenes))('%s', async ([, act]) => {
    const { gate, cloister } = await openResident();
    const session = await cloister.spawn('host', { message: 'hello' });
    await gate.arrived(1);
    const message = await act(session, gate);
    const [early, own] = [told(session, message, never), errorCode(session.answer(message))];
    const pushed = setInterval(() => gate.open({ stay: true }), 1);
    if (message === 'm-none') session.finish();
    const answer = await own;
    expect(await early).toEqual(answer);
    expect(await told(session, message, never)).toEqual(answer);
    clearInterval(pushed);
  });
});

test('an aborted wait ends while the agent still works, and the answer can be read later', async () => {
  const { gate, cloister } = await openResident();
  const session = await cloister.spawn('host', { message: 'hello' });
  await gate.arrived(1);
  const message = session.send('later');
  const going = new AbortController();
  const waiting = [message, undefined].map((one) => told(session, one, going.signal));
  await turn();
  going.abort();
  expect(await Promise.all(waiting)).toEqual(['cancelled', 'cancelled']);
  expect(gate.waiting).toBe(1);
  gate.open();
  expect(await told(session, message, never)).toMatchObject({
    text: 'host: later',
    correlation_id: message,
  });
  expect(await told(session, message, AbortSignal.abort())).toBe('cancelled');
});
