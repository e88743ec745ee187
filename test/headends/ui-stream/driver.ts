// A team on a real port, and the AI SDK's own chat for it: the class behind `useChat`, without React.
import { Chat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, uiMessageChunkSchema } from 'ai';
import type { DynamicToolUIPart, UIMessage, UIMessageChunk } from 'ai';
import { asSchema, safeValidateTypes } from '@ai-sdk/provider-utils';
import type { Sees } from '#contracts';
import { serveTeam } from '../ag-ui/driver.ts';
import type { Team } from '../ag-ui/driver.ts';
import type { ServeOptions } from '../http/driver.ts';

/** Every stream that was received, as it came over the wire. */
export type Wire = {
  readonly status: number;
  readonly headers: Headers;
  readonly lines: string[];
};

export class ChatClient {
  readonly chat: Chat<UIMessage>;
  readonly transport: DefaultChatTransport<UIMessage>;
  readonly streams: Wire[] = [];
  readonly errors: Error[] = [];

  constructor(
    url: string,
    token: string,
    {
      id = 'chat-1',
      body = {},
      agent = 'lead',
    }: { readonly id?: string; readonly body?: object; readonly agent?: string } = {},
  ) {
    this.transport = new DefaultChatTransport<UIMessage>({
      api: `${url}/ui/${agent}`,
      headers: { authorization: `Bearer ${token}` },
      body,
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        const lines: string[] = [];
        this.streams.push({
          status: response.status,
          headers: response.headers,
          lines,
        });
        if (response.body === null) return response;
        const decoder = new TextDecoder();
        const noted = new TransformStream<Uint8Array, Uint8Array>({
          transform: (bytes, controller) => {
            lines.push(decoder.decode(bytes, { stream: true }));
            controller.enqueue(bytes);
          },
        });
        return new Response(response.body.pipeThrough(noted), response);
      },
    });
    this.chat = new Chat<UIMessage>({
      id,
      transport: this.transport,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      onError: (error) => void this.errors.push(error),
    });
  }

  async say(text: string): Promise<UIMessage> {
    await this.chat.sendMessage({ text });
    return this.last;
  }

  get last(): UIMessage {
    return this.chat.messages.at(-1)!;
  }

  get tools(): readonly DynamicToolUIPart[] {
    return this.last.parts.filter((part) => part.type === 'dynamic-tool');
  }

  /** The chunks of one stream, each of them accepted by the official schema. */
  async chunks(nth = -1): Promise<readonly UIMessageChunk[]> {
    const data = dataLines(this.streams.at(nth)!);
    if (data.at(-1) !== '[DONE]') throw new Error('The stream has no end.');
    return Promise.all(data.slice(0, -1).map(acceptedChunk));
  }
}

export const dataLines = ({ lines }: Pick<Wire, 'lines'>): readonly string[] =>
  lines
    .join('')
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));

const acceptedChunk = async (line: string): Promise<UIMessageChunk> => {
  const result = await safeValidateTypes({
    value: JSON.parse(line) as unknown,
    schema: asSchema(uiMessageChunkSchema),
  });
  if (!result.success) throw result.error;
  return result.value;
};

/** What the person reads, without sub-agents. */
export const textsOf = ({ parts }: Pick<UIMessage, 'parts'>): readonly string[] =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));

export const serveChats = async (options: Omit<ServeOptions, 'agents' | 'tokens'> = {}, sees?: Sees, made?: Team) => {
  const served = await serveTeam(options, sees, made);
  const chatOf = (token: string, how?: ConstructorParameters<typeof ChatClient>[2]): ChatClient =>
    new ChatClient(served.url, token, how);
  return { ...served, chatOf, chat: chatOf('ann') };
};
