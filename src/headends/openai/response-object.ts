// The response object of OpenAI's API: the same shape at the start, at the end and when it is read later.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type {
  Cause,
  ClientFailure,
  ClientCall,
  SpentTokens,
  Caller,
  RunReport,
  AgentService,
  RequestState,
} from '#contracts';
import { callArguments, causesField, clientFailure } from '#headends/shared';
import {
  callItemId,
  messageId,
  reasoningId,
  responseId,
  epochSeconds,
  nameFromResponseId,
  nthFromResponseId,
  runFromResponseId,
} from './ids.ts';
import { openaiCode, openaiMessage } from './openai-error.ts';

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
  /** Of a response with an answer. */
  readonly causes?: readonly Cause[];
};

export const responseObject = (
  head: ResponseHead,
  { status, output = [], failure, spent, causes }: ResponseState,
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
  ...causesField(causes),
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

// Rebuilds the response of an earlier request from its run.
/** Rejects with `run_unknown`, also for runs of other callers. */
export const readResponse = async (service: AgentService, caller: Caller, id: string): Promise<JsonObject> => {
  const [run, name, nth] = [runFromResponseId(id, 'The path'), nameFromResponseId(id), nthFromResponseId(id)];
  const found = await service.find(caller, run);
  // Read before the report: a request that has ended by now has its end in the report.
  const part = nth === null ? undefined : service.requestState(caller, run, nth);
  const report = await found.report();
  const head = { run: name, agent: report.agent, startedAt: report.startedAt, previous: null, format: null };
  return responseObject(head, part === undefined ? runResponse(report, name) : requestResponse(report, name, part));
};

const requestResponse = (report: RunReport, name: string, part: RequestState): ResponseState => {
  switch (part.state) {
    case 'running':
      return { status: 'in_progress' };
    case 'ended':
      return { ...endedResponse(report, name), spent: part.spent };
    case 'calls': {
      const message = part.text === '' ? [] : [messageItem(name, part.text, 'completed')];
      const calls = part.calls.map((call) => callItem(call, 'completed'));
      return { status: 'completed', output: [...message, ...calls], spent: part.spent };
    }
  }
};

/** Throws if the run has several answers, because the log does not tell them apart. */
const runResponse = (report: RunReport, name: string): ResponseState => {
  if (name !== report.run && !followsQuestion(report, name) && (name !== `${report.run}_1` || hasCalledTools(report)))
    throw new CloisterError('run_unknown', 'Responses of a run with client tools are stored only for a limited time.');
  return endedResponse(report, name);
};

/** Whether it followed the answer to a question, whose number it has. */
const followsQuestion = ({ events }: RunReport, name: string): boolean => {
  const asked = `q-${name.replace(/_(\d+)$/u, '-$1')}`;
  return events.some((event) => event.type === 'question' && event.why !== 'client' && event.question === asked);
};

const endedResponse = (report: RunReport, name: string): ResponseState => {
  const { output, spent } = report;
  const status = responseStatus(report);
  const failure = report.cells.find(({ parent }) => parent === null)?.outcome?.failure ?? { code: 'defect' as const };
  return {
    status,
    output: output === '' ? [] : [messageItem(name, output, status === 'completed' ? status : 'incomplete')],
    ...(report.endedAt === null ? {} : { spent }),
    ...(status === 'failed' ? { failure: clientFailure(failure, report.causes) } : { causes: report.causes }),
  };
};

/** Whether the root called any tool. It may have been a client's tool, and then the run has answered several requests. */
const hasCalledTools = ({ cells, events }: RunReport): boolean => {
  const root = cells.find(({ parent }) => parent === null)?.cell;
  return events.some(({ type, cell }) => (type === 'tool-start' || type === 'question') && cell === root);
};

const responseStatus = ({ status, output }: RunReport): ResponseState['status'] => {
  switch (status) {
    case 'running':
    case 'waiting':
      return 'in_progress';
    // An interrupted run can be resumed.
    case 'interrupted':
      return 'incomplete';
    case 'completed':
    case 'cancelled':
    case 'failed':
      return status;
    case 'partial':
    case 'limit':
    case 'budget':
    case 'timeout':
      return output === '' ? 'failed' : 'incomplete';
  }
};

/** Of the whole run, including its sub-agents. */
const responseUsage = (spent: SpentTokens): JsonObject => ({
  input_tokens: spent.inputTokens,
  input_tokens_details: { cached_tokens: spent.cacheReadTokens, cache_write_tokens: spent.cacheWriteTokens },
  output_tokens: spent.outputTokens,
  // Reasoning tokens are not counted separately, but clients need the field.
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: spent.inputTokens + spent.outputTokens,
});
