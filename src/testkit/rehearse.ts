// The rehearsal model: answers from a script, offline.
//
//   R1. The same requests in the same order get the same replies, ids included.
//   R2. A request that the script does not expect is an error that says what was asked, unless the script is not strict.
//   R3. Errors look as those of real AI SDK providers do.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { CloisterError } from '#base';
import type { Clock, Model } from '#contracts';
import { buildScene, fillReply } from './prepare-reply.ts';
import type { PreparedReply } from './prepare-reply.ts';
import { asReply, checkGivenReply, checkScript } from './check-script.ts';
import { cueOf, explainMiss, takeCue } from './choose-line.ts';
import type { Cue } from './choose-line.ts';
import { meetFault, playStream, playWhole } from './stream-reply.ts';
import type { Timing } from './stream-reply.ts';
import { readScript } from './read-script.ts';
import { viewRequest } from './request-view.ts';
import type { ScriptLine, RequestView, Script, ScriptedReply } from './script.ts';

export type RehearsalOptions = {
  /** For delays. Default: real time. */
  readonly clock?: Pick<Clock, 'timer'>;
  readonly modelId?: string;
  /** Before the script's own word. */
  readonly strict?: boolean;
  /** Default true. False: `requests` stays empty. */
  readonly keepRequests?: boolean;
};

export type Rehearsal = LanguageModelV4 & {
  /** Every call's options in order, as frozen copies; the abort signal is the caller's own. */
  readonly requests: readonly LanguageModelV4CallOptions[];
  /** The same model with the script's price and sizes. */
  readonly model: Model;
  /** Lines that have answered nothing so far. */
  unused(): readonly { readonly index: number; readonly line: ScriptLine }[];
};

export const unscriptedText = 'I am sorry, I have no line for that.';

/** A string is YAML. Throws `ScriptError` when the script is not valid. */
export const rehearse = (script: Script | string, options: RehearsalOptions = {}): Rehearsal => {
  const checked = typeof script === 'string' ? readScript(script) : checkScript(script);
  const { price, contextTokens, maxOutputTokens } = checked;
  const { clock = realTimer, keepRequests = true } = options;
  const strict = options.strict ?? checked.strict ?? true;
  const cues = checked.lines.map(cueOf);
  const requests: LanguageModelV4CallOptions[] = [];

  const answer = async (call: LanguageModelV4CallOptions): Promise<Answer> => {
    if (keepRequests) requests.push(frozenRequest(call) as LanguageModelV4CallOptions);
    const timing = { clock, signal: call.abortSignal };
    timing.signal?.throwIfAborted();
    const view = viewRequest(call);
    const reply = chooseReply(cues, view, strict);
    await meetFault(reply, timing);
    return [buildScene(reply, view), reply, timing];
  };

  const language: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'rehearsal',
    modelId: options.modelId ?? checked.modelId ?? 'rehearsal',
    supportedUrls: {},
    doStream: async (call) => playStream(...(await answer(call))),
    doGenerate: async (call) => playWhole(...(await answer(call))),
  };
  return Object.assign(language, {
    requests,
    model: {
      language,
      ...(price === undefined ? {} : { price }),
      ...(contextTokens === undefined ? {} : { contextTokens }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    },
    unused: () => cues.filter(({ used }) => used === 0).map(({ index, line }) => ({ index, line })),
  });
};

type Answer = [scene: PreparedReply, reply: ScriptedReply, timing: Timing];

const chooseReply = (cues: readonly Cue[], view: RequestView, strict: boolean): ScriptedReply => {
  const cue = takeCue(cues, view);
  if (cue === undefined) {
    if (strict) throw new CloisterError('model_unscripted', explainMiss(cues, view));
    return { text: unscriptedText };
  }
  const { reply } = cue.line;
  return typeof reply === 'function' ? checkGivenReply(reply(view), cue.index) : fillReply(asReply(reply), view);
};

/** Plain data is copied; signals, bytes and URLs are kept as they are. */
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
