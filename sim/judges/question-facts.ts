// The questions of a run and what became of them, worked out from its log, without code of the runtime.
import { createHash } from 'node:crypto';
import type { Json } from '#base';
import type { ApprovalRule, Frame, Question, QuestionResult, RecordOf } from '#contracts';
import { withChildren } from '../agents.ts';
import type { RunHistory, SentAnswer } from '../history.ts';
import { runFacts } from './facts.ts';
import type { CellFacts, OperationFacts } from './facts.ts';
import type { AgentPlan } from '../plan.ts';

export type RulingFrame = Frame & { readonly record: RecordOf<'ruling'> };

export type QuestionFacts = {
  readonly ask: OperationFacts;
  readonly question: Question;
  readonly rulings: readonly RulingFrame[];
  /** Null: it was stopped, or still waits. */
  readonly result: QuestionResult | null;
};

const known = new WeakMap<RunHistory, ReadonlyMap<OperationFacts, QuestionFacts>>();

/** In the order in which they were asked. */
export const questionsIn = (run: RunHistory): ReadonlyMap<OperationFacts, QuestionFacts> => {
  let questions = known.get(run);
  if (questions === undefined) known.set(run, (questions = findQuestions(run)));
  return questions;
};

const findQuestions = (run: RunHistory): ReadonlyMap<OperationFacts, QuestionFacts> => {
  const asks = [...runFacts(run).operations.values()].filter(({ begin }) => begin.do === 'ask');
  const rulings = run.frames.filter((frame): frame is RulingFrame => frame.record.type === 'ruling');
  const forks = run.frames.flatMap(({ no, record }) => (record.type === 'fork' ? [no] : []));
  /** A question that is open where a run is forked is asked anew: its answers belong to the other run. */
  const isOfOrigin = (ruling: RulingFrame, ask: OperationFacts): boolean =>
    forks.some((no) => ruling.no < no && no < ask.settledIn);
  return new Map(
    asks.map((ask) => [
      ask,
      {
        ask,
        question: ask.begin.question!,
        rulings: rulings.filter(
          (ruling) =>
            ruling.cell === ask.cell.birth.cell && ruling.record.op === ask.begin.op && !isOfOrigin(ruling, ask),
        ),
        result: ask.settle?.ok === true ? (ask.settle.value as unknown as QuestionResult) : null,
      },
    ]),
  );
};

export const planOf = ({ run, birth }: CellFacts): AgentPlan | undefined =>
  withChildren(run.agent).find(({ name }) => name === birth.agent);

/** Who may answer, and how many people must allow the call, by the plan. */
export const ruleOf = ({ ask, question }: QuestionFacts): ApprovalRule =>
  planOf(ask.cell)?.approve?.[question.tool] ?? {};

/** If the plan names people, only those; and not who requested the run, if it says so. */
export const mayAnswer = (asked: QuestionFacts, { by, right }: SentAnswer['answer']): boolean => {
  const rule = ruleOf(asked);
  if (rule.not === 'asker' && by === 'operator') return false;
  return rule.by === undefined ? right !== 'named' : right === 'named' && rule.by.includes(by);
};

/** Arguments in a form that two equal ones share. */
export const sameForm = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );

/** The hash by which an answer names the arguments. */
export const shownHash = (args: Json): string => createHash('sha256').update(sameForm(args)).digest('hex');
