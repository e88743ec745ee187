// One question in each protocol, and its answer read back. All clients use the same ids.

export type Kind = 'rest' | 'rest-sse' | 'openai' | 'openai-sse' | 'anthropic' | 'anthropic-sse' | 'mcp';

export type Asking = {
  readonly kind: Kind;
  readonly word: string;
  readonly token: string;
  readonly url: string;
  readonly conversation: string | null;
  /** Words that were said before. */
  readonly history: readonly string[];
  readonly signal?: AbortSignal;
};

export type Read = {
  readonly text: string;
  /** Input and output, where the protocol tells. */
  readonly usage: readonly [number, number] | null;
  readonly run: string | null;
};

export type AskedBy = { readonly request: Request; read(body: string): Read };

type Value = any; // oxlint-disable-line typescript/no-explicit-any -- Answers of four protocols.

const question = (word: string): string => `Repeat everything. The word is ${word} .`;

export const askedBy = (asking: Asking): AskedBy => {
  const { kind, word, conversation, history } = asking;
  const messages = [
    ...history.flatMap((one) => [
      { role: 'user', content: question(one) },
      { role: 'assistant', content: 'Yes.' },
    ]),
    { role: 'user', content: question(word) },
  ];
  const stream = kind.endsWith('-sse');
  switch (kind) {
    case 'rest':
      return {
        request: post(asking, '/v1/echo', {
          input: question(word),
          ...(conversation === null ? {} : { conversation }),
        }),
        read: (body) => restRead(JSON.parse(body)),
      };
    case 'rest-sse':
      return {
        request: post(asking, '/v1/echo', {
          input: question(word),
          stream,
          ...(history.length === 0 ? {} : { history: history.map((one) => ({ by: 'person', text: question(one) })) }),
        }),
        read: (body) => restRead(eventsIn(body).at(-1)),
      };
    case 'openai':
      return {
        request: post(asking, '/v1/chat/completions', { model: 'echo', messages }),
        read: (body) => {
          const { id, choices, usage }: Value = JSON.parse(body);
          return { text: choices[0].message.content, usage: openaiUsage(usage), run: id.slice('chatcmpl-'.length) };
        },
      };
    case 'openai-sse':
      return {
        request: post(asking, '/v1/chat/completions', {
          model: 'echo',
          messages,
          stream,
          stream_options: { include_usage: true },
        }),
        read: (body) => {
          const chunks = eventsIn(body);
          const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
          return { text, usage: openaiUsage(chunks.at(-1).usage), run: chunks[0].id.slice('chatcmpl-'.length) };
        },
      };
    case 'anthropic':
      return {
        request: post(asking, '/v1/messages', { model: 'echo', max_tokens: 100, messages }),
        read: (body) => {
          const { content, usage }: Value = JSON.parse(body);
          return { text: content[0].text, usage: [usage.input_tokens, usage.output_tokens], run: null };
        },
      };
    case 'anthropic-sse':
      return {
        request: post(asking, '/v1/messages', { model: 'echo', max_tokens: 100, messages, stream }),
        read: (body) => {
          const events = eventsIn(body);
          const text = events.map(({ delta }) => delta?.text ?? '').join('');
          const usage = events.find(({ type }) => type === 'message_delta')?.usage;
          return { text, usage: [usage?.input_tokens, usage?.output_tokens], run: null };
        },
      };
    case 'mcp':
      return {
        request: post(asking, '/mcp', {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'echo', arguments: { prompt: question(word) } },
        }),
        read: (body) => {
          const { result }: Value = eventsIn(body).at(-1);
          return { text: result.content[0].text, usage: null, run: null };
        },
      };
  }
};

const restRead = ({ output, spent, run }: Value): Read => ({
  text: output,
  usage: [spent.inputTokens, spent.outputTokens],
  run,
});

const openaiUsage = (usage: Value): readonly [number, number] => [usage.prompt_tokens, usage.completion_tokens];

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

const post = ({ url, token, signal }: Asking, path: string, body: Value): Request =>
  new Request(url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: headersFor(url, token),
    ...(signal === undefined ? {} : { signal }),
  });
