// A handler in code answers the questions of runs in its process.
// invariants: handler-after-durable, handler-failure-leaves-open
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister, CloisterOptions, QuestionReport } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { newFolder } from '../e2e/driver.ts';

const openMailer = (onQuestion: CloisterOptions['onQuestion'], workspace: string) => {
  const sent: unknown[] = [];
  const mailer = defineAgent({
    name: 'mailer',
    description: 'Mails.',
    prompt: 'Mail.',
    tools: [
      {
        name: 'send',
        description: 'Sends.',
        inputSchema: { type: 'object' },
        approve: true,
        execute: (args) => {
          sent.push(args);
          return 'sent';
        },
      },
    ],
  });
  const model = rehearse([
    {
      when: { turn: 1 },
      reply: {
        calls: [
          { tool: 'send', args: { to: 'anna' } },
          { tool: 'send', args: { to: 'ben' } },
        ],
      },
    },
    { reply: 'Done.' },
  ]);
  const options = onQuestion === undefined ? {} : { onQuestion };
  const opened = openCloister({ workspace, agents: [mailer], models: [model], ...options });
  return { opened, sent };
};

const whenWaiting = async (cloister: Cloister): Promise<void> => {
  const session = cloister.run('mailer', 'Go.');
  await new Promise<void>((resolve) => session.onWaiting((waits) => waits && resolve()));
};

test('it answers each question once, after it can be read from the store; the hash is filled in', async () => {
  const asked: QuestionReport[] = [];
  const readable: boolean[] = [];
  const { opened, sent } = openMailer(async (question) => {
    asked.push(question);
    readable.push((await (await opened).questions()).some(({ id }) => id === question.id));
    return question.args['to'] === 'anna' ? { allow: true, by: 'code' } : { allow: false, reason: 'No.' };
  }, newFolder());
  await using cloister = await opened;
  const { status, run } = await cloister.run('mailer', 'Go.').outcome;
  expect({ status, sent, readable }).toEqual({ status: 'completed', sent: [{ to: 'anna' }], readable: [true, true] });
  expect(asked.map(({ args }) => args)).toEqual([{ to: 'anna' }, { to: 'ben' }]);
  const all = await cloister.questions({ run, all: true });
  expect(all.map(({ state, answers }) => [state, answers[0]?.by])).toEqual([
    ['allowed', 'code'],
    ['denied', 'operator'],
  ]);
});

test('what it leaves open or fails on stays open, and is asked again when the run is resumed', async () => {
  const workspace = newFolder();
  const first = openMailer((question) => {
    if (question.args['to'] === 'anna') throw new Error('It fails.');
    return undefined;
  }, workspace);
  {
    await using cloister = await first.opened;
    await whenWaiting(cloister);
    expect(await cloister.questions()).toHaveLength(2);
  }
  const second = openMailer(() => ({ allow: true }), workspace);
  await using cloister = await second.opened;
  const [run] = await cloister.runs();
  const session = await cloister.resume(run!.run);
  expect((await session.outcome).status).toBe('completed');
  expect({ first: first.sent, second: second.sent }).toEqual({ first: [], second: [{ to: 'anna' }, { to: 'ben' }] });
});

test('it must be a function', async () => {
  await expect(openMailer('yes' as never, newFolder()).opened).rejects.toThrow('onQuestion');
});
