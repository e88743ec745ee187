// A model that sometimes fails, in the ways that providers fail.
import { APICallError } from '@ai-sdk/provider';
import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider';
import type { Model } from '#contracts';
import { FaultChooser, hang } from './choose-fault.ts';
import type { FaultPlan, FaultLog } from './choose-fault.ts';

/** How one request to a model fails. */
export type ModelFault =
  /** An HTTP status from 400 to 599; the model is not called. */
  | number
  /** No connection; the model is not called. */
  | 'network'
  /** No response until the caller gives up; the model is not called. */
  | 'hang'
  /** The model responds, but nothing arrives. */
  | 'lost'
  /** The stream breaks in the middle. */
  | 'cut'
  /** The stream ends in the middle as if it were complete. */
  | 'end'
  /** The arguments of its tool calls are not JSON. */
  | 'malformed'
  /** A response without content. */
  | 'empty'
  /** The model responds, this much later. */
  | { readonly slowMs: number };

/** A model that fails as planned, and what has failed so far. */
export type FaultyModel = LanguageModelV4 & {
  /** The faults so far, by call number. */
  readonly met: FaultLog<ModelFault>;
  /** The faulty model with the price and sizes of the original. */
  readonly model: Model;
};

const faultNames = { names: ['network', 'hang', 'lost', 'cut', 'end', 'malformed', 'empty'] };

/** Wraps a model so that some of its requests fail, to test what your agents do then. */
export const faultyModel = (model: LanguageModelV4 | Model, faults: FaultPlan<ModelFault>): FaultyModel => {
  const { language, ...facts }: Model = 'language' in model ? model : { language: model };
  const chooser = new FaultChooser(faults, faultNames);
  const faulty: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: language.provider,
    modelId: language.modelId,
    supportedUrls: language.supportedUrls,
    doGenerate: () => Promise.reject(new Error('A faulty model only streams.')),
    doStream: async (options) => {
      const fault = chooser.next();
      if (typeof fault === 'object') await chooser.sleep(fault.slowMs);
      if (typeof fault === 'number') throw statusError(fault);
      if (fault === 'network') throw connectionError('connect ECONNREFUSED', 'ECONNREFUSED');
      if (fault === 'hang') return hang(options.abortSignal);
      const result = await language.doStream(options);
      if (fault === undefined || typeof fault === 'object') return result;
      const parts = await readAll(result.stream);
      if (fault === 'lost') throw connectionError('other side closed', 'ECONNRESET');
      return { ...result, stream: damageStream(parts, fault) };
    },
  };
  return Object.assign(faulty, { met: chooser.met, model: { ...facts, language: faulty } });
};

type Stream = LanguageModelV4StreamResult['stream'];

const readAll = async (stream: Stream): Promise<readonly LanguageModelV4StreamPart[]> => {
  const parts: LanguageModelV4StreamPart[] = [];
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value);
  return parts;
};

const damageStream = (
  parts: readonly LanguageModelV4StreamPart[],
  fault: 'cut' | 'end' | 'malformed' | 'empty',
): Stream => {
  const half = parts.slice(0, Math.floor(parts.length / 2)).filter(({ type }) => type !== 'finish');
  switch (fault) {
    case 'cut':
      return createStream(half, new TypeError('terminated', { cause: new Error('other side closed') }));
    case 'end':
      return createStream(half);
    case 'empty':
      return createStream(parts.filter(({ type }) => type === 'stream-start' || type === 'finish'));
    case 'malformed':
      return createStream(
        parts.map((part) => (part.type === 'tool-call' ? { ...part, input: `${part.input.slice(0, -1)},` } : part)),
      );
  }
};

const createStream = (parts: readonly LanguageModelV4StreamPart[], broken?: Error): Stream => {
  let next = 0;
  return new ReadableStream(
    {
      pull(controller) {
        const part = parts[next++];
        if (part !== undefined) controller.enqueue(part);
        else if (broken === undefined) controller.close();
        else controller.error(broken);
      },
    },
    { highWaterMark: 0 },
  );
};

const url = 'faulty://model';

const statusError = (statusCode: number): APICallError =>
  new APICallError({
    message: `The faulty model answers with status ${statusCode}.`,
    url,
    requestBodyValues: {},
    statusCode,
  });

const connectionError = (message: string, code: string): APICallError =>
  new APICallError({
    message: `Cannot connect to API: ${message}`,
    url,
    requestBodyValues: {},
    cause: new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) }),
    isRetryable: true,
  });
