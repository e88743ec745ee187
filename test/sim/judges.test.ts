// Each judge can fail: a history that is as it should be, with one thing changed.
import { expect, test } from 'vitest';
import { hear, judges, runSeed } from '../../sim/index.ts';
import type { History } from '../../sim/index.ts';

/** A copy that a hand may change. */
type Loose = any;
type Doctoring = {
  /** Which histories it can be done to. */
  readonly to?: (history: History) => boolean;
  readonly change: (history: Loose) => void;
};

const frameOf = (history: Loose, type: string): Loose =>
  history.runs.flatMap((run: Loose) => run.frames).find((frame: Loose) => frame.record.type === type);

const ended = ({ runs, modelCalls }: History): boolean =>
  modelCalls.length > 0 && runs.every(({ frames }) => frames.at(-1)?.record.type === 'close');
const withTool = (repeat: string) => (history: History) =>
  ended(history) && history.toolCalls.some((call) => call.repeat === repeat && call.effects === 1);
const withChildren = (history: History): boolean =>
  ended(history) &&
  history.runs.some(({ frames }) => frames.some(({ record }) => 'birth' in record && record.birth?.parent));
const withBudget = (history: History): boolean =>
  ended(history) &&
  history.runs.some(({ frames }) => frames.some(({ record }) => (record as Loose).birth?.caps.tokens !== undefined));
const cancelled = (history: History): boolean =>
  ended(history) && history.followings.some((one) => one.cancelledAt !== null && one.endedAt !== null);
const read = (history: History): boolean => ended(history) && history.followings.some((one) => one.readAll);

const slept = (history: History): boolean =>
  ended(history) &&
  !history.clockWasSet &&
  history.runs.some(({ frames }) =>
    frames.some(
      ({ record, cell }) =>
        record.type === 'begin' &&
        record.until !== undefined &&
        frames.some(
          (other) =>
            other.record.type === 'settle' && other.record.ok && other.cell === cell && other.record.op === record.op,
        ),
    ),
  );

const shareIn = (history: Loose): Loose =>
  history.runs
    .flatMap((run: Loose) => run.frames)
    .flatMap((frame: Loose) => frame.contents ?? [])
    .find((content: Loose) => content.kind === 'share' && content.content !== '[]');
const withShare = (history: History): boolean => ended(history) && shareIn(history) !== undefined;

