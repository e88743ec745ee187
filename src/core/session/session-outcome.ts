// Ends a session with an outcome. There is no success without a final answer.
import { CloisterError, deepFreeze, errorCatalogue, extractJson, findJsonAnswer } from '#base';
import type { Failure, Json } from '#base';
import type { CrossingEnd, Outcome, Spent, Status, StepContext } from '#contracts';
import { dropEarlierCalls } from '#core/memory';
import { askModel, addReplyToWindow } from './ask-model.ts';
import type { TurnReply } from './ask-model.ts';
import type { Session } from './state.ts';

/** The outcome, or null if the answer must be repaired in one more turn. */
export const finishWithAnswer = async (session: Session, turnReply: TurnReply): Promise<Outcome | null> => {
  const { text, cut } = turnReply;
  const status = cut === null ? successStatus(session) : 'partial';
  if (session.cell.agent.signature.output.format !== 'json')
    return outcome(session, status, text, cut === null ? {} : { failure: cut });
  const checked = await checkAnswer(session, text);
  if ('json' in checked) return jsonOutcome(session, status, checked, cut ?? undefined);
  if (cut !== null) return stoppedOutcome(session, cut);
  if (session.hasRepaired || checked.unusable) {
    // A plan is read by the runtime, which says what is wrong with it. No model is shown it.
    if (session.ports.checkAnswer !== undefined) session.latestText = text;
    return stoppedOutcome(session, { code: 'answer_schema', detail: checked.problems.join('; ') });
  }
  session.hasRepaired = true;
  addReplyToWindow(session, turnReply);
  session.window.add({ rule: 'repair@1', of: [{ from: 'operation', no: checked.no }] }, 'DIALOG');
  return null;
};

/** The value alone is the result: whatever the model wrote around it stays in the cell. */
const jsonOutcome = (session: Session, status: Status, { json, data }: FittingAnswer, failure?: Failure): Outcome => {
  session.latestText = json;
  return outcome(session, status, session.latestText, { data, ...(failure === undefined ? {} : { failure }) });
};

/** No turns are left: runs one more without tools, to get an answer from what the model has so far. */
export const runLastTurn = async (session: Session, turn: number): Promise<Outcome> => {
  const { window } = session;
  const tools = window.view.filter(({ part }) => 'tool' in part).length;
  // A resident needs its tools for the next message.
  if (tools > 0 && !session.cell.isResident) {
    dropEarlierCalls(window);
    window.drop(1, tools, 'last-turn@1');
  }
  window.add({ rule: 'last-turn@1', of: [] }, 'DIALOG');
  const turnReply = await askModel(session, turn);
  if ('failure' in turnReply) return retryTurnOrStop(session, turnReply.failure);
  if (turnReply.text.trim() === '') return stoppedOutcome(session, { code: 'turns_used' });
  if (session.cell.isResident && turnReply.calls.length === 0) addReplyToWindow(session, turnReply);
  const failure: Failure = { code: 'turns_used' };
  if (session.cell.agent.signature.output.format !== 'json')
    return outcome(session, 'partial', turnReply.text, { failure });
  const checked = await checkAnswer(session, turnReply.text);
  return 'json' in checked ? jsonOutcome(session, 'partial', checked, failure) : stoppedOutcome(session, failure);
};

/** The session stopped before an answer: its latest text, and the failure. */
export const stoppedOutcome = (session: Session, failure: Failure): Outcome =>
  outcome(session, failureStatus(failure), textForCaller(session), { failure });

/** The turn got no reply, so it does not count: a resident uses its number again. */
export const retryTurnOrStop = (session: Session, failure: Failure): Outcome => {
  session.turn--;
  return stoppedOutcome(session, failure);
};

/**
 * A resident was asked to finish. Its result is its latest answer for its caller, and as complete as that answer was; it is not
 * complete if messages are left that it had not read and that await an answer.
 */
export const shutdownOutcome = (session: Session, latest: LatestOutcomes, leavesUnread: boolean): Outcome => {
  const { last, forCaller } = latest;
  const failure: Failure = { code: 'shut_down' };
  if (last?.status === 'failed' || (last === null && !leavesUnread)) return stoppedOutcome(session, failure);
  const text = textForCaller(session);
  const data = session.cell.agent.signature.output.format === 'json' ? (extractJson(text) ?? null) : null;
  if (leavesUnread) return outcome(session, 'partial', text, { failure, data });
  if (forCaller?.status !== 'partial') return outcome(session, 'completed', text, { data });
  return { ...forCaller, output: text, data, spent: elapsedSpend(session) };
};

