// Chat completions: takes the dialog so far and returns one answer, complete or streamed.
import type { JsonObject } from '#base';
import type { HttpRoute, ServedRun, AgentService, ClientRules, ClientCall, ServerEvent, SpentTokens } from '#contracts';
import {
  answerAsCall,
  answerName,
  clientTools,
  startOrContinue,
  awaitAnswerEnd,
  collectPieces,
  shownPiece,
  clientError,
  callArguments,
  causesField,
  causesFieldSchema,
} from '#headends/shared';
import type { AnswerEnd } from '#headends/shared';
import { completionId, epochSeconds } from './ids.ts';
import { openaiError } from './openai-error.ts';
import { parseChat } from './parse-chat.ts';
import { withObjectFormat } from './parse-tools.ts';
import {
  agentNameSchema,
  answerFormatSchema,
  clientToolsSchema,
  toolChoiceSchema,
  jsonBody,
  jsonOrEventsBody,
  arraySchema,
  dataUrl,
  objectOf,
  enumOf,
  withErrorResponse,
  nullable,
  stringSchema,
  wholeNumberSchema,
} from './schemas.ts';

export const chatRoute = (service: AgentService): HttpRoute => ({
  method: 'POST',
  path: '/v1/chat/completions',
  formatError: openaiError,
  operation: chatOperation(service.clients),
  answer: async ({ caller, id, body, signal, headers: sent }) => {
    const { clients } = service;
    const { request, stream, withUsage, results, userTexts, answerTool, headers } = parseChat(body, clients);
    const read = stream || clients.activity;
    const newRequest = () => withObjectFormat({ ...request, stream: read }, service, caller);
    const from = { results, userTexts, newRequest, headers: sent, ...clientTools(request) };
    const started = await startOrContinue(service, caller, from, signal);
    const run = answerAsCall(started, answerTool);
    if (stream) return { events: chatEvents(run, { request: id, withUsage, activity: clients.activity }), headers };
    return { status: 200, body: await chatCompletion(run, clients.activity), headers };
  },
});

const chatCompletion = async (run: ServedRun, shown: boolean): Promise<JsonObject> => {
  const { text, activity } = await collectPieces(run, shown);
  const end = await awaitAnswerEnd(run);
  const isAnswer = end.calls.length === 0;
  return {
    id: completionId(answerName(run)),
    object: 'chat.completion',
    created: epochSeconds(run.startedAt),
    model: run.agent,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: isAnswer ? end.answer.text : text === '' ? null : text,
          refusal: null,
          ...(activity === '' ? {} : { reasoning_content: activity }),
          ...(isAnswer ? {} : { tool_calls: end.calls.map(chatToolCall) }),
        },
        logprobs: null,
        finish_reason: finishReason(end),
      },
    ],
    usage: chatUsage(end.spent),
    ...causesField(end.causes),
  };
};

// The OpenAPI operation of chat completions.
const textParts = objectOf({ type: enumOf('text'), text: stringSchema });
const content: JsonObject = { anyOf: [stringSchema, arraySchema(textParts)] };

/** Files come inside the request; the agent's model must take them. */
const fileParts: readonly JsonObject[] = [
  objectOf({ type: enumOf('image_url'), image_url: objectOf({ url: dataUrl }) }),
  objectOf({
    type: enumOf('file'),
    file: objectOf({ file_data: stringSchema, filename: stringSchema }, ['file_data']),
  }),
  objectOf({
    type: enumOf('input_audio'),
    input_audio: objectOf({ data: stringSchema, format: enumOf('wav', 'mp3') }),
  }),
];

const message: JsonObject = {
  ...objectOf({
    role: enumOf('user', 'assistant', 'system', 'developer'),
    content: { anyOf: [stringSchema, arraySchema({ anyOf: [textParts, ...fileParts] })] },
  }),
  description: 'System and developer messages are refused unless the operator allows them.',
};

const toolCalls = arraySchema(
  objectOf({
    id: stringSchema,
    type: enumOf('function'),
    function: objectOf({ name: stringSchema, arguments: stringSchema }),
  }),
);

/** Only if client tools are allowed. */
const toolMessages: readonly JsonObject[] = [
  objectOf({ role: enumOf('assistant'), content: nullable(content), tool_calls: toolCalls }, ['role', 'tool_calls']),
  {
    ...objectOf({ role: enumOf('tool'), tool_call_id: stringSchema, content }),
    description: 'The result of a call. If such messages come last, the run that waits for them continues.',
  },
];

const tool = objectOf({
  type: enumOf('function'),
  function: objectOf({ name: stringSchema, description: stringSchema, parameters: { type: 'object' } }, ['name']),
});

const responseFormat = answerFormatSchema(
  objectOf({
    type: enumOf('json_schema'),
    json_schema: objectOf({ name: stringSchema, schema: { type: 'object' }, strict: { type: 'boolean' } }, ['schema']),
  }),
);

