// Corruptions of histories in which people were asked, which the judges of questions must detect.
import type { History } from '../../sim/index.ts';

/** An untyped copy, so that tests can change anything. */
type Loose = any;
type Corruption = { readonly to: (history: History) => boolean; readonly change: (history: Loose) => void };

const framesIn = (history: Loose): Loose[] =>
  history.runs
    .filter(({ forkedFrom, frames }: Loose) => forkedFrom === null && frames.at(-1)?.record.type === 'close')
    .flatMap(({ frames }: Loose) => frames);
const asksIn = (history: Loose): Loose[] => framesIn(history).filter(({ record }) => record.do === 'ask');
const endOf = (history: Loose, ask: Loose): Loose =>
  framesIn(history).find(
    ({ run, cell, record }) =>
      run === ask.run && cell === ask.cell && record.type === 'settle' && record.op === ask.record.op,
  );
const rulingOf = (history: Loose, ask: Loose): Loose =>
  framesIn(history).find(
    ({ run, cell, record }) =>
      run === ask.run && cell === ask.cell && record.type === 'ruling' && record.op === ask.record.op,
  );
/** A question that somebody answered, one that expired, and one that an earlier answer covers. */
const answered = (history: Loose): Loose =>
  asksIn(history).find((ask) => endOf(history, ask)?.record.ok === true && rulingOf(history, ask) !== undefined);
const expired = (history: Loose): Loose =>
  asksIn(history).find((ask) => endOf(history, ask)?.record.value?.expired === true);
const covered = (history: Loose): Loose =>
  madeCalls(history).find(({ end }) => end.record.value?.remembered !== undefined);

type MadeCall = { readonly call: Loose; readonly step: Loose; readonly ask: Loose; readonly end: Loose };

/** The calls that really reached a marked tool, of runs without forks. */
const madeCalls = (history: Loose): MadeCall[] =>
  history.toolCalls.flatMap((call: Loose): MadeCall[] => {
    const step = framesIn(history).find(
      ({ cell, record }) =>
        record.type === 'begin' && record.about?.ask !== undefined && call.key === `${cell}/${record.op}`,
    );
    const ask = asksIn(history).find(({ cell, record }) => cell === step?.cell && record.op === step.record.about.ask);
    const end = ask && endOf(history, ask);
    return end?.record.ok === true ? [{ call, step, ask, end }] : [];
  });
/** One that a person allowed, with the answer that was sent. */
const allowedCall = (history: Loose): (MadeCall & { readonly sent: Loose }) | undefined => {
  for (const made of madeCalls(history)) {
    const ruling = rulingOf(history, made.ask);
    const sent = history.answers.find(({ answer }: Loose) => answer.id === ruling?.record.signal);
    if (sent !== undefined && isAlwaysMarked(history, made)) return { ...made, sent };
  }
  return undefined;
};
const isAlwaysMarked = (history: Loose, { call, step }: MadeCall): boolean => {
  const { agent } = history.runs.find(({ run }: Loose) => run === step.run);
  return agent.tools.some(({ name, approve }: Loose) => name === call.tool && approve === 'always');
};
/** A question that two people or more had to allow, and did. */
const allowedByMany = (history: Loose): Loose => {
  const calls = madeCalls(history).filter(({ end }) => end.record.value?.remembered === undefined);
  return calls.find(({ ask }) => (ask.record.question.rule?.need ?? 1) > 1);
};
const onMany = (change: (made: Loose, rulings: Loose[], history: Loose) => void): Corruption => ({
  to: (history) => allowedByMany(history) !== undefined,
  change: (history) => {
    const made = allowedByMany(history);
    const rulings = framesIn(history).filter(
      ({ run, cell, record }) =>
        run === made.ask.run && cell === made.ask.cell && record.type === 'ruling' && record.op === made.ask.record.op,
    );
    change(made, rulings, history);
  },
});
const sentBy = (history: Loose, { record }: Loose): Loose =>
  history.answers.find(({ answer }: Loose) => answer.id === record.signal);

const withAnswer = (history: History): boolean => answered(history) !== undefined;
const withExpiry = (history: History): boolean => expired(history) !== undefined;
const withCall = (history: History): boolean => allowedCall(history) !== undefined;
const withCovered = (history: History): boolean => covered(history) !== undefined;
const told = (key: 'state' | 'code') => (history: Loose) =>
  history.answers.find(
    (one: Loose) =>
      one.told !== null &&
      key in one.told &&
      // It was not sent twice.
      history.answers.filter(({ answer }: Loose) => answer.id === one.answer.id).length === 1,
  );
const withRefused = (history: History): boolean => withAnswer(history) && told('code')(history) !== undefined;

const onAnswered = (
  change: (parts: { ask: Loose; end: Loose; ruling: Loose; history: Loose }) => void,
): Corruption => ({
  to: withAnswer,
  change: (history) => {
    const ask = answered(history);
    change({ ask, end: endOf(history, ask), ruling: rulingOf(history, ask), history });
  },
});
const onCall = (change: (made: Loose, history: Loose) => void): Corruption => ({
  to: withCall,
  change: (history) => change(allowedCall(history), history),
});

