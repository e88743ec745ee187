// One turn's question to the model: attempts, retries, fallback. Each attempt is its own operation, hold and prompt hash.
import { CloisterError, errorCatalogue, sha256 } from '#base';
import type { Failure, Hash, Json } from '#base';
import type { Agent, Amounts, Model, Reply, Settled, Source, StepOperation } from '#contracts';
import { fitWindow } from '#core/memory';
import type { Request } from '#core/memory';
import { costNanoUsd, holdFor, outputTokensMax, overdrawn } from './budget.ts';
import type { Call, Session } from './state.ts';
import { modelFailure } from './model-failure.ts';
import { readReply } from './read-reply.ts';

export type Asked = {
  readonly no: number;
  readonly reply: Reply;
  readonly calls: readonly Call[];
  readonly text: string;
};

export const askModel = async (session: Session, turn: number): Promise<Asked | { failure: Failure }> => {
  let failure: Failure = { code: 'model_missing' };
  for (const model of session.ports.models) {
    for (let attempt = 0; attempt <= session.cell.limits.maxRetries; attempt++) {
      if (attempt > 0) await backOff(session, failure, attempt);
      const asked = await attemptOnce(session, model, turn);
      if (!('failure' in asked)) return asked;
      failure = asked.failure;
      if (endsSession(failure)) return { failure };
      if (!errorCatalogue[failure.code].retryable) break;
    }
  }
  return { failure };
};

const attemptOnce = async (session: Session, model: Model, turn: number): Promise<Asked | { failure: Failure }> => {
  const { cell, window, work } = session;
  const exhausted = work.exhausted();
  if (exhausted !== null) return { failure: exhausted };
  if (session.reported !== null && session.reported.model !== model) leaveOutReasoning(session);
  if (!fitWindow(window, windowTokens(session, model))) return { failure: { code: 'window_full' } };

  const hold = holdFor(session, model);
  cell.home.account.floor = hold;
  const { request, attempt } = window.render({
    turn,
    model: modelName(model),
    settings: settingsOf(cell.agent, model),
  });
  if (!window.attributes(request)) return { failure: { code: 'unattributed' } };
  cell.home.note({ attempt });
  work.began();
  const pending = await cell.home.first([cell.home.begin(attemptStep(session, model, request, hold))]);
  work.ended();
  const settled = pending.settled!;
  cell.journal.set(pending.no, settled);
  return settled.ok
    ? accept(session, model, hold, pending.no, settled)
    : { failure: work.exhausted() ?? settled.failure };
};

const accept = (
  session: Session,
  model: Model,
  hold: Amounts,
  no: number,
  settled: Extract<Settled<Json>, { ok: true }>,
): Asked | { failure: Failure } => {
  const { cell, window } = session;
  const reply = settled.value as unknown as Reply;
  if (reply.usage !== null) {
    session.reported = { model, tokens: reply.usage.inputTokens + reply.usage.outputTokens, atBytes: window.bytes };
    if (cell.home.account.capped && overdrawn(hold, reply.usage)) return { failure: { code: 'budget_overdrawn' } };
  }
  const calls: Call[] = [];
  let text = '';
  for (const part of reply.parts)
    if (part.type === 'call') calls.push(part);
    else if (part.type === 'text') text += part.text;
  if (reply.finish === 'content-filter') return { failure: { code: 'model_refused' } };
  if (calls.length === 0 && isBlank(text)) return { failure: { code: 'model_empty' } };
  if (!isBlank(text)) session.text = text;
  return { no, reply, calls, text };
};

/** Puts a reply into the window: for the turn that follows. */
export const keepReply = (session: Session, { no, reply }: Asked): void => {
  const { window, reported } = session;
  window.add({ rule: 'reply@1', of: reply.parts.map((_, part): Source => ({ from: 'reply', no, part })) }, 'DIALOG');
  // The reported output is this reply: only what comes after it is new.
  if (reported !== null) session.reported = { ...reported, atBytes: window.bytes };
};

