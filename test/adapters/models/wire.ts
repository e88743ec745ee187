// The vendors' wire formats, for what aimock does not simulate: cached tokens, signatures of Google and OpenRouter, truncated
// streams. Each answer is a list of server-sent events.
import type { Usage } from '#contracts';
import type { Answer, Call } from '../../conformance/model.ts';

export type Format = 'responses' | 'chat' | 'openrouter' | 'messages' | 'gemini';

type ReplyContent = {
  readonly pieces: readonly string[];
  readonly reasoning: string | undefined;
  readonly calls: readonly Call[];
  readonly usage: Usage;
};

/** A truncated answer has only the `begin` events. */
export const eventsFor = (format: Format, answer: Exclude<Answer, 'unreachable'>): string[] => {
  if ('status' in answer) throw new Error('aimock plays refusals');
  const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const content: ReplyContent = {
    pieces: answer.text?.match(/.{1,12}/gsu) ?? [],
    reasoning: 'end' in answer ? undefined : answer.reasoning,
    calls: 'end' in answer ? [] : (answer.calls ?? []),
    usage: 'end' in answer ? usage : { ...usage, ...answer.usage },
  };
  const { begin, end } = formats[format](content);
  return 'end' in answer ? begin : [...begin, ...end];
};

type Events = { readonly begin: string[]; readonly end: string[] };

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { readonly type: string }): string => `event: ${value.type}\n${data(value)}`;

const responses = ({ pieces, usage }: ReplyContent): Events => {
  const response = { id: 'resp_1', object: 'response', created_at: 1_790_000_000, model: 'gpt-5' };
  const item = { id: 'msg_1', type: 'message', role: 'assistant' };
  return {
    begin: [
      event({ type: 'response.created', response } as never),
      event({
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', content: [] },
      } as never),
      ...pieces.map((delta) =>
        event({
          type: 'response.output_text.delta',
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          delta,
        } as never),
      ),
    ],
    end: [
      event({
        type: 'response.output_item.done',
        output_index: 0,
        item: {
          ...item,
          status: 'completed',
          content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }],
        },
      } as never),
      event({
        type: 'response.completed',
        response: {
          ...response,
          status: 'completed',
          incomplete_details: null,
          usage: {
            input_tokens: usage.inputTokens,
            input_tokens_details: {
              cached_tokens: usage.cacheReadTokens,
              cache_write_tokens: usage.cacheWriteTokens,
            },
            output_tokens: usage.outputTokens,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: usage.inputTokens + usage.outputTokens,
          },
        },
      } as never),
    ],
  };
};

const chat = (
  { pieces, reasoning, calls, usage }: ReplyContent,
  more: (text: string) => object[] = () => [],
): Events => {
  const chunk = (choices: object[], rest: object = {}): string =>
    data({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: 'a-model',
      choices,
      ...rest,
    });
  const delta = (value: object): string => chunk([{ index: 0, delta: value, finish_reason: null }]);
  return {
    begin: [
      delta({ role: 'assistant', content: '' }),
      ...(reasoning === undefined ? [] : more(reasoning).map(delta)),
      ...pieces.map((content) => delta({ content })),
      ...calls.map(({ id, name, args }, index) =>
        delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }),
      ),
    ],
    end: [
      chunk([{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }]),
      chunk([], {
        usage: {
          prompt_tokens: usage.inputTokens,
          completion_tokens: usage.outputTokens,
          total_tokens: usage.inputTokens + usage.outputTokens,
          prompt_tokens_details: { cached_tokens: usage.cacheReadTokens, cache_write_tokens: usage.cacheWriteTokens },
        },
      }),
      'data: [DONE]\n\n',
    ],
  };
};

