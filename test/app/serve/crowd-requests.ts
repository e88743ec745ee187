// One question in each protocol, and a parser for its answer. All clients use the same ids.

export type Kind =
  | 'rest'
  | 'rest-sse'
  | 'openai'
  | 'openai-sse'
  | 'responses'
  | 'responses-sse'
  | 'anthropic'
  | 'anthropic-sse'
  | 'ag-ui'
  | 'ui'
  | 'mcp';

export type Caller = { readonly token: string; readonly url: string };

export type CrowdQuestion = Caller & {
  readonly kind: Kind;
  readonly word: string;
  readonly conversation: string | null;
  /** Words of earlier messages. */
  readonly history: readonly string[];
  /** A word of the client's system prompt, where the protocol has one. */
  readonly system?: string;
  /** The response that a request of kind `responses` continues. */
  readonly previous?: string;
  readonly signal?: AbortSignal;
};

export type ParsedAnswer = {
  readonly text: string;
  /** Input and output, where the protocol reports them. */
  readonly usage: readonly [number, number] | null;
  readonly run: string | null;
};

export type ProtocolRequest = { readonly request: Request; read(body: string): ParsedAnswer };

export type Value = any; // oxlint-disable-line typescript/no-explicit-any -- Answers of several protocols.

export const question = (word: string): string => `Repeat everything. The word is ${word} .`;

export const buildProtocolRequest = (params: CrowdQuestion): ProtocolRequest => {
  const { kind } = params;
  switch (kind) {
    case 'rest':
    case 'rest-sse':
      return rest(params, kind === 'rest-sse');
    case 'openai':
    case 'openai-sse':
      return openai(params, kind === 'openai-sse');
    case 'responses':
    case 'responses-sse':
      return responses(params, kind === 'responses-sse');
    case 'anthropic':
    case 'anthropic-sse':
      return anthropic(params, kind === 'anthropic-sse');
    case 'ag-ui':
      return agUi(params);
    case 'ui':
      return ui(params);
    case 'mcp':
      return mcp(params);
  }
};

const rest = (params: CrowdQuestion, stream: boolean): ProtocolRequest => {
  const { word, conversation, history } = params;
  const messages = history.map((one) => ({ by: 'person', text: question(one) }));
  return {
    request: postRequest(params, '/v1/echo', {
      input: question(word),
      ...(stream ? { stream } : {}),
      ...(conversation === null ? {} : { conversation }),
      ...(messages.length === 0 || !stream ? {} : { history: messages }),
    }),
    read: (body) => {
      const { output, spent, run }: Value = stream ? eventsIn(body).at(-1) : JSON.parse(body);
      return { text: output, usage: [spent.inputTokens, spent.outputTokens], run };
    },
  };
};

const openai = (params: CrowdQuestion, stream: boolean): ProtocolRequest => ({
  request: postRequest(params, '/v1/chat/completions', {
    model: 'echo',
    messages: messagesOf(params),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  }),
  read: (body) => {
    if (!stream) {
      const { id, choices, usage }: Value = JSON.parse(body);
      return { text: choices[0].message.content, usage: chatUsage(usage), run: id.slice('chatcmpl-'.length) };
    }
    const chunks = eventsIn(body);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    return { text, usage: chatUsage(chunks.at(-1).usage), run: chunks[0].id.slice('chatcmpl-'.length) };
  },
});

const responses = (params: CrowdQuestion, stream: boolean): ProtocolRequest => ({
  request: postRequest(params, '/v1/responses', {
    model: 'echo',
    input: messagesOf(params),
    ...(stream ? { stream } : {}),
    ...(params.previous === undefined ? {} : { previous_response_id: params.previous }),
  }),
  read: (body) => {
    const { id, output, usage }: Value = stream ? eventsIn(body).at(-1).response : JSON.parse(body);
    return {
      text: output[0].content[0].text,
      usage: [usage.input_tokens, usage.output_tokens],
      run: id.slice('resp_'.length),
    };
  },
});

