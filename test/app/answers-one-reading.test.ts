// Waiting for answers reads the log of a long-lived run once, not once for each message.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import type { Answer, Frame } from '#contracts';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { receiveAnswer } from '../../src/app/mail-answer.ts';
import { OutsideMessages } from '../../src/app/outside-messages.ts';
import { RunFeed } from '../../src/app/run-feed.ts';

const messages = 8;

/** The log of a run that has answered some messages, and the answers. */
const recordRun = async (): Promise<{ readonly frames: readonly Frame[]; readonly answers: readonly Answer[] }> => {
  const workspace = mkdtempSync(join(tmpdir(), 'cloister-answers-'));
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  const models = [rehearse([{ reply: ({ turn }) => `Answer ${turn}.` }])];
  const desk = defineAgent({ name: 'desk', description: 'Answers.', prompt: 'Answer.', models });
  const answers: Answer[] = [];
  const cloister = await openCloister({ workspace, agents: [desk] });
  const session = await cloister.spawn('desk');
  for (let nth = 0; nth < messages; nth++) answers.push(await session.ask(`Question ${nth}?`));
  session.finish();
  await session.outcome;
  await cloister.close();
  const store = await openSqliteStore(workspace);
  onTestFinished(() => store.close());
  return { frames: await store.read(session.run), answers };
};

/** Commits each frame one step after it was written. */
const replayTo = (frames: readonly Frame[]) => {
  const recorded = { run: frames[0]!.run, hasFrames: true, ended: false, committed: -1, reads: 0, written: 0 };
  const feed = new RunFeed({
    ...recorded,
    get committed() {
      return recorded.committed;
    },
    readRecorded: async () => {
      recorded.reads++;
      return frames.slice(0, recorded.committed + 1);
    },
    getBlob: async () => new Uint8Array(),
  });
  const outside = new OutsideMessages();
  const write = (): Frame => {
    const frame = frames[recorded.written++]!;
    outside.frame(frame);
    feed.frame(frame);
    return frame;
  };
  const commit = (): void => {
    recorded.committed = recorded.written - 1;
    feed.release();
  };
  return { recorded, feed, outside, write, commit };
};

// invariant: answers-one-reading
test('the log is read for the first message only, and every message gets its answer', async () => {
  const { frames, answers } = await recordRun();
  const { recorded, feed, outside, write, commit } = replayTo(frames);
  const outcome = new Promise<never>(() => undefined);
  const found: Promise<Answer>[] = [];
  let asked = 0;
  while (recorded.written < frames.length) {
    const { record } = write();
    // Before its own frame is committed, as `ask` does.
    if (record.type === 'mail') {
      const message = answers[asked++]!.correlation_id!;
      found.push(
        receiveAnswer(
          { run: frames[0]!.run, outcome },
          { feed, outside },
          { message, isEarly: true, signal: undefined },
        ),
      );
    }
    commit();
    await nextTick();
  }
  expect(asked).toBe(messages);
  expect(await Promise.all(found)).toEqual(answers);
  expect(recorded.reads).toBe(2);
  // One that was answered before is found without reading, too.
  const message = answers[3]!.correlation_id!;
  const again = receiveAnswer(
    { run: frames[0]!.run, outcome },
    { feed, outside },
    { message, isEarly: false, signal: undefined },
  );
  expect(await again).toEqual(answers[3]);
  expect(recorded.reads).toBe(2);
});
