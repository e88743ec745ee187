// No question is lost, asked again or answered twice, and no answer is taken that must not be.
import type { Frame } from '#contracts';
import { needsApproval } from '../question-workload.ts';
import type { History, RunHistory, SentAnswer } from '../history.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { mayAnswer, planOf, questionsIn, ruleOf, sameForm, shownHash } from './question-facts.ts';
import type { QuestionFacts, RulingFrame } from './question-facts.ts';

// invariants: question-recorded-before-wait, ruling-names-what-was-shown, ruling-by-those-who-may, question-settles-once
export const questions: Judge = {
  name: 'questions are answered once, by those who may',
  check: (history, report) => {
    let checks = 0;
    for (const run of history.runs) {
      const isOver = run.frames.at(-1)?.record.type === 'close';
      for (const asked of questionsIn(run).values()) {
        checks++;
        judgeEnd(asked, isOver, report);
        for (const ruling of asked.rulings) judgeRuling(history, asked, ruling, report);
      }
      judgeAskedAgain(run, report);
    }
    for (const sent of history.answers) judgeAnswer(history, sent, report);
    return checks + history.answers.length;
  },
};

const judgeEnd = (asked: QuestionFacts, isOver: boolean, report: ReportProblem): void => {
  const { ask, rulings, result, question } = asked;
  const where = `question ${ask.cell.birth.cell}/${ask.begin.op} of run ${ask.cell.run.run}`;
  if (isOver && ask.settle === undefined) report(`an end of ${where}`, 'it still waits');
  const { verdict, decidedBy } = verdictOf(asked);
  if (rulings.length > decidedBy) report(`no answer to ${where} after it was decided`, `${rulings.length - decidedBy}`);
  if (new Set(rulings.map(({ record }) => record.by)).size < rulings.length)
    report(`one answer of each person to ${where}`, rulings.map(({ record }) => record.by).join(', '));
  if (rulings.some(({ no }) => no > ask.settledIn)) report(`no answer to ${where} after its end`, 'there is one');
  const plan = planOf(ask.cell);
  if (plan !== undefined && !needsApproval(plan, question.tool, question.args))
    report(`nobody to be asked about ${question.tool} ${sameForm(question.args)}`, where);
  if (result === null) return;
  const expected = result.remembered === undefined ? (verdict ?? 'deny') : 'allow';
  if (result.verdict !== expected) report(`${where} to end with ${expected}`, result.verdict);
  if ((result.expired === true) !== (verdict === null && result.remembered === undefined))
    report(`${where} to expire only if it was not decided`, JSON.stringify(result));
};

/** Worked out anew: the first denial decides, or the last of enough people who allow the same. `decidedBy`: how many answers did. */
const verdictOf = (asked: QuestionFacts): { readonly verdict: 'allow' | 'deny' | null; readonly decidedBy: number } => {
  const { need = 1 } = ruleOf(asked);
  const people = new Map<string, Set<string>>();
  for (const [index, { record }] of asked.rulings.entries()) {
    if (record.verdict === 'deny') return { verdict: 'deny', decidedBy: index + 1 };
    const allowed = sameForm(record.args ?? asked.question.args);
    const same = (people.get(allowed) ?? new Set()).add(record.by);
    people.set(allowed, same);
    if (same.size >= need) return { verdict: 'allow', decidedBy: index + 1 };
  }
  return { verdict: null, decidedBy: Infinity };
};

const judgeRuling = (
  history: History,
  asked: QuestionFacts,
  { record, no }: RulingFrame,
  report: ReportProblem,
): void => {
  const where = `the answer in frame ${no} of run ${asked.ask.cell.run.run}`;
  const sent = history.answers.find(({ answer }) => answer.id === record.signal);
  if (sent === undefined) return report(`${where} from somebody`, 'nobody sent it');
  const { allow, by, right, args, reason, remember, sha256 } = sent.answer;
  if (sent.isStranger || !mayAnswer(asked, sent.answer)) report(`${where} from somebody who may answer`, by);
  if (sha256 !== shownHash(asked.question.args)) report(`${where} to be about the question`, 'it is not');
  const changed = args !== undefined && sameForm(args) !== sameForm(asked.question.args) ? args : null;
  const expected = sameForm({ allow, by, right, args: changed, reason: reason ?? null, remember: remember ?? null });
  const seen = sameForm({
    allow: record.verdict === 'allow',
    by: record.by,
    right: record.right,
    args: record.args ?? null,
    reason: record.reason ?? null,
    remember: record.remember ?? null,
  });
  if (expected !== seen) report(`${where} to be ${expected}`, seen);
};

