// One model request as a step. It is a class to save memory: thousands of them can be waiting.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { Amounts, Model, StepOperation, StepContext } from '#contracts';
import { noCost } from '#core/events';
import type { ModelRequest } from '#core/memory';
import { replyTokensMin } from '#core/rules';
import { responseFormat } from './answer-schema.ts';
import { costNanoUsd, holdFor } from './budget.ts';
import { fillFiles } from './fill-files.ts';
import { modelFailure } from './model-failure.ts';
import type { RequestStage } from './model-failure.ts';
import { modelStepName } from './model-name.ts';
import { readReply, redactReply } from './read-reply.ts';
import type { LiveListener } from './read-reply.ts';
import type { Session } from './state.ts';

/** `replyTokens`: the longest reply, thinking included. */
type StepBudget = { readonly hold: Amounts; readonly replyTokens: number };
/** `schema`: that of the answer, if it goes with the request. */
type RequestWithSchema = ModelRequest & { readonly schema: JsonObject | undefined };

export class ModelStep implements StepOperation {
  readonly do = 'step';
  readonly repeat = 'free';
  readonly timeoutCode = 'model_timeout';
  readonly lane = 'models';
  readonly name: string;
  readonly timeoutMs: number;
  readonly deadline: number;
  readonly hold: Amounts;
  readonly #session: Session;
  readonly #model: Model;
  readonly #replyTokens: number;
  #request: RequestWithSchema | null;

  constructor(session: Session, model: Model, request: RequestWithSchema, { hold, replyTokens }: StepBudget) {
    this.name = modelStepName(model);
    this.timeoutMs = session.workClock.timeoutMs(session.cell.limits.llmTimeout);
    this.deadline = session.cell.runtime.deadline;
    this.hold = hold;
    this.#session = session;
    this.#model = model;
    this.#replyTokens = replyTokens;
    this.#request = request;
  }

  shortestHold(): Amounts {
    return holdFor(this.#session, this.#model, Math.min(this.#replyTokens, replyTokensMin));
  }

  async work(world: StepContext): Promise<Json> {
    const { runtime } = this.#session.cell;
    if (runtime.hasLiveListeners) world.emit({ type: 'text-reset' });
    let stage: RequestStage = 'sent';
    try {
      const { stream } = await this.#send(world);
      stage = 'accepted';
      const read = await readReply(stream, world, {
        emit: this.#liveListener(world),
        onBegin: () => (stage = 'replying'),
      });
      const reply = world.redacts ? redactReply(read, (text) => world.redact(text)) : read;
      if (reply.usage !== null)
        world.reportCost({ usage: reply.usage, nanoUsd: costNanoUsd(this.#model.price, reply.usage) });
      return reply;
    } catch (error) {
      const { failure, refusedUnprocessed } = modelFailure(error, stage);
      if (refusedUnprocessed) world.reportCost(noCost);
      const { code, detail, retryAfterMs } = failure;
      throw new CloisterError(
        code,
        detail,
        retryAfterMs === undefined ? { cause: error } : { cause: error, retryAfterMs },
      );
    }
  }

  /** JSON is shown once it fits, in one piece: text around it could not be taken back. */
  #liveListener(world: StepContext): LiveListener {
    const { runtime, agent } = this.#session.cell;
    if (!runtime.hasLiveListeners) return undefined;
    if (agent.signature.output.format !== 'json') return (event) => world.emit(event);
    return (event) => void (event.type === 'text-delta' || world.emit(event));
  }

  #send(world: StepContext) {
    const { prompt, tools, schema } = this.#request!;
    const { window, ports } = this.#session;
    const { agent } = this.#session.cell;
    // Only the provider needs the request from here on, so it is released.
    this.#request = null;
    const options: LanguageModelV4CallOptions = {
      prompt,
      tools: tools.length === 0 ? undefined : tools,
      // probe: model-request-fields
      maxOutputTokens: this.#replyTokens,
      abortSignal: world.signal,
    };
    if (schema !== undefined) options.responseFormat = responseFormat(schema);
    Object.assign(options, agent.resources.settings);
    if (window.files.length === 0) return this.#model.language.doStream(options);
    return fillFiles(prompt, (ref) => ports.world.readBlob(ref)).then((filled) =>
      this.#model.language.doStream({ ...options, prompt: filled }),
    );
  }
}
