// The response object of OpenAI's API: the same shape at the start, at the end and when it is read later.
import type { ClientFailure } from '#contracts';
import type { Json, JsonObject } from '#base';
import type { ClientCall, SpentTokens } from '#contracts';
import { callArguments } from '#headends/shared';
import { callItemId, messageId, reasoningId, responseId, epochSeconds } from './ids.ts';
import { openaiCode, openaiMessage } from './openai-error.ts';
import { responseUsage } from './usage.ts';

/** What is known from the start. */
export type ResponseHead = {
  readonly run: string;
  readonly agent: string;
  readonly startedAt: number;
  readonly previous: string | null;
  /** The requested answer format; null if it is no longer known. */
  readonly format: JsonObject | null;
  /** The client's tools, as it sent them. */
  readonly tools?: readonly Json[];
};

export type ResponseState = {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly output?: readonly JsonObject[];
  readonly failure?: ClientFailure;
  readonly spent?: SpentTokens;
};

export const responseObject = (
  head: ResponseHead,
  { status, output = [], failure, spent }: ResponseState,
): JsonObject => ({
  id: responseId(head.run),
  object: 'response',
  created_at: epochSeconds(head.startedAt),
  status,
  background: false,
  error: failure === undefined ? null : responseError(failure),
  incomplete_details: status === 'incomplete' && output.length > 0 ? { reason: 'max_output_tokens' } : null,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  model: head.agent,
  output,
  parallel_tool_calls: (head.tools ?? []).length > 0,
  previous_response_id: head.previous === null ? null : responseId(head.previous),
  reasoning: { effort: null, summary: null },
  store: true,
  temperature: null,
  ...(head.format === null ? {} : { text: { format: head.format } }),
  tool_choice: (head.tools ?? []).length > 0 ? 'auto' : 'none',
  tools: head.tools ?? [],
  top_p: null,
  truncation: 'disabled',
  usage: spent === undefined ? null : responseUsage(spent),
  user: null,
});

export const messageItem = (run: string, text: string, status: string): JsonObject => ({
  id: messageId(run),
  type: 'message',
  role: 'assistant',
  status,
  content: [textPart(text)],
});

export const textPart = (text: string): JsonObject => ({ type: 'output_text', text, annotations: [], logprobs: [] });

export const reasoningItem = (run: string, index: number, text: string): JsonObject => ({
  id: reasoningId(run, index),
  type: 'reasoning',
  summary: [summaryPart(text)],
});

export const summaryPart = (text: string): JsonObject => ({ type: 'summary_text', text });

export const callItem = (call: ClientCall, status: string): JsonObject => ({
  id: callItemId(call.id),
  type: 'function_call',
  status,
  call_id: call.id,
  name: call.name,
  arguments: status === 'in_progress' ? '' : callArguments(call),
});

const responseError = (failure: ClientFailure): JsonObject => ({
  code: responseCode(failure),
  message: openaiMessage(failure),
  type: 'error',
});

/** One of the few codes that OpenAI allows in a response. */
const responseCode = (failure: ClientFailure): string => {
  if (failure.status === 429) return openaiCode(failure);
  return failure.status >= 500 ? 'server_error' : 'invalid_prompt';
};