/** Text in two pieces, its signature after it, and an opaque block of another upstream. */
const details = (text: string): object[] => {
  const one = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
  const [first, second] = [text.slice(0, 20), text.slice(20)];
  return [
    { reasoning: first, reasoning_details: [{ ...one, text: first }] },
    { reasoning: second, reasoning_details: [{ ...one, text: second }] },
    { reasoning_details: [{ ...one, text: '', signature: 'c2lnbmVkLWJ5LWFudGhyb3BpYw==' }] },
    {
      reasoning_details: [
        { type: 'reasoning.encrypted', data: 'ZW5jcnlwdGVkLWJ5LWdvb2dsZQ==', id: 'rs_encrypted', index: 1 },
      ],
    },
  ];
};

const messages = ({ pieces, usage }: ReplyContent): Events => ({
  begin: [
    event({
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [],
        stop_reason: null,
        usage: {
          input_tokens: usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens,
          cache_read_input_tokens: usage.cacheReadTokens,
          cache_creation_input_tokens: usage.cacheWriteTokens,
          output_tokens: 1,
        },
      },
    } as never),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never),
    ...pieces.map((text) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never),
    ),
  ],
  end: [
    event({ type: 'content_block_stop', index: 0 } as never),
    event({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: usage.outputTokens },
    } as never),
    event({ type: 'message_stop' }),
  ],
});

const gemini = ({ pieces, reasoning, calls, usage }: ReplyContent): Events => {
  const content = (parts: object[], rest: object = {}, more: object = {}): string =>
    data({ candidates: [{ content: { role: 'model', parts }, index: 0, ...rest }], responseId: 'resp-1', ...more });
  return {
    begin: [
      ...(reasoning === undefined
        ? []
        : [content([{ text: reasoning, thought: true, thoughtSignature: 'c2lnbmVkLXRob3VnaHQ=' }])]),
      ...pieces.map((text) => content([{ text }])),
      ...calls.map(({ id, name, args }, index) =>
        content([{ functionCall: { id, name, args }, ...(index === 0 && { thoughtSignature: 'c2lnbmVkLWNhbGw=' }) }]),
      ),
    ],
    end: [
      content(
        [],
        { finishReason: 'STOP' },
        {
          usageMetadata: {
            promptTokenCount: usage.inputTokens,
            cachedContentTokenCount: usage.cacheReadTokens,
            candidatesTokenCount: usage.outputTokens - 4,
            thoughtsTokenCount: 4,
            totalTokenCount: usage.inputTokens + usage.outputTokens,
          },
        },
      ),
    ],
  };
};

const formats: Record<Format, (content: ReplyContent) => Events> = {
  responses,
  chat: (content) => chat(content, (text) => [{ reasoning_content: text }]),
  openrouter: (content) => chat(content, details),
  messages,
  gemini,
};

/** How a provider that is overloaded says so in an open response. */
export const errorEvent = (format: Format): string => {
  const message = 'The server is overloaded.';
  switch (format) {
    case 'responses':
      return event({ type: 'error', sequence_number: 1, code: 'server_error', message, param: null } as never);
    case 'chat':
    case 'openrouter':
      return data({ error: { message, type: 'server_error', param: null, code: 503 } });
    case 'messages':
      return event({ type: 'error', error: { type: 'overloaded_error', message } } as never);
    case 'gemini':
      return data({ error: { code: 503, message, status: 'UNAVAILABLE' } });
  }
};

/** A reply without text that reached its output limit: reasoning took all of it. */
export const cutEvents = (format: Format): string[] => {
  const { begin, end } = formats[format]({
    pieces: [],
    reasoning: undefined,
    calls: [],
    usage: { inputTokens: 10, outputTokens: 8, cacheReadTokens: 0, cacheWriteTokens: 0 },
  });
  const cut = (frame: string): string =>
    frame
      .replace('"type":"response.completed"', '"type":"response.incomplete"')
      .replace('"incomplete_details":null', '"incomplete_details":{"reason":"max_output_tokens"}')
      .replace('"finish_reason":"stop"', '"finish_reason":"length"')
      .replace('"stop_reason":"end_turn"', '"stop_reason":"max_tokens"')
      .replace('"finishReason":"STOP"', '"finishReason":"MAX_TOKENS"');
  return [...begin, ...end].map(cut);
};