const anthropic = (params: CrowdQuestion, stream: boolean): ProtocolRequest => ({
  request: postRequest(params, '/v1/messages', {
    model: 'echo',
    max_tokens: 100,
    messages: messagesOf(params),
    ...(stream ? { stream } : {}),
  }),
  read: (body) => {
    if (!stream) {
      const { content, usage }: Value = JSON.parse(body);
      return { text: content[0].text, usage: [usage.input_tokens, usage.output_tokens], run: null };
    }
    const events = eventsIn(body);
    const text = events.map(({ delta }) => delta?.text ?? '').join('');
    const usage = events.find(({ type }) => type === 'message_delta')?.usage;
    return { text, usage: [usage?.input_tokens, usage?.output_tokens], run: null };
  },
});

const agUi = (params: CrowdQuestion): ProtocolRequest => ({
  request: postRequest(params, '/ag-ui/echo', {
    threadId: 'thread',
    runId: 'run',
    messages: messagesOf(params).map((message, nth) => ({ id: `m${nth}`, ...message })),
  }),
  read: (body) => {
    const { result, usage, metadata }: Value = eventsIn(body).at(-1);
    const [used] = usage ?? [];
    return { text: result, usage: [used?.inputTokens, used?.outputTokens], run: metadata.cloister.run };
  },
});

const ui = (params: CrowdQuestion): ProtocolRequest => ({
  request: postRequest(params, '/ui/echo', chatBody('chat', params)),
  read: (body) => {
    const chunks = eventsIn(body);
    const { inputTokens, outputTokens } = chunks.at(-1).messageMetadata.usage;
    const text = chunks.map(({ type, delta }) => (type === 'text-delta' ? delta : '')).join('');
    return { text, usage: [inputTokens, outputTokens], run: chunks[0].messageMetadata.run };
  },
});

/** What `useChat` sends. */
export const chatBody = (id: string, params: Pick<CrowdQuestion, 'system' | 'history' | 'word'>): Value => ({
  id,
  messages: messagesOf(params).map(({ role, content }) => ({ role, parts: [{ type: 'text', text: content }] })),
});

const mcp = (params: CrowdQuestion): ProtocolRequest => ({
  request: postRequest(params, '/mcp', toolCall(params.word)),
  read: (body) => ({ text: calledText(eventsIn(body).at(-1)), usage: null, run: null }),
});

/** For MCP; all callers use the same id. */
export const toolCall = (word: string): Value => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'echo', arguments: { prompt: question(word) } },
});

export const calledText = ({ result }: Value): string => result.content[0].text;

const messagesOf = ({
  system,
  history,
  word,
}: Pick<CrowdQuestion, 'system' | 'history' | 'word'>): readonly Value[] => [
  ...(system === undefined ? [] : [{ role: 'system', content: question(system) }]),
  ...history.flatMap((one) => [
    { role: 'user', content: question(one) },
    { role: 'assistant', content: 'Yes.' },
  ]),
  { role: 'user', content: question(word) },
];

export const chatUsage = (usage: Value): readonly [number, number] => [usage.prompt_tokens, usage.completion_tokens];

const eventsIn = (body: string): readonly Value[] =>
  body
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line): Value => JSON.parse(line.slice('data: '.length)));

export const headersFor = (url: string, token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  host: new URL(url).host,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-session-id': 'the-same-for-all',
  'mcp-protocol-version': '2025-11-25',
});

type PostTarget = Caller & { readonly signal?: AbortSignal };

export const postRequest = ({ url, token, signal }: PostTarget, path: string, body: Value): Request =>
  new Request(url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: headersFor(url, token),
    ...(signal === undefined ? {} : { signal }),
  });

export const getRequest = ({ url, token }: Caller, path: string): Request =>
  new Request(url + path, { headers: headersFor(url, token) });
