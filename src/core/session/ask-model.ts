// Asks the model for one turn's reply, with retries and fallback. Each attempt has its own operation, hold and prompt hash.
import { errorCatalogue, omitUndefined, sha256 } from '#base';
import type { Failure, Hash, Json } from '#base';
import type { Agent, Amounts, Model, PendingOperation, ModelReply, Settlement, Source, WindowLimit } from '#contracts';
import { fitWindow, bytesToTokens } from '#core/memory';
import { isMadeBy } from '#core/rules';
import { requestSchema, schemaBytes } from './answer-schema.ts';
import { holdFor, isOverdrawn, replyCap, replyTooShort } from './budget.ts';
import { compactByModel } from './compact-by-model.ts';
import { countPromptTokens } from './count-tokens.ts';
import { leaveOutFiles, usableModels } from './files-in-view.ts';
import { showNewContext } from './show-new-context.ts';
import { modelName } from './model-name.ts';
import { ModelStep } from './model-step.ts';
import { closeCircuit, openCircuit, orderByCircuit } from './provider-circuits.ts';
import type { ToolCall, Session } from './state.ts';
import { estimateTokensPerByte, fileTokens, textRoom, windowLimit, promptRoom } from './window-limit.ts';

export type TurnReply = {
  readonly no: number;
  readonly reply: ModelReply;
  readonly calls: readonly ToolCall[];
  readonly text: string;
  /** Why the end of the reply is missing; null: it is complete. */
  readonly cut: Failure | null;
};

export const askModel = async (session: Session, turn: number): Promise<TurnReply | { failure: Failure }> => {
  const { cell, ports, workClock } = session;
  const usable = usableModels(session.window, ports.currentModels?.() ?? ports.models);
  let { failure } = usable;
  for (const model of modelsInOrder(session, usable.models)) {
    for (let attempt = 0; attempt <= cell.limits.maxRetries; attempt++) {
      if (attempt > 0) await backOff(session, failure, attempt);
      leaveOutFiles(session, model);
      if (model.countTokens !== undefined) await countPromptTokens(session, model);
      if (ports.compact !== undefined) await compactByModel(session, model);
      const pending = beginAttempt(session, model, turn);
      if ('failure' in pending) {
        // Why it was refused depends on the context so far, and the log would not tell what came later.
        cell.runtime.refuseOutside('context');
        return pending;
      }
      const { no, settled } = await cell.runtime.first([pending]);
      cell.record(no, settled!);
      workClock.add(settled!);
      const result = settled!.ok
        ? acceptReply(session, model, no, pending.operation.hold)
        : { failure: settled!.failure };
      if (!('failure' in result)) {
        session.circuits = closeCircuit(session.circuits, model);
        return result;
      }
      failure = workClock.limitReached() ?? result.failure;
      if (endsSession(failure)) return { failure };
      if (failure.code === 'model_request' && requestSchema(session, model) !== undefined) {
        // The provider may not support this schema. The prompt states it too, so the same attempt is made without it.
        session.refusedSchema = [...session.refusedSchema, model];
        attempt--;
        continue;
      }
      if (!errorCatalogue[failure.code].retryable) break;
      // The provider asks to wait longer than one request may take, so the next model is tried instead. Waiting is no working
      // time, so a short `timeout_ms` does not count here.
      if ((failure.retryAfterMs ?? 0) > (cell.agent.caps.limits.llmTimeout ?? retryAfterMaxMs)) break;
    }
    session.circuits = /* probe: circuit-opened */ openCircuit(session.circuits, model, failure, cell.runtime.now);
  }
  return { failure };
};

/** The first format whose runs try failing providers last. */
const circuitsSince = 9;

const modelsInOrder = ({ cell: { runtime }, circuits }: Session, models: readonly Model[]): readonly Model[] =>
  runtime.format < circuitsSince ? models : orderByCircuit(models, /* probe: circuits-of-cell */ circuits, runtime.now);

