// One turn's question to the model: attempts, retries, fallback. Each attempt is its own operation, hold and prompt hash.
import { errorCatalogue, sha256 } from '#base';
import type { Failure, Hash, Json } from '#base';
import type { Agent, Amounts, Model, PendingOperation, ModelReply, Settlement, Source } from '#contracts';
import { fitWindow, tokensIn } from '#core/memory';
import { holdFor, isOverdrawn } from './budget.ts';
import { compactByModel } from './compact-by-model.ts';
import { countPromptTokens } from './count-tokens.ts';
import { takeReceived } from './take-received.ts';
import { modelName, ModelStep } from './model-step.ts';
import type { ToolCall, Session } from './state.ts';
import { perByteOf, roomFor, windowLimit } from './window-limit.ts';

export type TurnReply = {
  readonly no: number;
  readonly reply: ModelReply;
  readonly calls: readonly ToolCall[];
  readonly text: string;
};

export const askModel = async (session: Session, turn: number): Promise<TurnReply | { failure: Failure }> => {
  const { cell, ports, work } = session;
  let failure: Failure = { code: 'model_missing' };
  for (const model of ports.modelsNow?.() ?? ports.models) {
    for (let attempt = 0; attempt <= cell.limits.maxRetries; attempt++) {
      if (attempt > 0) await backOff(session, failure, attempt);
      if (model.countTokens !== undefined) await countPromptTokens(session, model);
      if (ports.compact !== undefined) await compactByModel(session, model);
      const begun = beginAttempt(session, model, turn);
      if ('failure' in begun) return begun;
      const { no, settled } = await cell.runtime.first([begun]);
      cell.record(no, settled!);
      work.add(settled!);
      const asked = settled!.ok ? accept(session, model, no, begun.operation.hold) : { failure: settled!.failure };
      if (!('failure' in asked)) return asked;
      failure = work.exhausted() ?? asked.failure;
      if (endsSession(failure)) return { failure };
      if (!errorCatalogue[failure.code].retryable) break;
      // Who asks for more patience than one request may take is left alone: the next model may answer.
      if ((failure.retryAfterMs ?? 0) > cell.limits.llmTimeout) break;
    }
  }
  return { failure };
};

/** Renders the window, records the view and begins the attempt; a failure here ends the session. */
const beginAttempt = (
  session: Session,
  model: Model,
  turn: number,
): PendingOperation<ModelStep> | { failure: Failure } => {
  const { cell, window, work } = session;
  const exhausted = work.exhausted();
  if (exhausted !== null) return { failure: exhausted };
  if (session.answeredBy !== null && session.answeredBy !== model) leaveOutReasoning(session);
  takeReceived(session, 'by now');
  const limit = windowLimit(session, model);
  const room = roomFor(session, model, limit);
  if (!fitWindow(window, room)) return { failure: fullWindow(tokensIn(window.bytes, room), room.tokens) };

  const hold = holdFor(session, model);
  cell.runtime.account.floor = hold;
  const settings = settingsOf(cell.agent, model);
  const { request, attempt } = window.render(turn, modelName(model), { settings, window: limit });
  if (!window.attributes(request)) return { failure: { code: 'unattributed' } };
  cell.runtime.note({ attempt });
  return cell.runtime.begin(new ModelStep(session, model, request, hold));
};

const accept = (session: Session, model: Model, no: number, hold: Amounts): TurnReply | { failure: Failure } => {
  const { cell, window } = session;
  const settled = cell.settled(no);
  const reply = (settled?.ok === true ? settled.value : null) as unknown as ModelReply;
  if (reply.usage !== null) {
    session.reported = {
      model,
      tokens: reply.usage.inputTokens + reply.usage.outputTokens,
      perByte: perByteOf(reply.usage.inputTokens, window.bytes),
      atBytes: window.bytes,
      cuts: window.cuts,
    };
    if (isOverdrawn(hold, reply.usage, model.price)) return { failure: { code: 'budget_overdrawn' } };
  }
  session.answeredBy = model;
  const calls: ToolCall[] = [];
  let text = '';
  for (const part of reply.parts)
    if (part.type === 'call') calls.push(part);
    else if (part.type === 'text') text += part.text;
  // probe: answer-ended-with-error
  if (reply.finish === 'error')
    return { failure: { code: 'model_server', detail: 'It ended its answer with an error.' } };
  if (reply.finish === 'content-filter') return { failure: { code: 'model_refused' } };
  if (calls.length === 0 && isBlank(text)) return { failure: { code: 'model_empty' } };
  if (!isBlank(text)) session.text = text;
  return { no, reply, calls, text };
};

/** Puts a reply into the window: for the turn that follows. */
export const addReplyToWindow = (session: Session, { no, reply }: TurnReply): void => {
  const { window, reported } = session;
  window.add({ rule: 'reply@1', of: reply.parts.map((_, part): Source => ({ from: 'reply', no, part })) }, 'DIALOG');
  // The reported output is this reply: only what comes after it is new. A reply that reported nothing is new itself.
  if (reported !== null && reply.usage !== null) session.reported = { ...reported, atBytes: window.bytes };
};

const isBlank = (text: string): boolean => text === '' || text.trim() === '';

/** The request's other fields, by hash: fixed by definition and model. */
const settingsOf = (agent: Agent, model: Model): Hash => {
  let known = settingsHashes.get(agent);
  if (known === undefined) settingsHashes.set(agent, (known = new WeakMap()));
  let hash = known.get(model);
  if (hash === undefined)
    known.set(
      model,
      (hash = sha256(
        JSON.stringify({ model: modelName(model), max: model.maxOutputTokens, ...agent.settings, ...agent.limits }),
      )),
    );
  return hash;
};

const settingsHashes = new WeakMap<Agent, WeakMap<Model, Hash>>();

const fullWindow = (needed: number, tokens: number): Failure => ({
  code: 'window_full',
  detail: `The agent's prompt, its tools and its task take about ${needed} tokens; there is room for ${tokens}.`,
});

/** Another model cannot use the reasoning that this one signed: those replies are shown without it from now on. */
const leaveOutReasoning = ({ window, cell }: Session): void => {
  window.view.forEach(({ origin }, index) => {
    if (origin.rule !== 'reply@1') return;
    const kept = origin.of.filter(
      (source) => source.from !== 'reply' || partType(cell.settled(source.no), source.part) !== 'reasoning',
    );
    if (kept.length < origin.of.length && kept.length > 0)
      window.replace(index, index, { rule: 'reply@1', of: kept }, 'DIALOG');
  });
};

const partType = (settled: Settlement<Json> | undefined, part: number): string | undefined =>
  settled?.ok === true ? (settled.value as unknown as ModelReply).parts[part]?.type : undefined;

const backOffMs = 500;

const backOff = async ({ cell, work }: Session, failure: Failure, attempt: number): Promise<void> => {
  const ms = failure.retryAfterMs ?? backOffMs * 2 ** (attempt - 1);
  await cell.runtime.run({ do: 'sleep', ms: Math.min(ms, work.untilDeadlineMs()), why: 'back-off' });
};

/** Failures after which neither a retry nor another model helps. */
const endsSession = ({ code }: Failure): boolean =>
  code === 'budget_refused' ||
  code === 'budget_overdrawn' ||
  code === 'cancelled' ||
  code === 'store_failed' ||
  code === 'deadline_passed' ||
  code === 'agent_limit' ||
  code === 'unattributed' ||
  code === 'replay_differs';
