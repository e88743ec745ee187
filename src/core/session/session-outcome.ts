// How a session ends. There is no success without a final answer.
import { deepFreeze, errorCatalogue, extractJson } from '#base';
import type { Failure, Json } from '#base';
import type { Outcome, Status } from '#contracts';
import { askModel, addReplyToWindow } from './ask-model.ts';
import type { TurnReply } from './ask-model.ts';
import type { Session } from './state.ts';

/** The outcome, or null when the answer must be repaired in one more turn. */
export const finishWithAnswer = async (session: Session, asked: TurnReply): Promise<Outcome | null> => {
  if (asked.reply.finish === 'length' || asked.reply.finish === 'interrupted')
    return outcome(session, 'partial', asked.text);
  const { format } = session.cell.agent.output;
  if (format !== 'json') return outcome(session, completed(session), asked.text);
  const checked = await checkAnswer(session, asked.text);
  if ('value' in checked) return outcome(session, completed(session), asked.text, { data: checked.value });
  if (session.repaired || checked.unusable)
    return stoppedOutcome(session, { code: 'answer_schema', detail: checked.problems.join('; ') });
  session.repaired = true;
  addReplyToWindow(session, asked);
  session.window.add({ rule: 'repair@1', of: [{ from: 'operation', no: checked.no }] }, 'DIALOG');
  return null;
};

/** No turns left: one more without tools, for an answer from what there is. */
export const runLastTurn = async (session: Session, turn: number): Promise<Outcome> => {
  const { window } = session;
  const tools = window.view.filter(({ part }) => 'tool' in part).length;
  // One that lives on needs them again.
  if (tools > 0 && !session.cell.resident) window.drop(1, tools, 'last-turn@1');
  window.add({ rule: 'last-turn@1', of: [] }, 'DIALOG');
  const asked = await askModel(session, turn);
  if ('failure' in asked) return retryTurnOrStop(session, asked.failure);
  if (asked.text.trim() === '') return stoppedOutcome(session, { code: 'turns_used' });
  if (session.cell.resident && asked.calls.length === 0) addReplyToWindow(session, asked);
  const { format, schema } = session.cell.agent.output;
  const json = format === 'json' ? extractJson(asked.text) : undefined;
  const fits = json !== undefined && (schema === undefined || session.ports.world.validate(schema, json).length === 0);
  return outcome(session, 'partial', asked.text, { failure: { code: 'turns_used' }, data: fits ? json : null });
};

/** Stopped before an answer: what there is, and why. */
export const stoppedOutcome = (session: Session, failure: Failure): Outcome =>
  outcome(session, statusOf(failure), session.text, { failure });

/** A turn without a reply: one that lives on takes it again. */
export const retryTurnOrStop = (session: Session, failure: Failure): Outcome => {
  session.turn--;
  return stoppedOutcome(session, failure);
};

/** It is asked to come to an end while it has nothing to do: its newest answer is its last, if it has one to its newest mail. */
export const shutdownOutcome = (session: Session, answered: boolean): Outcome =>
  answered ? outcome(session, 'completed', session.text) : stoppedOutcome(session, { code: 'shut_down' });

const completed = ({ missing }: Session): Status => (missing.length > 0 ? 'partial' : 'completed');

const statusOf = ({ code }: Failure): Status => {
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
  more?: { failure?: Failure; data?: Json },
): Outcome => {
  const { runtime, bornAt } = session.cell;
  return deepFreeze({
    status,
    output,
    data: more?.data ?? null,
    failure: more?.failure ?? null,
    missing: session.missing,
    // While the run was down no time was spent.
    spent: runtime.account.spent(runtime.now - bornAt - runtime.downMs),
  });
};

type Checked =
  | { readonly value: Json }
  | { readonly problems: readonly string[]; readonly no: number; readonly unusable: boolean };

/** Recorded as an operation: what was wrong goes back to the model. */
const checkAnswer = async (session: Session, text: string): Promise<Checked> => {
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
    if (value === undefined) return ['It is not JSON.'];
    const problems = schema === undefined ? [] : ports.world.validate(schema, value);
    return (problems.length > 0 ? problems : (ports.check?.(value) ?? [])).slice(0, 10);
  };
  const pending = await cell.runtime.first([
    cell.runtime.begin({ ...check, work: async (): Promise<Json> => problemsOf() }),
  ]);
  const settled = pending.settled!;
  cell.record(pending.no, settled);
  const problems = settled.ok ? (settled.value as readonly string[]) : ['the output schema cannot be used'];
  return problems.length === 0 && value !== undefined ? { value } : { problems, no: pending.no, unusable: !settled.ok };
};