/** A model's reply leads to at most as many questions as it has calls, however often the run was resumed. */
const judgeAskedAgain = (run: RunHistory, report: ReportProblem): void => {
  const counts = new Map<OperationFacts, Map<string, number>>();
  for (const { ask, question } of questionsIn(run).values()) {
    const reply = ask.cell.operations.findLast(
      ({ attempt, settle, settledIn }) => attempt !== undefined && settle?.ok === true && settledIn < ask.beganIn,
    );
    if (reply === undefined) {
      report(`a call before question ${ask.cell.birth.cell}/${ask.begin.op} of run ${run.run}`, 'no model made one');
      continue;
    }
    const asked = counts.get(reply) ?? new Map<string, number>();
    const call = `${question.tool} ${sameForm(question.args)}`;
    counts.set(reply, asked.set(call, (asked.get(call) ?? 0) + 1));
  }
  for (const [reply, asked] of counts)
    for (const [call, count] of asked) {
      const made = callsIn(reply).filter((one) => one === call).length;
      if (count > made)
        report(`${made} questions about ${call} of ${reply.cell.birth.cell} in run ${run.run}`, `${count}`);
    }
};

const callsIn = ({ settle }: OperationFacts): readonly string[] => {
  const { parts } = settle!.value as unknown as {
    readonly parts: readonly { readonly type: string; readonly name: string; readonly input: string }[];
  };
  return parts.flatMap(({ type, name, input }) => {
    if (type !== 'call') return [];
    try {
      return [`${name} ${sameForm(JSON.parse(input === '' ? '{}' : input))}`];
    } catch {
      return [];
    }
  });
};

/** What a sender was told is what happened. */
const judgeAnswer = (history: History, sent: SentAnswer, report: ReportProblem): void => {
  const { run, process, answer, told, elsewhere } = sent;
  if (told === null) return;
  const hasRuling = ({ record }: Frame): boolean => record.type === 'ruling' && record.signal === answer.id;
  const stored = history.runs.find((one) => one.run === run)?.frames.some(hasRuling) === true;
  const isWritten = elsewhere
    ? stored
    : history.writings.some((one) => one.run === run && one.process === process && one.frames.some(hasRuling));
  const isTaken = 'state' in told && told.state !== 'stored';
  // The same answer may have been sent twice: the first one was taken.
  const others = history.answers.filter((one) => one.answer.id === answer.id && one.told !== told);
  if (isTaken && !isWritten)
    report(`answer ${answer.id} in the log of run ${run}`, `${told.state}, and it is not there`);
  // Elsewhere, the store may have failed after it was stored.
  if ('code' in told && !told.code.startsWith('store_') && isWritten && !others.some(isUnknownOrTaken))
    report(`no trace of answer ${answer.id} in run ${run}, which was refused`, 'it was recorded');
  if (isTaken) judgeState(history, sent, told.state, report);
};

const isUnknownOrTaken = ({ told }: SentAnswer): boolean =>
  told === null || 'state' in told || told.code.startsWith('store_');

const judgeState = (history: History, { run, answer }: SentAnswer, state: string, report: ReportProblem): void => {
  const found = history.runs.find((one) => one.run === run);
  const asked = found && [...questionsIn(found).values()].find(({ ask }) => ask.beganIn === answer.frame);
  // It may be lost with its process, and the frame be another one.
  if (asked?.rulings.some(({ record }) => record.signal === answer.id) !== true) return;
  const { need = 1 } = ruleOf(asked);
  // An answer to another question may have covered it meanwhile, with the word that it holds for the run.
  const verdict = asked.result?.remembered === undefined ? verdictOf(asked).verdict : 'allow';
  const decided = need === 1 ? (answer.allow ? 'allowed' : 'denied') : verdict === 'allow' ? 'allowed' : 'denied';
  // While more people are needed, it depends on when it was sent.
  if (state !== decided && !(need > 1 && answer.allow && state === 'waiting'))
    report(`answer ${answer.id} to be ${decided}`, state);
};