/** Numbers its frames anew. */
const insertFrame = (history: Loose, after: Loose, frame: Loose): void => {
  const { frames } = history.runs.find(({ run }: Loose) => run === after.run);
  frames.splice(frames.indexOf(after) + 1, 0, frame);
};

export const questionCorruptions: Readonly<Record<string, readonly Corruption[]>> = {
  'marked calls run as people allowed': [
    onCall(({ sent }, { answers }) => answers.splice(answers.indexOf(sent), 1)),
    onCall(({ sent }) => (sent.answer.allow = false)),
    onCall(({ sent }) => (sent.isStranger = true)),
    onCall(({ sent }) => (sent.answer.sha256 = 'another')),
    onCall(({ sent }) => (sent.answer.args = { q: 'another' })),
    onCall(({ call }) => (call.args = '{"q":"another"}')),
    onCall(({ call }) => (call.onDisk = [])),
    onCall(({ step }) => delete step.record.about.ask),
    { to: withCovered, change: (history) => (covered(history).end.record.value.remembered = 0) },
    onMany((_made, rulings) => rulings.forEach(({ record }) => (record.verdict = 'deny'))),
    onMany((_made, [first], history) => (sentBy(history, first).isStranger = true)),
    onMany((_made, [first], history) => (sentBy(history, first).answer.args = { q: 'another' })),
    { to: withCovered, change: (history) => (covered(history).ask.record.question.args = { q: 'another' }) },
  ],
  'a wait for people ends with a slot': [
    { to: ({ waitEnds }) => waitEnds.length > 0, change: ({ waitEnds }) => (waitEnds[0].lateMs = null) },
  ],
  'questions are answered once, by those who may': [
    onAnswered(({ end, history }) => {
      for (const run of history.runs) run.frames = run.frames.filter((frame: Loose) => frame !== end);
    }),
    onAnswered(({ end }) => (end.record.value.verdict = end.record.value.verdict === 'allow' ? 'deny' : 'allow')),
    onAnswered(({ ruling, history }) => insertFrame(history, ruling, structuredClone(ruling))),
    onAnswered(({ ruling, end, history }) => {
      for (const run of history.runs) run.frames = run.frames.filter((frame: Loose) => frame !== ruling);
      insertFrame(history, end, Object.assign(ruling, { no: end.no + 1 }));
    }),
    onAnswered(({ ruling }) => (ruling.record.by = 'another')),
    onAnswered(({ ruling }) => (ruling.record.reason = 'another')),
    onAnswered(({ ruling }) => (ruling.record.args = { q: 'another' })),
    onAnswered(({ ruling }) => (ruling.record.signal = 'nobody')),
    onAnswered(({ end }) => (end.record.value.expired = true)),
    onMany((_made, [first, second], history) => {
      // The same person twice.
      second.record.by = first.record.by;
      sentBy(history, second).answer.by = first.record.by;
    }),
    onMany((made, [first], history) => {
      // One is enough.
      for (const run of history.runs)
        run.frames = run.frames.filter(
          (frame: Loose) =>
            frame === first ||
            frame.record.type !== 'ruling' ||
            frame.record.op !== made.ask.record.op ||
            frame.cell !== made.ask.cell,
        );
    }),
    onMany((_made, [first], history) => {
      first.record.by = 'fred';
      sentBy(history, first).answer.by = 'fred';
      sentBy(history, first).answer.right = 'named';
      first.record.right = 'named';
    }),
    onAnswered(({ ask, history }) => insertFrame(history, ask, { ...ask, record: { ...ask.record, op: 900 } })),
    { to: withRefused, change: (history) => (told('code')(history).told = { state: 'allowed' }) },
    {
      to: (history) => told('state')(history) !== undefined,
      change: (history) => (told('state')(history).told = { code: 'question_answered' }),
    },
  ],
  'waiting for a person is no working time': [
    onAnswered(({ ask }) => (ask.record.until += 5)),
    {
      to: withExpiry,
      change: (history) => {
        const ask = expired(history);
        endOf(history, ask).at = ask.at;
      },
    },
    {
      to: (history) => withAnswer(history) && !history.clockWasSet,
      change: (history) => {
        const { at, run } = answered(history);
        for (const frame of framesIn(history)) if (frame.run === run && frame.at >= at) frame.at += 90_000_000;
        endOf(history, answered(history)).at += 90_000_000;
      },
    },
    {
      to: (history) => lateCell(history) !== undefined,
      change: (history) => (lateCell(history).record.birth.deadline += 60_000),
    },
  ],
};

/** The root of a run that asked somebody and ran out of time, without `gather` or a team. */
const lateCell = (history: Loose): Loose => {
  if (history.clockWasSet) return undefined;
  for (const { frames, agent } of history.runs) {
    const failure = frames.at(-1)?.record.outcome?.failure?.code;
    const asks = frames.some(({ record }: Loose) => record.do === 'ask');
    const isPlain = !JSON.stringify(agent).includes('"gather":{') && agent.team === null;
    if (failure === 'deadline_passed' && asks && isPlain && frames[0].record.birth?.deadline > 0) return frames[0];
  }
  return undefined;
};
