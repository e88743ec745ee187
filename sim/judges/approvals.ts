// A marked tool is called only with what enough people allowed: each question allows one call, with exactly the arguments that it was
// about.
import type { Json, RunId } from '#base';
import { needsApproval } from '../question-workload.ts';
import type { History, RunHistory, SentAnswer, ToolCall } from '../history.ts';
import { callingOperation, framesOnDisk, runFacts } from './facts.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { planOf, questionsIn, ruleOf, sameForm, shownHash } from './question-facts.ts';
import type { QuestionFacts, RulingFrame } from './question-facts.ts';

// invariants: marked-call-asks-first, answered-is-what-runs
export const approvals: Judge = {
  name: 'marked calls run as people allowed',
  check: (history, report) => {
    let checks = 0;
    const used = new Map<string, string>();
    for (const call of history.toolCalls) {
      const operation = callingOperation(history, call);
      if (operation === undefined || !isMarked(call, operation)) continue;
      checks++;
      const { run, birth } = operation.cell;
      const what = `${call.tool} ${call.args} by ${birth.cell} in run ${run.run}`;
      const asked = questionOf(operation);
      if (asked === undefined) {
        report(`a question before ${what}`, 'nobody was asked');
        continue;
      }
      const fault = findFault(history, call, asked);
      if (fault !== null) report(`somebody who allowed ${what}`, fault);
      const key = `${run.run} ${birth.cell}/${asked.ask.begin.op}`;
      const by = used.get(key) ?? call.key;
      if (by !== call.key) report(`one call for question ${key}`, `${by} and ${call.key}`);
      used.set(key, by);
    }
    for (const run of history.runs) checks += judgeAgents(run, report);
    return checks;
  },
};

/** Each start of a marked agent needs an answer of its own, and what a person allowed in a run continues in that run alone. */
const judgeAgents = (run: RunHistory, report: ReportProblem): number => {
  const used = new Map<number, string>();
  let checks = 0;
  for (const operation of runFacts(run).operations.values()) {
    const { begin, beganIn, settledIn, cell } = operation;
    if (begin.birth === undefined || planOf(cell)?.approve?.[begin.birth.agent] === undefined) continue;
    checks++;
    const what = `${begin.birth.cell} of run ${run.run}`;
    const cut = run.forkedFrom?.frames ?? 0;
    if (beganIn < cut && settledIn >= cut) report(`a person to be asked again about ${what}`, 'it continued in a fork');
    const asked = questionOf(operation);
    if (asked?.result?.verdict !== 'allow') {
      report(`somebody who allowed ${what}`, asked === undefined ? 'nobody was asked' : 'nobody did');
      continue;
    }
    const by = used.get(asked.ask.beganIn);
    if (by !== undefined)
      report(`one agent for question ${asked.ask.begin.op} of ${cell.birth.cell}`, `${by}, ${what}`);
    used.set(asked.ask.beganIn, what);
  }
  return checks;
};

/** By the plan, which is not the runtime's. */
const isMarked = (call: ToolCall, { cell }: OperationFacts): boolean => {
  const plan = planOf(cell);
  return plan !== undefined && needsApproval(plan, call.tool, JSON.parse(call.args) as Record<string, unknown>);
};

const questionOf = ({ cell, begin }: OperationFacts): QuestionFacts | undefined => {
  const no = begin.about?.['ask'];
  return [...questionsIn(cell.run).values()].find(({ ask }) => ask.cell === cell && ask.begin.op === no);
};

/** Why too few people allowed this call; null: enough did. */
const findFault = (history: History, call: ToolCall, asked: QuestionFacts): string | null => {
  const decided = decidingQuestion(asked);
  if (decided === undefined) return 'no earlier answer covers it';
  const written = framesOnDisk(history, asked.ask.cell.run, call.onDisk);
  const people = new Set<string>();
  const faults: string[] = [];
  for (const ruling of decided.rulings) {
    if (ruling.record.verdict !== 'allow') continue;
    const fault = findRulingFault(history, decided, ruling, { args: JSON.parse(call.args) as Json, written });
    if (fault === null) people.add(ruling.record.by);
    else faults.push(fault);
  }
  const { need = 1 } = ruleOf(decided);
  return people.size >= need ? null : [`${people.size} of ${need} people did`, ...faults].join('; ');
};

/** Why this ruling does not allow the call. `written`: how many frames were on the disk when it was made. */
const findRulingFault = (
  history: History,
  { ask, question }: QuestionFacts,
  ruling: RulingFrame,
  { args, written }: { readonly args: Json; readonly written: number },
): string | null => {
  if (ruling.no >= written) return 'the answer was not on the disk';
  const sent = sentAs(history, ask.cell.run.run, ruling);
  if (sent === undefined) return `nobody sent the answer in frame ${ruling.no}`;
  if (!sent.answer.allow) return `${sent.answer.by} denied it`;
  if (sent.isStranger) return `${sent.answer.by} may not answer`;
  if (sent.answer.sha256 !== shownHash(question.args)) return `${sent.answer.by} was shown something else`;
  const allowed = sameForm(sent.answer.args ?? question.args);
  return allowed === sameForm(args) ? null : `they allowed ${allowed}`;
};

/**
 * The question that people have decided: this one, or an earlier one whose answer covers it. While that one waited for more people, it may
 * have been covered itself.
 */
const decidingQuestion = (asked: QuestionFacts): QuestionFacts | undefined => {
  let decided: QuestionFacts | undefined = asked;
  while (decided?.result?.remembered !== undefined) decided = rememberedQuestion(decided, decided.result.remembered);
  return decided;
};

/** An earlier answer covers the same tool and arguments, in cells of the same definition. */
const rememberedQuestion = ({ ask, question }: QuestionFacts, frame: number): QuestionFacts | undefined => {
  for (const earlier of questionsIn(ask.cell.run).values()) {
    const ruling = earlier.rulings.find(({ no }) => no === frame);
    if (ruling === undefined || ruling.record.remember !== 'run' || ask.settledIn <= ruling.no) continue;
    const isSame =
      earlier.ask.cell.birth.digest === ask.cell.birth.digest &&
      earlier.question.tool === question.tool &&
      sameForm(earlier.question.args) === sameForm(question.args);
    if (isSame) return earlier;
  }
  return undefined;
};

/** The answer as its sender sent it. A fork has the answers of the run that it was forked from. */
const sentAs = ({ answers }: History, run: RunId, { record }: RulingFrame): SentAnswer | undefined => {
  const sent = answers.filter(({ answer }) => answer.id === record.signal && answer.by === record.by);
  return sent.find((one) => one.run === run) ?? sent[0];
};