/** Renders the window, records the view and begins the attempt. A failure here ends the session. */
const beginAttempt = (
  session: Session,
  model: Model,
  turn: number,
): PendingOperation<ModelStep> | { failure: Failure } => {
  const { cell, window, workClock } = session;
  const exhausted = workClock.limitReached();
  if (exhausted !== null) return { failure: exhausted };
  if (session.latestModel !== null && session.latestModel !== model) dropReasoning(session);
  showNewContext(session, 'by now');
  const limit = windowLimit(session, model);
  const room = textRoom(session, model, limit);
  if (!fitWindow(window, room)) return { failure: windowFull(session, model, limit) };

  const { tokens: replyTokens, tooSmall } = replyCap(session, model, limit.tokens);
  if (tooSmall !== null) return { failure: replyTooShort(tooSmall, holdFor(session, model, replyTokens)) };
  const hold = holdFor(session, model, replyTokens);
  const schema = requestSchema(session, model);
  const { price, maxOutputTokens } = model;
  const { request, attempt } = window.render(turn, modelName(model), {
    settings: settingsHash(cell.agent, model, schema !== undefined),
    window: limit,
    reply: { tokens: replyTokens, ...omitUndefined({ price, modelMax: maxOutputTokens }) },
    ...(schema === undefined ? {} : { schemaBytes: schemaBytes(cell.agent) }),
  });
  if (!window.matchesRequest(request, attempt)) return { failure: { code: 'unattributed' } };
  cell.runtime.attach(attempt, session.window);
  return cell.runtime.begin(new ModelStep(session, model, { ...request, schema }, { hold, replyTokens }));
};

const acceptReply = (session: Session, model: Model, no: number, hold: Amounts): TurnReply | { failure: Failure } => {
  const { cell, window } = session;
  const settled = cell.settled(no);
  const reply = (settled?.ok === true ? settled.value : null) as unknown as ModelReply;
  if (reply.usage !== null) {
    session.latestUsage = {
      model: modelName(model),
      tokens: reply.usage.inputTokens + reply.usage.outputTokens,
      perByte: estimateTokensPerByte(Math.max(0, reply.usage.inputTokens - fileTokens(window)), window.bytes),
      atTokens: window.tokens,
      cuts: window.cuts,
    };
  }
  session.latestModel = model;
  const calls: ToolCall[] = [];
  let text = '';
  for (const part of reply.parts)
    if (part.type === 'call') calls.push(part);
    else if (part.type === 'text') text += part.text;
  const isUsable = reply.finish !== 'error' && reply.finish !== 'content-filter' && !isBlank(text);
  // If the agent answers in JSON, only a value that fits is a result.
  if (isUsable && /* probe: json-latest-text */ cell.agent.signature.output.format !== 'json')
    session.latestText = text;
  const caps = cell.runtime.capsUpwards[0]!;
  // probe: reply-overdrawn
  if (reply.usage !== null && isOverdrawn(hold, { usage: reply.usage, price: model.price, caps }))
    return { failure: { code: 'budget_overdrawn' } };
  // probe: answer-ended-with-error
  if (reply.finish === 'error')
    return { failure: { code: 'model_server', detail: 'The model ended its reply with an error.' } };
  if (reply.finish === 'content-filter') return { failure: { code: 'model_refused' } };
  if (calls.length === 0 && isBlank(text))
    return { failure: reply.finish === 'length' ? lengthFailure(session, model, reply) : { code: 'model_empty' } };
  return { no, reply, calls, text, cut: cutFailure(session, model, reply) };
};

/** Why the end of the reply is missing, if it is. */
const cutFailure = (session: Session, model: Model, reply: ModelReply): Failure | null => {
  if (reply.finish === 'length') return lengthFailure(session, model, reply);
  return reply.finish === 'interrupted' ? { code: 'model_cut' } : null;
};

const lengthFailure = (session: Session, model: Model, { parts, usage }: ModelReply): Failure => {
  const max = replyCap(session, model, windowLimit(session, model).tokens).tokens;
  const used = usage === null ? `at most ${max} tokens` : `${usage.outputTokens} tokens, of at most ${max}`;
  const hasText = parts.some((part) => part.type === 'call' || (part.type === 'text' && !isBlank(part.text)));
  const reasons =
    parts.some(({ type }) => type === 'reasoning') ||
    (session.cell.agent.resources.settings.reasoning ?? 'none') !== 'none';
  return {
    code: 'model_length',
    detail: `${modelName(model)} ${hasText ? 'was cut off after' : 'wrote no text in'} ${used}.${reasons ? ' Its reasoning counts towards them.' : ''}`,
  };
};