const request = (withTools: boolean): JsonObject =>
  objectOf(
    {
      model: agentNameSchema,
      messages: {
        ...arraySchema(withTools ? { anyOf: [message, ...toolMessages] } : message),
        minItems: 1,
        description: 'The dialog so far. The last message is the request.',
      },
      stream: { type: 'boolean', default: false },
      stream_options: objectOf({ include_usage: { type: 'boolean' } }, []),
      response_format: responseFormat,
      n: { type: 'integer', enum: [1] },
      tools: clientToolsSchema(tool, withTools),
      tool_choice: toolChoiceSchema({ function: objectOf({ name: stringSchema }) }),
    },
    ['model', 'messages'],
  );

const completion: JsonObject = objectOf(
  {
    id: { ...stringSchema, description: '`chatcmpl-` followed by the id of the run.' },
    object: enumOf('chat.completion'),
    created: wholeNumberSchema,
    model: agentNameSchema,
    choices: arraySchema(
      objectOf({
        index: wholeNumberSchema,
        message: objectOf(
          {
            role: enumOf('assistant'),
            content: nullable(stringSchema),
            tool_calls: toolCalls,
            refusal: { type: 'null' },
            reasoning_content: {
              ...stringSchema,
              description: 'What sub-agents and tools did, if the operator shows it.',
            },
          },
          ['role', 'content', 'refusal'],
        ),
        logprobs: { type: 'null' },
        finish_reason: {
          ...enumOf('stop', 'length', 'tool_calls'),
          description: '`length`: the answer is incomplete.',
        },
      }),
    ),
    usage: objectOf({
      prompt_tokens: wholeNumberSchema,
      completion_tokens: wholeNumberSchema,
      total_tokens: wholeNumberSchema,
      prompt_tokens_details: objectOf({ cached_tokens: wholeNumberSchema, cache_write_tokens: wholeNumberSchema }),
    }),
    cloister: causesFieldSchema,
  },
  ['id', 'object', 'created', 'model', 'choices', 'usage'],
);

const chatOperation = ({ tools: withTools }: ClientRules): JsonObject => ({
  operationId: 'openaiCreateChatCompletion',
  tags: ['OpenAI'],
  summary: 'Run an agent through OpenAI’s chat completions',
  description: 'Other fields of the OpenAI API are either accepted without effect or refused by name.',
  requestBody: { required: true, content: jsonBody(request(withTools)) },
  responses: withErrorResponse({
    200: {
      description: 'The answer. The usage covers the agent and all of its sub-agents.',
      content: jsonOrEventsBody(
        completion,
        'Chunks of the answer, each a `chat.completion.chunk` object, then `[DONE]`.',
      ),
    },
  }),
});

// The chunks of a streamed chat completion.
//
//   done-means-answer. A stream that ends with [DONE] holds an answer; a stream that ends with an error does not.
type ChatStreamOptions = {
  /** The id of the request. */
  readonly request: string;
  readonly withUsage: boolean;
  /** Whether to send what sub-agents and tools do, as reasoning. */
  readonly activity: boolean;
};

async function* chatEvents(run: ServedRun, options: ChatStreamOptions): AsyncGenerator<ServerEvent> {
  const head = {
    id: completionId(answerName(run)),
    object: 'chat.completion.chunk',
    created: epochSeconds(run.startedAt),
    model: run.agent,
  };
  const noUsage = options.withUsage ? { usage: null } : {};
  const chunk = (delta: JsonObject, finish: string | null = null, more: JsonObject = {}): ServerEvent =>
    event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...noUsage, ...more });

  try {
    yield chunk({ role: 'assistant', content: '' });
    for await (const piece of run.pieces()) {
      const shown = shownPiece(piece, options.activity);
      if (shown !== null) yield chunk({ [shown.type === 'text' ? 'content' : 'reasoning_content']: shown.text });
    }
    const end = await awaitAnswerEnd(run);
    for (const [index, call] of end.calls.entries()) yield chunk({ tool_calls: [{ index, ...chatToolCall(call) }] });
    yield chunk({}, finishReason(end), causesField(end.causes));
    if (options.withUsage) yield event({ ...head, choices: [], usage: chatUsage(end.spent) });
    yield { data: '[DONE]' };
  } catch (error) {
    yield event(openaiError(clientError(error), options.request));
  }
}

const chatToolCall = (call: ClientCall): JsonObject => ({
  id: call.id,
  type: 'function',
  function: { name: call.name, arguments: callArguments(call) },
});

const finishReason = ({ calls, answer }: AnswerEnd): string => {
  if (!answer.whole) return 'length';
  return calls.length > 0 ? 'tool_calls' : 'stop';
};

const event = (data: JsonObject): ServerEvent => ({ data: JSON.stringify(data) });

/** Of the whole run, including its sub-agents. */
const chatUsage = (spent: SpentTokens): JsonObject => ({
  prompt_tokens: spent.inputTokens,
  completion_tokens: spent.outputTokens,
  total_tokens: spent.inputTokens + spent.outputTokens,
  prompt_tokens_details: { cached_tokens: spent.cacheReadTokens, cache_write_tokens: spent.cacheWriteTokens },
});
