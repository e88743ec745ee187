// What is asked of a run from another process happens once. A signal stays until what it asked for is durable, and no longer than its
// run.
import { decodeMail } from '#contracts';
import type { Frame } from '#contracts';
import type { History, PutSignal, RunHistory, SentAnswer, SignalRemoval } from '../history.ts';
import { runFacts } from './facts.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { mayAnswer, questionsIn } from './question-facts.ts';
import type { QuestionFacts } from './question-facts.ts';

// invariants: signal-kept-until-durable, answer-durable-before-told
export const signals: Judge = {
  name: 'signals take effect once, and stay until then',
  check: (history, report) => {
    for (const run of history.runs) judgeEffects(history, run, report);
    for (const removal of history.signalRemovals) judgeRemoval(history, removal, report);
    for (const left of history.signalsLeft) judgeLeft(history, left, report);
    for (const signal of history.signals) judgeTaken(history, signal, report);
    for (const sent of history.answers) judgeLost(history, sent, report);
    return history.signals.length + history.signalRemovals.length;
  },
};

const judgeEffects = ({ signals: all }: History, run: RunHistory, report: ReportProblem): void => {
  for (const id of new Set(all.filter((one) => one.run === run.run).map(effectId))) {
    const effects = run.frames.filter((frame) => isEffect(frame, id));
    if (effects.length > 1) report(`signal ${id} of run ${run.run} to happen once`, `${effects.length} times`);
  }
};

/** An answer or a message in the log. */
const isEffect = ({ record, contents = [] }: Frame, id: string): boolean => {
  if (record.type === 'ruling') return record.signal === id;
  if (record.type !== 'mail') return false;
  return (
    record.dead?.id === id || contents.some(({ from, content }) => from === 'outside' && decodeMail(content).id === id)
  );
};

/** The id that the log has. The row of an answer has the number of its question as well: the same answer can be given to two. */
const effectId = ({ id, command }: PutSignal): string => (command.do === 'answer' ? command.id : id);

const judgeRemoval = (history: History, removal: SignalRemoval, report: ReportProblem): void => {
  const { run: of, id, onDisk } = removal;
  const run = history.runs.find((one) => one.run === of);
  const signal = history.signals.find((one) => one.run === of && one.id === id);
  if (run === undefined || signal === undefined)
    return report(`signal ${id} of run ${of} to be one that somebody sent`, 'nobody did');
  const durable = run.frames.slice(0, onDisk);
  if (durable.some((frame) => frame.record.type === 'close' || isEffect(frame, effectId(signal)))) return;
  // Nothing else is carried out then.
  if (durable.some(({ record }) => record.type === 'cancel')) return;
  const fault = {
    answer: () => answerFault(history, run, { ...removal, id: effectId(signal) }),
    send: () => (hasMailbox(run) ? 'the message is not in the log' : null),
    cancel: () => 'the cancel is not in the log',
    finish: () => 'the run has not ended',
  } as const;
  const why = fault[signal.command.do as keyof typeof fault]();
  if (why !== null) report(`signal ${id} (${signal.command.do}) of run ${of} to stay`, `it was removed, and ${why}`);
};

/** Whether whoever writes to the run without naming anybody is heard. */
const hasMailbox = (run: RunHistory): boolean => {
  const { record } = run.frames[0]!;
  return record.type === 'open' && record.birth.spawned !== undefined;
};

/** Why an answer should have been taken; null: it was refused for something that is in the log, or for what it says. */
const answerFault = (history: History, run: RunHistory, { id, onDisk, wallClock }: SignalRemoval): string | null => {
  const sent = history.answers.find(({ answer }) => answer.id === id);
  if (sent === undefined) return 'nobody sent it';
  const asked = questionOf(run, sent);
  if (asked === undefined || !isValid(asked, sent)) return null;
  if (asked.ask.settledIn < onDisk) return null;
  const others = asked.rulings.filter(({ no }) => no < onDisk);
  if (others.some(({ record }) => record.by === sent.answer.by)) return null;
  // The wall clock may have been set.
  const isExpired = history.clockWasSet || wallClock >= (asked.ask.begin.until ?? 0);
  return isExpired ? null : 'the question is still open';
};

