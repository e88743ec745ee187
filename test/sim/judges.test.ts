// Shows that each judge can fail: takes a valid history and changes one thing.
import { expect, test } from 'vitest';
import { judges, runJudges, runSeed } from '../../sim/index.ts';
import type { History } from '../../sim/index.ts';
import { deletionCorruptions } from './deletion-corruptions.ts';
import { mailCorruptions } from './mail-corruptions.ts';
import { questionCorruptions } from './question-corruptions.ts';
import { signalCorruptions } from './signal-corruptions.ts';
import { lateAnswer, teamCorruptions } from './team-corruptions.ts';

/** An untyped copy, so that tests can change anything. */
type Loose = any;
type Corruption = {
  /** Which histories can be changed this way. */
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
  ended(history) && history.runs.every(({ frames }) => (frames[0] as Loose)?.record.birth.caps.tokens !== undefined);
const cancelled = (history: History): boolean =>
  ended(history) && history.sessions.some((one) => one.cancelledAt !== null && one.endedAt !== null);
const read = (history: History): boolean => ended(history) && history.sessions.some((one) => one.readAll);

/** The record of a request that was refused, in the only attempt of its cell. */
const refusalIn = (history: Loose): Loose => {
  const refused = history.modelCalls.filter((call: Loose) => call.refused && call.goal !== '');
  return history.runs
    .filter(({ goal, frames }: Loose) => frames.length > 0 && refused.some((call: Loose) => call.goal === goal))
    .flatMap(({ frames }: Loose) => frames.map(({ record }: Loose) => record))
    .find(({ type, failure }: Loose) => type === 'settle' && failure?.code === 'model_rate');
};
const withRefusal = (history: History): boolean => ended(history) && refusalIn(history) !== undefined;

const uncancelled = (history: History): boolean =>
  ended(history) && history.runs.every(({ frames }) => frames.every(({ record }) => record.type !== 'cancel'));

const slept = (history: History): boolean =>
  ended(history) &&
  !history.clockWasSet &&
  history.runs.some(({ frames }) =>
    frames.some(
      ({ record, cell }) =>
        record.type === 'begin' &&
        record.do === 'sleep' &&
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

const instructedCall = (history: Loose): Loose =>
  history.modelCalls.find(({ prompt }: Loose) => prompt.includes('obey '));
const isInstructed = (history: History): boolean => ended(history) && instructedCall(history) !== undefined;
const skillRead = (history: Loose): Loose =>
  history.runs
    .flatMap(({ frames }: Loose) => frames)
    .map(({ record }: Loose) => record)
    .find(({ type, ok, value }: Loose) => type === 'settle' && ok && /^(?:do|know) /u.test(value?.text ?? ''));
const hasReadSkill = (history: History): boolean => ended(history) && skillRead(history) !== undefined;

const hasConversation = (history: History): boolean =>
  ended(history) && history.workspaceLog.entries[0]?.record.type === 'turn';
const acknowledgedWrite = (history: Loose): Loose => history.recordWrites.find(({ no }: Loose) => no !== null);
const anEntry = { no: 0, at: 0, record: { type: 'forget', checkpoints: [] } };
/** The conversation history of a turn that has earlier entries. */
const earlierHistory = (history: Loose): Loose =>
  history.runs
    .filter(({ conversation, forkedFrom }: Loose) => conversation !== null && forkedFrom === null)
    .flatMap(({ frames }: Loose) => frames[0]?.contents ?? [])
    .find(({ kind, content }: Loose) => {
      const { entries = [], given = 0 } = kind === 'history' ? JSON.parse(content) : {};
      return entries.length - given > 1;
    });
/** What a turn took over from the turn before: a file at least. */
const takenFiles = (history: Loose): Loose =>
  history.runs
    .filter(({ conversation, forkedFrom }: Loose) => conversation !== null && forkedFrom === null)
    .flatMap(({ frames }: Loose) => frames[0]?.contents ?? [])
    .find(({ kind, content }: Loose) => kind === 'file' && JSON.parse(content).files.length > 0);
const hasTakenFiles = (history: History): boolean => takenFiles(history) !== undefined;
const changeFiles = (history: Loose, change: (taken: Loose) => void): void => {
  const crossed = takenFiles(history);
  const taken = JSON.parse(crossed.content);
  change(taken);
  crossed.content = JSON.stringify(taken);
};
const hasEarlierHistory = (history: History): boolean =>
  hasConversation(history) && earlierHistory(history) !== undefined;
/** Long enough that its order matters. */
const hasOrderedHistory = (history: History): boolean => {
  if (!hasEarlierHistory(history)) return false;
  const texts = JSON.parse(earlierHistory(history).content).entries.map(({ text }: Loose) => text);
  return texts.join('\n') !== texts.toReversed().join('\n');
};
const changeHistory = (history: Loose, change: (told: Loose) => void): void => {
  const crossing = earlierHistory(history);
  const told = JSON.parse(crossing.content);
  change(told);
  crossing.content = JSON.stringify(told);
};
/** Moves the turn to the front, as if it had no earlier entries. */
const moveTurnFirst = (history: Loose): void => {
  const crossing = earlierHistory(history);
  const { run } = history.runs.find(({ frames }: Loose) => frames[0]?.contents?.includes(crossing));
  const { entries } = history.workspaceLog;
  const own = entries.findIndex(({ record }: Loose) => record.type === 'turn' && record.run === run);
  entries.unshift(...entries.splice(own, 1));
};
const turnWritings = (history: Loose): Loose => {
  const [first] = history.runs.filter(({ conversation }: Loose) => conversation !== null);
  const same = history.runs
    .filter(({ conversation }: Loose) => JSON.stringify(conversation) === JSON.stringify(first?.conversation))
    .map(({ run }: Loose) => run);
  const written = history.writings.filter(({ run, frames }: Loose) => same.includes(run) && frames.length > 0);
  return new Set(written.map(({ run }: Loose) => run)).size > 1 ? written : [];
};
const checkpointIn = (history: Loose): Loose =>
  history.workspaceLog.entries.find(({ record }: Loose) => record.type === 'checkpoint')?.record.checkpoint;
const withCheckpoint = (history: History): boolean => ended(history) && checkpointIn(history) !== undefined;
const forkedRun = (history: Loose): Loose =>
  history.runs.find(({ forkedFrom, frames }: Loose) => forkedFrom !== null && frames.length > 0);
const wasForked = (history: History): boolean => ended(history) && forkedRun(history) !== undefined;
/** A request that was in flight at the fork and was repeated after it. */
const repeatedRequest = (history: Loose): Loose => {
  const run = wasForked(history) ? forkedRun(history) : undefined;
  const owned = history.writings.filter((one: Loose) => one.run === run?.run && one.frames.length > 0);
  const asked = history.modelCalls.filter(({ goal }: Loose) => goal === run?.goal);
  return asked.find(
    (call: Loose) =>
      owned.some(({ process, ownedAt }: Loose) => process === call.process && ownedAt <= call.at) &&
      asked.some((one: Loose) => one.at < call.at && one.prompt === call.prompt),
  );
};

const corruptions: Readonly<Record<string, readonly Corruption[]>> = {
  'progress once faults stop': [{ change: (history) => (history.ended.by = 'idle') }],
  'no defect': [
    { change: (history) => history.uncaught.push('unhandled') },
    { change: (history) => (history.sessions[0].error = 'replay_differs') },
    { change: (history) => history.resumeRefusals.push({ process: 1, run: 'x', code: 'files_changed', message: '' }) },
    { to: ended, change: (history) => (frameOf(history, 'close').record.outcome.failure = { code: 'defect' }) },
  ],
  'acknowledged ⇒ present': [
    { to: ended, change: (history) => (history.writings.find((one: Loose) => one.acknowledged > 0).frames[0].at += 1) },
    { to: ended, change: (history) => history.runs.forEach((run: Loose) => run.bodies.pop()) },
    { change: (history) => history.blobs.push({ ref: 'ab', there: false }) },
    { to: ended, change: (history) => (history.writings[0].early = 1) },
  ],
  'only the owner appends': [
    {
      to: ended,
      change: ({ ownership }) => (ownership.find((one: Loose) => one.what === 'wrote').process = 99),
    },
    { to: ended, change: ({ ownership }) => (ownership[0].takenFrom = 99) },
  ],
  'only the owner starts': [
    {
      to: ended,
      change: ({ ownership }) => {
        for (const event of ownership) if (event.what === 'acquired') event.process = 99;
      },
    },
  ],
  'one owner per run': [
    {
      to: (history) => ended(history) && !history.hasLeases,
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
  'booked cost ≥ true cost': [
    { to: ended, change: ({ modelCalls }) => (modelCalls[0].tokens += 1e6) },
    { to: withRefusal, change: (history) => (refusalIn(history).uncertain = { tokens: 9 }) },
  ],
  'budgets refuse only what does not fit': [
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
        cancelled(history) && history.sessions.some((one) => one.outcome?.status === 'cancelled' && one.cancelledIn),
      change: ({ writings, runs }) => {
        for (const { frames } of [...writings, ...runs])
          for (const { record } of frames) if (record.type === 'cancel') record.type = 'resume';
      },
    },
    {
      to: cancelled,
      change: ({ sessions, modelCalls }) => {
        const one = sessions.find((following: Loose) => following.cancelledAt !== null);
        one.endedAt = 1e9;
        modelCalls.forEach((call: Loose) => Object.assign(call, { process: one.process, at: one.cancelledAt + 60 }));
      },
    },
  ],
  'time never goes backwards': [
    { to: ended, change: (history) => (frameOf(history, 'close').at -= 1e9) },
    { to: ended, change: (history) => (frameOf(history, 'close').record.outcome.spent.ms = -1) },
  ],
  'sleeps last as long as requested': [
    {
      to: slept,
      change: ({ runs }) => {
        for (const { frames } of runs)
          for (const { record } of frames) if (record.until !== undefined) record.until += 1_000;
      },
    },
  ],
  'no step outlasts its deadline': [
    {
      to: (history) =>
        ended(history) &&
        !history.clockWasSet &&
        !history.hasLeases &&
        history.runs.some(({ frames }) => (frames[0]?.record as Loose)?.birth.deadline > 0 && frames.length > 6),
      change: ({ runs }) => {
        for (const { frames } of runs)
          for (const frame of frames)
            if (frame.record.type === 'settle') frame.at += 1e9;
            else if (frame.record.type === 'resume') frame.record.type = 'cancel';
      },
    },
  ],
  'output = latest text': [
    { to: ended, change: (history) => (frameOf(history, 'close').record.outcome.output += ' more') },
  ],
  'nothing is left over': [
    { to: ended, change: ({ processes }) => Object.assign(processes.at(-1), { diedAt: null, serversOpen: 1 }) },
    {
      to: ended,
      change: ({ sessions }) => (sessions.find((one: Loose) => one.outcome !== null).ownedAtEnd = true),
    },
    { to: ended, change: ({ processes }) => Object.assign(processes.at(-1), { diedAt: null, timersLeft: 1 }) },
    { to: ended, change: ({ processes }) => Object.assign(processes.at(-1), { diedAt: null, slotsMissing: 1 }) },
    { change: ({ stillOwned, runs }) => stillOwned.push(runs[0].run) },
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
    { to: read, change: ({ sessions }) => sessions.find((one: Loose) => one.readAll).events.pop() },
    { to: read, change: ({ sessions }) => sessions.find((one: Loose) => one.readAll).events.splice(1, 1) },
  ],
  'told = kept': [
    { to: read, change: ({ sessions }) => sessions.find((one: Loose) => one.readAll).events.push({ id: 'x/99' }) },
    { to: read, change: ({ sessions }) => (sessions.find((one: Loose) => one.readAll).events[0].at += 1) },
    { to: ended, change: ({ sessions }) => Object.assign(sessions[0], { hasReceipt: true, run: 'never' }) },
    {
      to: uncancelled,
      change: ({ outsideMail, runs }) => outsideMail.push({ run: runs[0].run, result: 'm-never', hasReceipt: true }),
    },
    {
      to: ended,
      change: ({ sessions }) => (sessions.find((one: Loose) => one.outcome !== null).outcome.output += '!'),
    },
  ],
  'no run is left with nobody on it': [
    { to: ended, change: ({ writings }) => Object.assign(writings[0], { failedAt: -1e6 }) },
    { to: ended, change: ({ runs }) => runs.forEach(({ frames }: Loose) => frames.pop()) },
    {
      to: (history) =>
        ended(history) && history.processes.at(-1)!.diedAt === null && history.processes.at(-1)!.exitedAt === null,
      change: ({ sessions, processes }) => sessions.push({ ...sessions[0], process: processes.length, endedAt: null }),
    },
  ],
  'only granted crossings happen': [
    { to: ended, change: ({ runs }) => runs.forEach(({ agent }: Loose) => (agent.grants = ['result'])) },
    { to: ended, change: ({ runs }) => runs.forEach(({ agent }: Loose) => (agent.grants = ['goal'])) },
  ],
  'children inherit caps and deadlines': [
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
  'windows fit and are complete': [
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
  'shares contain only what the caller knows': [
    { to: withShare, change: (history) => (shareIn(history).content = '[{"category":"CONTEXT","text":"a secret"}]') },
    {
      to: withShare,
      change: (history) =>
        (shareIn(history).content = '[{"category":"SYSTEM","text":"the prompt of its caller’s caller"}]'),
    },
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
  'instructions and skills reach only their own cell': [
    { to: isInstructed, change: (history) => (instructedCall(history).prompt = '[]') },
    {
      to: isInstructed,
      change: (history) => {
        const call = instructedCall(history);
        call.prompt = call.prompt.replaceAll('"role":"system"', '"role":"user"');
      },
    },
    { to: hasReadSkill, change: (history) => (skillRead(history).value.text = 'the skill of another agent') },
  ],
  'the workspace log keeps every record': [
    { to: hasConversation, change: (history) => history.workspaceLog.entries.pop() },
    { to: hasConversation, change: (history) => (history.workspaceLog.entries[0].record.run = 'another') },
    {
      to: hasConversation,
      change: (history) => (history.workspaceLog.problem = 'record 1 of the workspace log is missing'),
    },
    { to: hasConversation, change: (history) => (acknowledgedWrite(history).wasOnDisk = false) },
    { to: hasConversation, change: (history) => (acknowledgedWrite(history).after = 7) },
    { to: hasConversation, change: (history) => history.recordWrites.push(acknowledgedWrite(history)) },
    { to: hasConversation, change: (history) => (history.recordWrites = []) },
  ],
  'a turn gets the conversation history': [
    { to: hasEarlierHistory, change: (history) => changeHistory(history, ({ entries }) => entries.shift()) },
    { to: hasOrderedHistory, change: (history) => changeHistory(history, ({ entries }) => entries.reverse()) },
    {
      to: hasEarlierHistory,
      change: (history) => changeHistory(history, ({ entries }) => (entries[0].text = 'a secret')),
    },
    { to: hasEarlierHistory, change: (history) => changeHistory(history, (told) => (told.leftOut += 1)) },
    {
      to: hasConversation,
      change: ({ runs }) =>
        runs.forEach(({ frames }: Loose) => frames[0] && (frames[0].record.conversation = { agent: 'x', name: 'y' })),
    },
    {
      to: hasConversation,
      change: ({ workspaceLog }) =>
        (workspaceLog.entries = workspaceLog.entries
          .filter(({ record }: Loose) => record.type !== 'turn')
          .concat(anEntry)),
    },
    { to: hasEarlierHistory, change: moveTurnFirst },
  ],
  'a turn has the files of the turn before': [
    { to: hasTakenFiles, change: (history) => changeFiles(history, ({ files }) => files.pop()) },
    { to: hasTakenFiles, change: (history) => changeFiles(history, ({ files }) => (files[0].bytes += 1)) },
    {
      to: hasTakenFiles,
      change: (history) => changeFiles(history, ({ outputs }) => outputs.push({ name: 'x_001.txt' })),
    },
  ],
  'one turn at a time': [
    {
      to: (history) => hasConversation(history) && turnWritings(history).length > 1,
      change: (history) =>
        turnWritings(history).forEach((one: Loose) => Object.assign(one, { begunAt: 1, closedAt: 1e9 })),
    },
  ],
  'checkpoints and forks are exact prefixes': [
    { to: withCheckpoint, change: (history) => (checkpointIn(history).hash = 'another') },
    { to: withCheckpoint, change: (history) => (checkpointIn(history).frames += 1_000) },
    { to: withCheckpoint, change: ({ recordWrites }) => recordWrites.forEach((one: Loose) => (one.onDisk = [])) },
    { to: wasForked, change: (history) => forkedRun(history).frames.shift() },
    { to: wasForked, change: (history) => (forkedRun(history).forkedFrom.frames += 1) },
    { to: wasForked, change: (history) => delete forkedRun(history).frames[0].links },
    {
      to: (history) => repeatedRequest(history) !== undefined,
      change: (history) => (repeatedRequest(history).prompt += ' '),
    },
  ],
  ...mailCorruptions,
  ...teamCorruptions,
  ...questionCorruptions,
  ...signalCorruptions,
  ...deletionCorruptions,
  'queues are bounded': [
    { change: ({ queues }) => (queues.batchPeak = 1e6) },
    { change: ({ queues }) => (queues.eventsPeak = 1e6) },
    { to: ended, change: ({ sessions }) => Object.assign(sessions[0], { stalled: true, pieces: 20_000 }) },
  ],
  audit: [
    { to: ended, change: ({ runs }) => (runs[0].audit.ok = false) },
    { to: ended, change: ({ runs }) => runs[0].problems.push('frame 1 is missing') },
  ],
  'replay hash = live hash': [{ to: ended, change: ({ runs }) => (runs[0].replay.replayed = 'another') }],
  'damaged records are reported': [
    {
      change: (history) => (history.damage = { what: 'the record is missing', no: 3, named: ['frame 33 is missing'] }),
    },
  ],
};

const seedsMax = 400;

/** Where a history is found that is hardly ever drawn. */
const rareSeeds = new Map([[lateAnswer.to, 1_985]]);

const histories = new Map<number, History>();

const historyOf = async (seed: number): Promise<History> => {
  const known = histories.get(seed) ?? (await runSeed(seed, { keepHistory: true })).history!;
  histories.set(seed, known);
  return known;
};

const historyFor = async (fits: (history: History) => boolean): Promise<History> => {
  for (const seed of [rareSeeds.get(fits) ?? 1, ...Array.from({ length: seedsMax - 1 }, (_, index) => index + 1)]) {
    const history = await historyOf(seed);
    if (fits(history)) return history;
  }
  throw new Error(`no seed below ${seedsMax} has the required history`);
};

test('every judge is covered here', () => {
  expect(Object.keys(corruptions).sort()).toEqual(judges.map(({ name }) => name).sort());
});

test.each(judges)('$name: reports the corruption', async (judge) => {
  for (const { to = () => true, change } of corruptions[judge.name] ?? []) {
    const history = await historyFor(to);
    expect(runJudges([judge], history).problems).toEqual([]);
    const corrupted = structuredClone(history);
    change(corrupted);
    const { problems } = runJudges([judge], corrupted);
    expect(problems.length, String(change)).toBeGreaterThan(0);
    expect(problems.every((problem) => problem.judge === judge.name)).toBe(true);
  }
});

test('a team whose answer comes after its deadline may end completed', async () => {
  const history = structuredClone(await historyFor(lateAnswer.to));
  lateAnswer.change(history);
  const about = judges.filter(({ name }) => name in teamCorruptions);
  expect(runJudges(about, history).problems).toEqual([]);
});