/** The outcomes of a resident's latest piece of work, and of its latest for its caller. */
export type LatestOutcomes = { readonly last: Outcome | null; readonly forCaller: Outcome | null };

/** Where the answer of the current work goes; null: to nobody. What a root says unasked goes to the person that started it. */
export const answerEnd = ({ asker, cell }: Session): CrossingEnd | null =>
  asker?.from ?? (cell.parent === null ? 'outside' : null);

/** The end of a session is told to the caller that started it, so it holds nothing that was written for another. */
export const textForCaller = (session: Session): string =>
  /* probe: outcome-text */ worksForCaller(session) ? session.latestText : session.resultText;

export const worksForCaller = (session: Session): boolean => answerEnd(session) === (session.cell.parent ?? 'outside');

const successStatus = ({ missing }: Session): Status => (missing.length > 0 ? 'partial' : 'completed');

const failureStatus = ({ code }: Failure): Status => {
  if (code === 'deadline_passed') return 'timeout';
  switch (errorCatalogue[code].class) {
    case 'cancelled':
      return 'cancelled';
    case 'limit':
      return code === 'agent_limit' || code === 'mail_loop' ? 'limit' : 'failed';
    case 'budget':
      return 'budget';
    default:
      return 'failed';
  }
};

const outcome = (
  session: Session,
  status: Status,
  output: string,
  details?: { failure?: Failure; data?: Json },
): Outcome => {
  return deepFreeze({
    status,
    output,
    data: details?.data ?? null,
    failure: details?.failure ?? null,
    // As with the text: what was missing in work for another is not told to the caller.
    missing: worksForCaller(session) ? session.missing : [],
    spent: elapsedSpend(session),
  });
};

/** Time during which the run was down does not count. */
export const elapsedSpend = ({ cell: { runtime } }: Session): Spent => runtime.spent;

/** A defect stops only this session, and is reported as one. */
export const failureFrom = (error: unknown): Failure => {
  if (error instanceof CloisterError) return error.failure;
  return { code: 'defect', detail: error instanceof Error ? error.message : String(error) };
};

/** The value as text with its keys in the order given, and as data. */
type FittingAnswer = { readonly json: string; readonly data: Json };

type AnswerCheck =
  | FittingAnswer
  | { readonly problems: readonly string[]; readonly no: number; readonly unusable: boolean };

/** Checks the answer as a recorded operation: its problems are shown to the model, and its value is the result. */
const checkAnswer = async (session: Session, text: string): Promise<AnswerCheck> => {
  const { cell } = session;
  const check = {
    do: 'step',
    name: 'check:answer',
    repeat: 'free',
    timeoutMs: cell.limits.toolTimeout,
    timeoutCode: 'tool_timeout',
    work: async (world: StepContext): Promise<Json> => {
      const found = findValue(session, text);
      if ('json' in found && cell.runtime.hasLiveListeners) world.emitWhole(found.json);
      return found;
    },
  } as const;
  const pending = await cell.runtime.first([cell.runtime.begin(check)]);
  const settled = pending.settled!;
  cell.record(pending.no, settled);
  if (!settled.ok) return { problems: ['the output schema is invalid'], no: pending.no, unusable: true };
  const found = settled.value as ReturnType<typeof findValue>;
  if ('problems' in found) return { ...found, no: pending.no, unusable: false };
  const data = extractJson(found.json);
  // Only a secret that was written as a number can end here.
  return data === undefined
    ? { problems: ['a secret was removed'], no: pending.no, unusable: true }
    : { ...found, data };
};

/** The one value in the answer that fits, or why there is none. */
const findValue = ({ cell, ports }: Session, text: string): ReturnType<typeof findJsonAnswer> => {
  const { schema } = cell.agent.signature.output;
  const checkAgainstSchema = (value: Json): readonly string[] =>
    schema === undefined ? [] : ports.world.validate(schema, value);
  return findJsonAnswer(text, (value) => ports.checkAnswer?.(value) ?? checkAgainstSchema(value));
};