const questionOf = (run: RunHistory, { answer }: SentAnswer): QuestionFacts | undefined =>
  [...questionsIn(run).values()].find(({ ask }) => ask.beganIn === answer.frame);

/** By somebody who may answer, with arguments that the tool accepts. */
const isValid = (asked: QuestionFacts, { answer, isStranger }: SentAnswer): boolean =>
  !isStranger && mayAnswer(asked, answer) && (answer.args === undefined || 'q' in answer.args);

/** What is left of a run that has ended was never acknowledged, or nobody could remove it. */
const judgeLeft = (
  { runs, signals: all, writings, processes, diskFails }: History,
  { run: of, id }: { readonly run: string; readonly id: string },
  report: ReportProblem,
): void => {
  const run = runs.find((one) => one.run === of);
  if (run?.frames.at(-1)?.record.type !== 'close' || diskFails) return;
  const isDead = (process: number): boolean => processes[process - 1]?.diedAt !== null;
  const owner = writings.findLast((one) => one.run === of && one.closedAt !== null);
  const isOwnerDead = owner === undefined || isDead(owner.process);
  const isSenderDead = all.some((one) => one.run === of && one.id === id && isDead(one.process));
  if (!isOwnerDead && !isSenderDead) report(`no signal of run ${of}, which has ended`, id);
};

/** How long the owner of a run may take for a signal, if nothing fails. */
const takenMs = 3_000;

const judgeTaken = (history: History, signal: PutSignal, report: ReportProblem): void => {
  const { run: of, id, acknowledgedAt, command } = signal;
  // Until a full mailbox has room, messages wait.
  if (acknowledgedAt === null || history.diskFails || command.do === 'send' || command.do === 'finish') return;
  const owner = history.writings.find(
    (one) =>
      one.run === of &&
      one.ownedAt <= acknowledgedAt &&
      (one.releasedAt ?? history.processes[one.process - 1]?.diedAt ?? Infinity) > acknowledgedAt + takenMs,
  );
  // They are carried out one after the other, and each may wait for a slot.
  const waitMs = takenMs * (1 + waitingBefore(history, signal));
  const isDead =
    owner === undefined || (history.processes[owner.process - 1]?.diedAt ?? Infinity) <= acknowledgedAt + waitMs;
  if (isDead) return;
  const removed = history.signalRemovals.some(
    (one) => one.run === of && one.id === id && one.at <= acknowledgedAt + waitMs,
  );
  if (!removed) report(`signal ${id} of run ${of} to be taken within ${waitMs} ms`, 'it was not');
};

/** How many other signals of the run were stored and not removed then. */
const waitingBefore = ({ signals: all, signalRemovals }: History, { run, id, acknowledgedAt }: PutSignal): number =>
  all.filter(
    (one) =>
      one.run === run &&
      one.id !== id &&
      one.at <= acknowledgedAt! &&
      !signalRemovals.some((gone) => gone.run === run && gone.id === one.id && gone.at < acknowledgedAt!),
  ).length;

/** An answer that came in time, from somebody who may answer, is taken. */
const judgeLost = (history: History, sent: SentAnswer, report: ReportProblem): void => {
  const { told, elsewhere, answer } = sent;
  if (!elsewhere || told === null) return;
  const run = history.runs.find((one) => one.run === sent.run);
  const asked = run && questionOf(run, sent);
  if (asked === undefined || !isValid(asked, sent)) return;
  const isTaken = asked.rulings.some(({ record }) => record.signal === answer.id);
  if ('state' in told && told.state === 'stored' && !isTaken && asked.ask.settle === undefined)
    report(`answer ${answer.id}, which was stored, to be taken`, 'its question is still open');
  const hasAnswered = asked.rulings.some(({ record }) => record.by === answer.by);
  const isRefused = 'code' in told && told.code === 'answer_invalid';
  if (isRefused && !hasAnswered && runFacts(run!).cancelledIn === null)
    report(`answer ${answer.id} to be taken, or its question to be over`, 'it was refused');
};
