// A marked tool is called only with what a person allowed: each answer allows one call, with exactly the arguments that it was about.
import { needsApproval } from '../question-workload.ts';
import { withChildren } from '../agents.ts';
import type { History, SentAnswer, ToolCall } from '../history.ts';
import type { ToolPlan } from '../plan.ts';
import { callingOperation, framesOnDisk } from './facts.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge } from './judge.ts';
import { questionsIn, sameForm, shownHash } from './question-facts.ts';
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
    return checks;
  },
};

/** By the plan, which is not the runtime's. */
const isMarked = (call: ToolCall, { cell }: OperationFacts): boolean => {
  const plan = withChildren(cell.run.agent).find(({ name }) => name === cell.birth.agent);
  const tool: ToolPlan | undefined = plan?.tools.find(({ name }) => name === call.tool);
  return tool !== undefined && needsApproval(tool, JSON.parse(call.args) as Record<string, unknown>);
};

const questionOf = ({ cell, begin }: OperationFacts): QuestionFacts | undefined => {
  const no = begin.about?.['ask'];
  return [...questionsIn(cell.run).values()].find(({ ask }) => ask.cell === cell && ask.begin.op === no);
};

/** Why nobody allowed this call; null: somebody did. */
const findFault = (history: History, call: ToolCall, asked: QuestionFacts): string | null => {
  const { run } = asked.ask.cell;
  const written = framesOnDisk(history, run, call.onDisk);
  const { remembered } = asked.result ?? {};
  const ruling =
    remembered === undefined
      ? asked.rulings.find(({ record }) => record.verdict === 'allow')
      : rememberedRuling(asked, remembered);
  if (ruling === undefined) return 'nobody did';
  if (ruling.no >= written) return 'the answer was not on the disk';
  const sent = sentAs(history, ruling);
  if (sent === undefined) return `nobody sent the answer in frame ${ruling.no}`;
  if (!sent.answer.allow) return `${sent.answer.by} denied it`;
  if (sent.isStranger) return `${sent.answer.by} may not answer`;
  if (sent.answer.sha256 !== shownHash(asked.question.args)) return `${sent.answer.by} was shown something else`;
  const allowed = sameForm(sent.answer.args ?? asked.question.args);
  return allowed === sameForm(JSON.parse(call.args)) ? null : `they allowed ${allowed}`;
};

/** An earlier answer covers the same tool and arguments, in cells of the same definition. */
const rememberedRuling = ({ ask, question }: QuestionFacts, frame: number): RulingFrame | undefined => {
  for (const earlier of questionsIn(ask.cell.run).values()) {
    const ruling = earlier.rulings.find(({ no }) => no === frame);
    if (ruling === undefined || ruling.record.remember !== 'run' || ask.settledIn <= ruling.no) continue;
    const isSame =
      earlier.ask.cell.birth.digest === ask.cell.birth.digest &&
      earlier.question.tool === question.tool &&
      sameForm(earlier.question.args) === sameForm(question.args);
    if (isSame) return ruling;
  }
  return undefined;
};

/** The answer as its sender sent it. */
const sentAs = ({ answers }: History, { record }: RulingFrame): SentAnswer | undefined =>
  answers.find(({ answer }) => answer.id === record.signal && answer.by === record.by);
