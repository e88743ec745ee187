// The rehearsal model: answers from a script, offline.
//
//   rehearsal-deterministic. The same requests in the same order get the same replies, ids included.
//   rehearsal-strict. In a strict script, a request that no line fits is an error, which describes the request.
//   rehearsal-real-errors. Errors look like those of real AI SDK providers.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { CloisterError } from '#base';
import type { Clock, Model } from '#contracts';
import { prepareReply, fillReply } from './prepare-reply.ts';
import type { PreparedReply } from './prepare-reply.ts';
import { toReply, checkFunctionReply, checkScript } from './check-script.ts';
import { createLineState, explainNoMatch, takeLine } from './choose-line.ts';
import type { LineState } from './choose-line.ts';
import { throwRequestFault, streamReply, generateReply } from './stream-reply.ts';
import type { Timing } from './stream-reply.ts';
import { readScript } from './read-script.ts';
import { viewRequest } from './request-view.ts';
import type { ScriptLine, RequestView, Script, ScriptedReply } from './script.ts';

/** The options of `rehearse`. */
export type RehearsalOptions = {
  /** The clock for delays. Default: real time. */
  readonly clock?: Pick<Clock, 'timer'>;
  /** The name of the model, in reports and prices. Default: that of the script, or `rehearsal`. */
  readonly modelId?: string;
  /** Overrides the script's own setting. */
  readonly strict?: boolean;
  /** Default true. If false, `requests` stays empty. */
  readonly keepRequests?: boolean;
};

/** A model that answers from a script, and what it was asked so far. */
export type Rehearsal = LanguageModelV4 & {
  /** Every call's options in order, as frozen copies; the abort signal is the caller's own. */
  readonly requests: readonly LanguageModelV4CallOptions[];
  /** The same model with the script's price and sizes. */
  readonly model: Model;
  /** Lines that have not answered any request so far. */
  unused(): readonly { readonly index: number; readonly line: ScriptLine }[];
};

/** What a script that is not strict answers to a request that no line fits. */
export const unscriptedText = 'I am sorry, I have no line for that.';

/** A string is YAML. Throws `ScriptError` if the script is not valid. */
export const rehearse = (script: Script | string, options: RehearsalOptions = {}): Rehearsal => {
  const checked = typeof script === 'string' ? readScript(script) : checkScript(script);
  const { price, contextTokens, maxOutputTokens } = checked;
  const { clock = realTimer, keepRequests = true } = options;
  const strict = options.strict ?? checked.strict ?? true;
  const states = checked.lines.map(createLineState);
  const requests: LanguageModelV4CallOptions[] = [];

  const answer = async (call: LanguageModelV4CallOptions): Promise<Answer> => {
    if (keepRequests) requests.push(frozenRequest(call) as LanguageModelV4CallOptions);
    const timing = { clock, signal: call.abortSignal };
    timing.signal?.throwIfAborted();
    const view = viewRequest(call);
    const reply = chooseReply(states, view, strict);
    await throwRequestFault(reply, timing);
    return [prepareReply(reply, view), reply, timing];
  };

  const language: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'rehearsal',
    modelId: options.modelId ?? checked.modelId ?? 'rehearsal',
    supportedUrls: {},
    doStream: async (call) => streamReply(...(await answer(call))),
    doGenerate: async (call) => generateReply(...(await answer(call))),
  };
  return Object.assign(language, {
    requests,
    model: {
      language,
      ...(price === undefined ? {} : { price }),
      ...(contextTokens === undefined ? {} : { contextTokens }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      attachments: ['*/*'],
    },
    unused: () => states.filter(({ used }) => used === 0).map(({ index, line }) => ({ index, line })),
  });
};

type Answer = [scene: PreparedReply, reply: ScriptedReply, timing: Timing];

const chooseReply = (states: readonly LineState[], view: RequestView, strict: boolean): ScriptedReply => {
  const state = takeLine(states, view);
  if (state === undefined) {
    if (strict) throw new CloisterError('model_unscripted', explainNoMatch(states, view));
    return { text: unscriptedText };
  }
  const { reply } = state.line;
  return typeof reply === 'function' ? checkFunctionReply(reply(view), state.index) : fillReply(toReply(reply), view);
};

/** Copies plain data; keeps signals, bytes and URLs as they are. */
const frozenRequest = (value: unknown): unknown => {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenRequest));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) copy[key] = frozenRequest(part);
  return Object.freeze(copy);
};

const realTimer: Pick<Clock, 'timer'> = {
  timer(ms, due) {
    const timeout = setTimeout(due, ms);
    return () => clearTimeout(timeout);
  },
};