const isBlank = (text: string): boolean => text === '' || text.trim() === '';

const attemptStep = (session: Session, model: Model, request: Request, hold: Amounts): StepOperation => {
  const { cell, work } = session;
  const { home, limits } = cell;
  const { settings } = cell.agent;
  const maxOutputTokens = outputTokensMax(limits, model);
  return {
    do: 'step',
    name: `model:${modelName(model)}`,
    repeat: 'free',
    timeoutMs: work.timeoutMs(limits.llmTimeout),
    timeoutCode: 'model_timeout',
    lane: 'models',
    hold,
    work: async (world) => {
      if (home.heard) world.emit({ type: 'text-reset' });
      try {
        const { stream } = await model.language.doStream({
          prompt: request.prompt,
          ...(request.tools.length === 0 ? undefined : { tools: request.tools }),
          maxOutputTokens,
          ...settings,
          get abortSignal() {
            return world.signal;
          },
        });
        const reply = await readReply(stream, home.heard ? world.emit.bind(world) : undefined);
        if (reply.usage !== null) world.used({ usage: reply.usage, nanoUsd: costNanoUsd(model.price, reply.usage) });
        return reply;
      } catch (error) {
        const { failure, refusedUnprocessed } = modelFailure(error);
        if (refusedUnprocessed) world.used(nothingUsed);
        throw new CloisterError(failure.code, failure.detail, {
          cause: error,
          ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }),
        });
      }
    },
  };
};

const nothingUsed = { usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }, nanoUsd: 0 };

export const modelName = ({ language }: Model): string => `${language.provider}/${language.modelId}`;

/** The request's other fields, by hash: fixed by definition and model. */
const settingsOf = (agent: Agent, model: Model): Hash => {
  let known = settingsHashes.get(agent);
  if (known === undefined) settingsHashes.set(agent, (known = new Map()));
  let hash = known.get(model);
  if (hash === undefined)
    known.set(model, (hash = sha256(JSON.stringify({ model: modelName(model), ...agent.settings, ...agent.limits }))));
  return hash;
};

const settingsHashes = new WeakMap<Agent, Map<Model, Hash>>();

const windowTokensDefault = 128_000;

const windowTokens = ({ cell: { limits } }: Session, model: Model): number => {
  const context = limits.contextTokensMax || model.contextTokens || windowTokensDefault;
  return Math.max(1, context - Math.min(outputTokensMax(limits, model), Math.floor(context / 2)));
};

/** Another model cannot use the reasoning that this one signed: those replies are shown without it from now on. */
const leaveOutReasoning = ({ window, cell }: Session): void => {
  window.view.forEach(({ origin }, index) => {
    if (origin.rule !== 'reply@1') return;
    const kept = origin.of.filter(
      (source) => source.from !== 'reply' || partType(cell.journal.get(source.no), source.part) !== 'reasoning',
    );
    if (kept.length < origin.of.length && kept.length > 0)
      window.replace(index, index, { rule: 'reply@1', of: kept }, 'DIALOG');
  });
};

const partType = (settled: Settled<Json> | undefined, part: number): string | undefined =>
  settled?.ok === true ? (settled.value as unknown as Reply).parts[part]?.type : undefined;

const backOffMs = 500;

const backOff = async ({ cell, work }: Session, failure: Failure, attempt: number): Promise<void> => {
  const ms = failure.retryAfterMs ?? backOffMs * 2 ** (attempt - 1);
  await cell.home.run({ do: 'sleep', ms: Math.min(ms, work.untilDeadlineMs()) });
};

/** Failures after which neither a retry nor another model helps. */
const endsSession = ({ code }: Failure): boolean =>
  code === 'budget_refused' ||
  code === 'budget_overdrawn' ||
  code === 'cancelled' ||
  code === 'store_failed' ||
  code === 'deadline_passed' ||
  code === 'agent_limit' ||
  code === 'unattributed';