const doctorings: Readonly<Record<string, readonly Doctoring[]>> = {
  'progress once faults stop': [{ change: (history) => (history.ended.by = 'idle') }],
  'no defect': [
    { change: (history) => history.uncaught.push('unhandled') },
    { change: (history) => (history.followings[0].error = 'replay_differs') },
    { change: (history) => history.refusals.push({ process: 1, run: 'x', code: 'files_changed', said: '' }) },
    { to: ended, change: (history) => (frameOf(history, 'close').record.outcome.failure = { code: 'defect' }) },
  ],
  'acknowledged ⇒ present': [
    { to: ended, change: (history) => (history.writings.find((one: Loose) => one.acknowledged > 0).frames[0].at += 1) },
    { to: ended, change: (history) => history.runs.forEach((run: Loose) => run.bodies.pop()) },
    { change: (history) => history.blobs.push({ ref: 'ab', there: false }) },
    { to: ended, change: (history) => (history.writings[0].early = 1) },
  ],
  'one owner': [
    {
      to: ended,
      change: (history) => {
        const [one] = history.writings;
        one.releasedAt = 1_000_000_000;
        history.writings.push({ ...one, process: 99 });
      },
    },
  ],
  '≤ 1 effect per call': [
    {
      to: withTool('never'),
      change: ({ toolCalls }) => toolCalls.push(toolCalls.find((call: Loose) => call.effects === 1)),
    },
    {
      to: withTool('keyed'),
      change: ({ toolCalls }) => {
        const call = toolCalls.find((one: Loose) => one.repeat === 'keyed');
        toolCalls.push({ ...call, effects: 0, args: '{"q":"another"}' });
      },
    },
    {
      to: withTool('never'),
      change: ({ toolCalls }) => (toolCalls.find((one: Loose) => one.repeat === 'never').onDisk = []),
    },
  ],
  'settled ⇒ not repeated': [
    { to: ended, change: ({ modelCalls, runs }) => (modelCalls[0].onDisk = runs.map(() => 1_000)) },
    {
      to: withTool('never'),
      change: ({ toolCalls, runs }) => toolCalls.push({ ...toolCalls[0], onDisk: runs.map(() => 1_000) }),
    },
  ],
  'indeterminate after a crash': [
    {
      to: withTool('never'),
      change: (history) => {
        for (const { frames } of history.runs)
          for (const { record } of frames)
            if (record.type === 'settle' && record.ok)
              Object.assign(record, { ok: false, failure: { code: 'indeterminate' } });
      },
    },
  ],
  'true cost ≤ cap': [
    { to: withBudget, change: ({ modelCalls }) => modelCalls.forEach((one: Loose) => (one.tokens = 1e9)) },
  ],
  'books ≥ true cost': [{ to: ended, change: ({ modelCalls }) => (modelCalls[0].tokens += 1e6) }],
  'only what does not fit is refused': [
    {
      to: ended,
      change: (history) => {
        const { frames } = history.runs.find((one: Loose) => one.frames.some((frame: Loose) => frame.attempt));
        const { record } = frames.find((frame: Loose) => frame.attempt);
        const settle = frames.find((frame: Loose) => frame.record.type === 'settle' && frame.record.op === record.op);
        Object.assign(settle.record, { ok: false, failure: { code: 'budget_refused' } });
      },
    },
  ],
  'nothing starts after cancel + 50 ms': [
    {
      to: (history) =>
        cancelled(history) && history.followings.some((one) => one.outcome?.status === 'cancelled' && one.cancelledIn),
      change: ({ writings, runs }) => {
        for (const { frames } of [...writings, ...runs])
          for (const { record } of frames) if (record.type === 'cancel') record.type = 'resume';
      },
    },
    {
      to: cancelled,
      change: ({ followings, modelCalls }) => {
        const one = followings.find((following: Loose) => following.cancelledAt !== null);
        one.endedAt = 1e9;
        modelCalls.forEach((call: Loose) => Object.assign(call, { process: one.process, at: one.cancelledAt + 60 }));
      },
    },
  ],
  'time goes on': [
    { to: ended, change: (history) => (frameOf(history, 'close').at -= 1e9) },
    { to: ended, change: (history) => (frameOf(history, 'close').record.outcome.spent.ms = -1) },
  ],
  'sleeps last as asked': [
    {
      to: slept,
      change: ({ runs }) => {
        for (const { frames } of runs)
          for (const { record } of frames) if (record.until !== undefined) record.until += 1_000;
      },
    },
  ],
  'nothing outlasts its deadline': [
    {
      to: (history) =>
        ended(history) &&
        !history.clockWasSet &&
        history.runs.some(({ frames }) => (frames[0]?.record as Loose)?.birth.deadline > 0 && frames.length > 6),
      change: ({ runs }) => {
        for (const { frames } of runs)
          for (const frame of frames)
            if (frame.record.type === 'settle') frame.at += 1e9;
            else if (frame.record.type === 'resume') frame.record.type = 'cancel';
      },
    },
  ],
  'output = newest text': [
    { to: ended, change: (history) => (frameOf(history, 'close').record.outcome.output += ' more') },
  ],
  'no orphan': [
    { to: ended, change: ({ lives }) => Object.assign(lives.at(-1), { diedAt: null, serversOpen: 1 }) },
    {
      to: ended,
      change: ({ followings }) => (followings.find((one: Loose) => one.outcome !== null).ownedAtEnd = true),
    },
    { to: ended, change: ({ lives }) => Object.assign(lives.at(-1), { diedAt: null, timersLeft: 1 }) },
    { to: ended, change: ({ lives }) => Object.assign(lives.at(-1), { diedAt: null, slotsMissing: 1 }) },
    { change: ({ owned, runs }) => owned.push(runs[0].run) },
    { to: ended, change: ({ runs }) => runs.forEach((run: Loose) => run.frames.pop()) },
    {
      to: withChildren,
      change: ({ runs }) => {
        for (const run of runs) run.frames = run.frames.filter(({ record }: Loose) => record.type !== 'settle');
      },
    },
  ],
  'exactly one result': [
    { to: ended, change: ({ runs }) => runs.forEach(({ frames }: Loose) => frames.push(frames.at(-1))) },
    { to: ended, change: (history) => (frameOf(history, 'close').record.outcome.output += '!') },
    { to: ended, change: ({ runs }) => runs.forEach(({ listed }: Loose) => (listed.state = 'running')) },
  ],
  'events = log': [
    { to: read, change: ({ followings }) => followings.find((one: Loose) => one.readAll).events.pop() },
    { to: read, change: ({ followings }) => followings.find((one: Loose) => one.readAll).events.splice(1, 1) },
  ],
  'only what is granted crosses': [
    { to: ended, change: ({ runs }) => runs.forEach(({ agent }: Loose) => (agent.grants = ['result'])) },
    { to: ended, change: ({ runs }) => runs.forEach(({ agent }: Loose) => (agent.grants = ['goal'])) },
  ],
  'caps and deadlines are handed down': [
    { to: ended, change: ({ runs }) => runs.forEach(({ agent }: Loose) => (agent.budget = { tokens: 1 })) },
    { to: ended, change: ({ runs }) => runs.forEach(({ agent }: Loose) => (agent.budget = { ms: 1 })) },
    {
      to: withChildren,
      change: ({ runs }) => {
        for (const { frames } of runs) Object.assign(frames[0].record.birth, { deadline: 1, caps: { spawns: 0 } });
      },
    },
  ],
  'ledger entry in the frame of its effect': [
    { to: ended, change: (history) => delete frameOf(history, 'open').links },
    { to: ended, change: (history) => delete frameOf(history, 'close').links },
    {
      to: withChildren,
      change: ({ runs }) => {
        for (const { frames } of runs)
          for (const frame of frames) if (frame.record.ended !== undefined) delete frame.links;
      },
    },
  ],
  'prompt = f(definition, operations, crossings)': [
    { to: ended, change: ({ modelCalls }) => (modelCalls[0].prompt += ' ') },
    { to: ended, change: ({ modelCalls }) => (modelCalls[0].tools += ' ') },
    { to: ended, change: ({ modelCalls }) => (modelCalls[0].goal = 'nobody asked for this') },
  ],
  'windows fit, and are whole': [
    { to: ended, change: ({ modelCalls }) => (modelCalls[0].prompt = JSON.stringify([{ role: 'user', content: [] }])) },
    {
      to: ended,
      change: ({ modelCalls }) => {
        const alone = {
          role: 'assistant',
          content: [{ type: 'tool-call', toolCallId: 'x', toolName: 'look', input: {} }],
        };
        modelCalls[0].prompt = JSON.stringify([...JSON.parse(modelCalls[0].prompt), alone]);
      },
    },
    { to: ended, change: ({ modelCalls }) => (modelCalls[0].tools = ' '.repeat(1_000_000)) },
    {
      to: ended,
      change: ({ runs }) =>
        runs.forEach(({ frames }: Loose) =>
          frames.forEach(({ attempt }: Loose) => attempt && (attempt.window.tokens += 1)),
        ),
    },
  ],
  'a share is what its caller knows': [
    { to: withShare, change: (history) => (shareIn(history).content = '[{"category":"CONTEXT","text":"a secret"}]') },
    { to: withShare, change: (history) => (shareIn(history).kind = 'message') },
    {
      to: withShare,
      change: (history) => {
        const share = shareIn(history);
        const [first] = JSON.parse(share.content);
        share.content = JSON.stringify([first]);
        const { frames } = history.runs.find((run: Loose) =>
          run.frames.some((frame: Loose) => frame.contents?.includes(share)),
        );
        const frame = frames.at(-1);
        (frame.contents ??= []).push({ ...share });
      },
    },
  ],
  'queues bounded': [
    { change: ({ queues }) => (queues.batchMost = 1e6) },
    { change: ({ queues }) => (queues.eventsMost = 1e6) },
    { to: ended, change: ({ followings }) => Object.assign(followings[0], { stalled: true, pieces: 20_000 }) },
  ],
  audit: [
    { to: ended, change: ({ runs }) => (runs[0].audit.ok = false) },
    { to: ended, change: ({ runs }) => runs[0].problems.push('frame 1 is missing') },
  ],
  'replay hash = live hash': [{ to: ended, change: ({ runs }) => (runs[0].replay.replayed = 'another') }],
  'damage is named': [
    { change: (history) => (history.damage = { what: 'it is gone', no: 3, named: ['frame 33 is missing'] }) },
  ],
};

const seedsMax = 400;

const historyFor = async (fits: (history: History) => boolean): Promise<History> => {
  for (let seed = 1; seed < seedsMax; seed++) {
    const { history } = await runSeed(seed, { keepHistory: true });
    if (history !== undefined && fits(history)) return history;
  }
  throw new Error(`no seed below ${seedsMax} has what is needed`);
};

test('every judge is tried here', () => {
  expect(Object.keys(doctorings).sort()).toEqual(judges.map(({ name }) => name).sort());
});

test.each(judges)('$name: fails when it should', async (judge) => {
  for (const { to = () => true, change } of doctorings[judge.name] ?? []) {
    const history = await historyFor(to);
    expect(hear([judge], history).problems).toEqual([]);
    const doctored = structuredClone(history);
    change(doctored);
    const { problems } = hear([judge], doctored);
    expect(problems.length, String(change)).toBeGreaterThan(0);
    expect(problems.every((problem) => problem.judge === judge.name)).toBe(true);
  }
});
