// Ends a session with an outcome. There is no success without a final answer.
import { deepFreeze, errorCatalogue, extractJson } from '#base';
import type { Failure, Json } from '#base';
import type { CrossingEnd, Outcome, Status } from '#contracts';
import { askModel, addReplyToWindow } from './ask-model.ts';
import type { TurnReply } from './ask-model.ts';
import type { Session } from './state.ts';

/** The outcome, or null if the answer must be repaired in one more turn. */
export const finishWithAnswer = async (session: Session, turnReply: TurnReply): Promise<Outcome | null> => {
  if (turnReply.reply.finish === 'length' || turnReply.reply.finish === 'interrupted')
    return outcome(session, 'partial', turnReply.text);
  const { format } = session.cell.agent.output;
  if (format !== 'json') return outcome(session, successStatus(session), turnReply.text);
  const checked = await checkAnswer(session, turnReply.text);
  if ('value' in checked) return outcome(session, successStatus(session), turnReply.text, { data: checked.value });
  if (session.hasRepaired || checked.unusable)
    return stoppedOutcome(session, { code: 'answer_schema', detail: checked.problems.join('; ') });
  session.hasRepaired = true;
  addReplyToWindow(session, turnReply);
  session.window.add({ rule: 'repair@1', of: [{ from: 'operation', no: checked.no }] }, 'DIALOG');
  return null;
};

/** No turns are left: runs one more without tools, to get an answer from what the model has so far. */
export const runLastTurn = async (session: Session, turn: number): Promise<Outcome> => {
  const { window } = session;
  const tools = window.view.filter(({ part }) => 'tool' in part).length;
  // A resident needs its tools for the next message.
  if (tools > 0 && !session.cell.isResident) window.drop(1, tools, 'last-turn@1');
  window.add({ rule: 'last-turn@1', of: [] }, 'DIALOG');
  const turnReply = await askModel(session, turn);
  if ('failure' in turnReply) return retryTurnOrStop(session, turnReply.failure);
  if (turnReply.text.trim() === '') return stoppedOutcome(session, { code: 'turns_used' });
  if (session.cell.isResident && turnReply.calls.length === 0) addReplyToWindow(session, turnReply);
  const { format, schema } = session.cell.agent.output;
  const json = format === 'json' ? extractJson(turnReply.text) : undefined;
  const fits = json !== undefined && (schema === undefined || session.ports.world.validate(schema, json).length === 0);
  return outcome(session, 'partial', turnReply.text, { failure: { code: 'turns_used' }, data: fits ? json : null });
};

/** The session stopped before an answer: its latest text, and the failure. */
export const stoppedOutcome = (session: Session, failure: Failure): Outcome =>
  outcome(session, failureStatus(failure), textForCaller(session), { failure });

/** The turn got no reply, so it does not count: a resident uses its number again. */
export const retryTurnOrStop = (session: Session, failure: Failure): Outcome => {
  session.turn--;
  return stoppedOutcome(session, failure);
};

/** An idle resident was asked to finish. Its latest answer is its result, if it answered its latest mail. */
export const shutdownOutcome = (session: Session, answered: boolean): Outcome =>
  answered ? outcome(session, 'completed', textForCaller(session)) : stoppedOutcome(session, { code: 'shut_down' });

/** Where the answer of the current work goes; null: to nobody. What a root says unasked goes to the person that started it. */
export const answerEnd = ({ asker, cell }: Session): CrossingEnd | null =>
  asker?.from ?? (cell.parent === null ? 'outside' : null);

/** The end of a session is told to the caller that started it, so it holds nothing that was written for another. */
export const textForCaller = (session: Session): string =>
  /* probe: outcome-text */ worksForCaller(session) ? session.latestText : session.resultText;

const worksForCaller = (session: Session): boolean => answerEnd(session) === (session.cell.parent ?? 'outside');

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
  const { runtime, createdAt } = session.cell;
  return deepFreeze({
    status,
    output,
    data: details?.data ?? null,
    failure: details?.failure ?? null,
    // As with the text: what was missing in work for another is not told to the caller.
    missing: worksForCaller(session) ? session.missing : [],
    // Time during which the run was down does not count.
    spent: runtime.account.spent(runtime.now - createdAt - runtime.downMs),
  });
};

type AnswerCheck =
  | { readonly value: Json }
  | { readonly problems: readonly string[]; readonly no: number; readonly unusable: boolean };

/** Validates the answer as a recorded operation, because its problems are shown to the model. */
const checkAnswer = async (session: Session, text: string): Promise<AnswerCheck> => {
  const { cell, ports } = session;
  const { schema } = cell.agent.output;
  const value = extractJson(text);
  const check = {
    do: 'step',
    name: 'check:answer',
    repeat: 'free',
    timeoutMs: cell.limits.toolTimeout,
    timeoutCode: 'tool_timeout',
  } as const;
  const problemsOf = (): readonly string[] => {
    if (value === undefined) return ['The answer is not JSON.'];
    const checkAgainstSchema = (): readonly string[] =>
      schema === undefined ? [] : ports.world.validate(schema, value);
    return (ports.checkAnswer?.(value) ?? checkAgainstSchema()).slice(0, 10);
  };
  const pending = await cell.runtime.first([
    cell.runtime.begin({ ...check, work: async (): Promise<Json> => problemsOf() }),
  ]);
  const settled = pending.settled!;
  cell.record(pending.no, settled);
  const problems = settled.ok ? (settled.value as readonly string[]) : ['the output schema is invalid'];
  return problems.length === 0 && value !== undefined ? { value } : { problems, no: pending.no, unusable: !settled.ok };
};