/** Adds a reply to the window, for the next turn. */
export const addReplyToWindow = (session: Session, { no, reply }: TurnReply): void => {
  const { window, latestUsage } = session;
  window.add({ rule: 'reply@1', of: reply.parts.map((_, part): Source => ({ from: 'reply', no, part })) }, 'DIALOG');
  // The reported output tokens are this reply, so only what comes after it is new. Without a usage report the reply is new too.
  if (latestUsage !== null && reply.usage !== null) session.latestUsage = { ...latestUsage, atTokens: window.tokens };
};

const isBlank = (text: string): boolean => text === '' || text.trim() === '';

/** A hash of the request's other fields, which depend only on the definition and the model. */
const settingsHash = (agent: Agent, model: Model, withSchema: boolean): Hash => {
  const known = withSchema ? settingsHashes.withSchema : settingsHashes.plain;
  let hashes = known.get(agent);
  if (hashes === undefined) known.set(agent, (hashes = new WeakMap()));
  let hash = hashes.get(model);
  if (hash === undefined) {
    const {
      resources: { settings },
      caps: { limits },
      signature: { output },
    } = agent;
    const schema = withSchema ? { schema: output.schema } : {};
    const fields = { model: modelName(model), max: model.maxOutputTokens, ...settings, ...limits, ...schema };
    hashes.set(model, (hash = sha256(JSON.stringify(fields))));
  }
  return hash;
};

type SettingsHashes = WeakMap<Agent, WeakMap<Model, Hash>>;

const settingsHashes: Readonly<Record<'plain' | 'withSchema', SettingsHashes>> = {
  plain: new WeakMap(),
  withSchema: new WeakMap(),
};

const windowFull = (session: Session, model: Model, limit: WindowLimit): Failure => {
  const { window } = session;
  const room = promptRoom(session, model, limit);
  const needed = bytesToTokens(window.bytes, room) + fileTokens(window);
  return {
    code: 'window_full',
    ...(limit.by === 'given' ? { limit: 'contextTokensMax' } : {}),
    detail: `The prompt, tools and task${window.files.length === 0 ? '' : ', with its files,'} need about ${needed} tokens; the window has room for ${room.tokens}.`,
  };
};

/** A model cannot use reasoning that another model signed, so earlier replies are shown without it from now on. */
const dropReasoning = ({ window, cell }: Session): void => {
  window.view.forEach(({ origin }, index) => {
    if (!isMadeBy(origin.rule, 'reply')) return;
    const sources = origin.of.filter(
      (source) => source.from !== 'reply' || partType(cell.settled(source.no), source.part) !== 'reasoning',
    );
    if (sources.length < origin.of.length && sources.length > 0)
      window.replace(index, index, { rule: 'reply@1', of: sources }, 'DIALOG');
  });
};

const partType = (settled: Settlement<Json> | undefined, part: number): string | undefined =>
  settled?.ok === true ? (settled.value as unknown as ModelReply).parts[part]?.type : undefined;

const backOffMs = 500;
const retryAfterMaxMs = 120_000;

const backOff = async ({ cell, workClock }: Session, failure: Failure, attempt: number): Promise<void> => {
  const ms = failure.retryAfterMs ?? backOffMs * 2 ** (attempt - 1);
  const { runtime } = cell;
  await runtime.first([runtime.begin({ do: 'sleep', ms: Math.min(ms, workClock.untilDeadlineMs()), why: 'back-off' })]);
};

/** After these failures, neither a retry nor another model helps. */
const endsSession = ({ code }: Failure): boolean =>
  code === 'budget_refused' ||
  code === 'budget_overdrawn' ||
  code === 'cancelled' ||
  code === 'store_failed' ||
  code === 'deadline_passed' ||
  code === 'agent_limit' ||
  code === 'unattributed' ||
  code === 'replay_differs';
