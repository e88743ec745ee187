// The network of one process: everything sent by `fetch` is recorded byte for byte, and answered by a function. No socket is opened.

export type Sent = {
  readonly host: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** The call as a `Request`, for handlers that need one. */
export type Answer = (sent: Sent, request: () => Request) => Promise<Response> | Response;

/** Everything this process fetches during the work goes to this handler. */
export const withFetch = async <T>(answer: Answer, work: () => Promise<T>): Promise<T> => {
  const before = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    if (input instanceof Request) throw new TypeError('Nobody here sends a request object.');
    const url = String(input);
    const sent = {
      host: new URL(url).host,
      url,
      method: init?.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: textOf(init?.body),
    };
    return answer(sent, () => new Request(url, init));
  };
  try {
    return await work();
  } finally {
    globalThis.fetch = before;
  }
};

const textOf = (body: unknown): string => {
  if (body === undefined || body === null || typeof body === 'string') return body ?? '';
  throw new TypeError('Nobody here sends anything but text.');
};

export type ChatCall = { readonly id: string; readonly name: string; readonly input: string };
export type ChatReply = {
  readonly text?: string;
  /** The text as the pieces it is streamed in. */
  readonly pieces?: readonly string[];
  /** Its reasoning before the text, in pieces. */
  readonly thoughts?: readonly string[];
  readonly calls?: readonly ChatCall[];
  readonly usage?: readonly [input: number, output: number];
};

/** A streamed answer in the format of OpenAI's chat completions. */
export const chatResponse = (reply: ChatReply): Response =>
  new Response(chatStream(reply), { headers: { 'content-type': 'text/event-stream' } });

export const chatStream = (reply: ChatReply): string => {
  const { text = '', pieces, thoughts = [], calls = [], usage: [input, output] = [100, 10] } = reply;
  const toolCalls = calls.map(({ id, name, input: args }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: args },
  }));
  const deltas = [
    ...thoughts.map((piece) => ({ reasoning_content: piece })),
    ...(pieces ?? (text === '' ? [] : [text])).map((content) => ({ content })),
    ...(toolCalls.length === 0 ? [] : [{ tool_calls: toolCalls }]),
  ];
  const chunk = (choices: readonly object[], more: object = {}) =>
    `data: ${JSON.stringify({ id: 'chat', object: 'chat.completion.chunk', created: 0, model: 'm', choices, ...more })}\n\n`;
  const finish = calls.length > 0 ? 'tool_calls' : 'stop';
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return [
    ...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: finish }]),
    chunk([], { usage }),
    'data: [DONE]\n\n',
  ].join('');
};

/** A refusal with the provider's own text. */
export const chatError = (status: number, words: string): Response =>
  Response.json(
    { error: { message: words, type: 'refused', code: null } },
    { status, headers: { 'retry-after-ms': '0' } },
  );
