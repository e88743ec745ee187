// What every model adapter must do, for any vendor. A new provider is done when `conformModel` passes.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '#base';
import type { Usage } from '#contracts';

export type Call = { readonly id: string; readonly name: string; readonly args: JsonObject };

/** The peer's answer to one request. */
export type Answer =
  | {
      readonly text?: string;
      readonly reasoning?: string;
      readonly calls?: readonly Call[];
      readonly usage?: Partial<Usage>;
    }
  | { readonly status: number; readonly retryAfter?: number }
  /** `torn`: the connection breaks. `early`: it closes normally, but too soon. `never`: nothing more arrives. */
  | { readonly text: string; readonly end: 'torn' | 'early' | 'never' }
  /** Nothing listens at the address. */
  | 'unreachable';

export type OpenedModel = {
  readonly model: LanguageModelV4;
  /** The request bodies as they were sent. */
  readonly bodies: readonly string[];
  /** Resolves when the peer notices that the client has disconnected. */
  readonly left: Promise<void>;
  close(): Promise<void>;
};

export type Abilities = {
  /** How reasoning is sent back: with its proof, as plain text, or not at all. */
  readonly reasoning: 'signed' | 'text' | 'none';
  /** Whether the format reports cache writes. */
  readonly cacheWrite: boolean;
};

/** `open` plays one answer per request, in order. */
export const conformModel = (
  name: string,
  open: (answers: readonly Answer[]) => Promise<OpenedModel>,
  abilities: Abilities,
): void => {
  describe(`the ${name} model`, () => {
    const opened: OpenedModel[] = [];
    const play = async (...answers: readonly Answer[]): Promise<OpenedModel> => {
      const peer = await open(answers);
      opened.push(peer);
      return peer;
    };
    const printed = (['log', 'info', 'warn', 'error', 'debug'] as const).map((method) => vi.spyOn(console, method));
    beforeEach(() => printed.forEach((spy) => spy.mockClear()));
    afterEach(async () => {
      for (const peer of opened.splice(0)) await peer.close();
      expect(printed.flatMap((spy) => spy.mock.calls)).toEqual([]);
    });

    test('streams text in pieces', async () => {
      const text = 'SQLite keeps rows together, DuckDB keeps columns together.';
      const { model, bodies } = await play({ text });
      const parts = await ask(model);
      const pieces = parts.flatMap((part) => (part.type === 'text-delta' && part.delta !== '' ? [part.delta] : []));
      expect(pieces.join('')).toBe(text);
      expect(pieces.length).toBeGreaterThan(1);
      expect(finishOf(parts).finishReason.unified).toBe('stop');
      expect(bodies).toHaveLength(1);
      for (const expected of ['You compare databases.', 'Compare SQLite and DuckDB', 'lookup', 'Looks a name up.'])
        expect(bodies[0]).toContain(expected);
    });

    test('returns parallel tool calls, and sends each result back under its own id', async () => {
      const { model, bodies } = await play({ calls: twoCalls }, { text: 'Done.' });
      const parts = await ask(model);
      const calls = callsIn(parts);
      expect(calls.map(({ toolName, input }) => [toolName, JSON.parse(input)])).toEqual(
        twoCalls.map(({ name: tool, args }) => [tool, args]),
      );
      expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(2);
      expect(finishOf(parts).finishReason.unified).toBe('tool-calls');

      await ask(model, continued(parts));
      for (const { name: key } of calls.map(({ input }) => JSON.parse(input) as { name: string }))
        expect(bodies[1]).toContain(`${key} was found`);
    });

    test.runIf(abilities.reasoning !== 'none')('sends reasoning back exactly as it was received', async () => {
      const { model, bodies } = await play({ reasoning, calls: twoCalls }, { text: 'Done.' });
      const parts = await ask(model);
      const thoughts = blocksIn(parts).filter(({ type }) => type === 'reasoning');
      expect(thoughts.map(({ text }) => text).join('')).toBe(reasoning);

      await ask(model, continued(parts));
      if (abilities.reasoning === 'text') {
        expect(bodies[1]).toContain(reasoning);
        return;
      }
      const proofs = thoughts.flatMap(({ providerOptions }) => stringsIn(providerOptions));
      expect(proofs.length).toBeGreaterThan(0);
      for (const proof of proofs) expect(bodies[1]).toContain(JSON.stringify(proof));
    });

    test('reports usage, including tokens read from the cache', async () => {
      const usage = { inputTokens: 1_200, outputTokens: 34, cacheReadTokens: 1_000, cacheWriteTokens: 150 };
      const { model } = await play({ text: 'Short.', usage });
      const { inputTokens, outputTokens } = finishOf(await ask(model)).usage;
      expect(inputTokens.total).toBe(1_200);
      expect(inputTokens.cacheRead).toBe(1_000);
      expect(inputTokens.cacheWrite ?? 0).toBe(abilities.cacheWrite ? 150 : 0);
      expect(outputTokens.total).toBe(34);
    });

    test('passes on a 429 with its headers, without retrying', async () => {
      const { model, bodies } = await play({ status: 429, retryAfter: 7 });
      await expect(ask(model)).rejects.toMatchObject({
        name: 'AI_APICallError',
        statusCode: 429,
        responseHeaders: { 'retry-after': '7' },
      });
      expect(bodies).toHaveLength(1);
    });

    test.each([401, 403, 404, 500, 503])('passes on a %i, without retrying', async (status) => {
      const { model, bodies } = await play({ status });
      await expect(ask(model)).rejects.toMatchObject({ name: 'AI_APICallError', statusCode: status });
      expect(bodies).toHaveLength(1);
    });

    test.each(['torn', 'early'] as const)('never treats a truncated stream (%s) as an answer', async (end) => {
      const { model } = await play({ text: 'SQLite keeps rows together, DuckDB keeps columns', end });
      const parts: LanguageModelV4StreamPart[] = [];
      await expect(collect(model, {}, (part) => parts.push(part))).rejects.toBeDefined();
      expect(parts.some(({ type }) => type === 'finish')).toBe(false);
    });

    test('an abort closes the connection of a running stream', async () => {
      const { model, left } = await play({ text: 'SQLite keeps rows together, DuckDB keeps columns', end: 'never' });
      const abort = new AbortController();
      const reading = collect(model, { abortSignal: abort.signal }, ({ type }) => {
        if (type === 'text-delta') abort.abort();
      });
      await expect(reading).rejects.toBeDefined();
      await expect(left).resolves.toBeUndefined();
    });

    test('cancelling the reader closes the connection', async () => {
      const { model, left } = await play({ text: 'SQLite keeps rows together, DuckDB keeps columns', end: 'never' });
      const reader = (await model.doStream(callOf())).stream.getReader();
      while ((await reader.read()).value?.type !== 'text-delta');
      await reader.cancel();
      await expect(left).resolves.toBeUndefined();
    });

    test('rejects when already aborted', async () => {
      const { model } = await play({ text: 'Late.' });
      await expect(ask(model, { abortSignal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    });

    test('reports that nothing listens at the address', async () => {
      const { model } = await play('unreachable');
      await expect(ask(model)).rejects.toMatchObject({ name: 'AI_APICallError', statusCode: undefined });
    });
  });
};

const reasoning = 'Two look-ups are needed, and neither waits for the other.';

const twoCalls: readonly Call[] = [
  { id: 'call_one', name: 'lookup', args: { name: 'sqlite' } },
  { id: 'call_two', name: 'lookup', args: { name: 'duckdb' } },
];

const system: LanguageModelV4Message = { role: 'system', content: 'You compare databases.' };
const goal: LanguageModelV4Message = {
  role: 'user',
  content: [{ type: 'text', text: 'Your task: Compare SQLite and DuckDB' }],
};

/** Frozen, like the window's messages. */
export const callOf = (more: Partial<LanguageModelV4CallOptions> = {}): LanguageModelV4CallOptions => ({
  prompt: deepFrozen([system, goal]),
  tools: deepFrozen([
    {
      type: 'function',
      name: 'lookup',
      description: 'Looks a name up.',
      inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    } as const,
  ]),
  maxOutputTokens: 4_096,
  reasoning: 'low',
  ...more,
});

export const ask = async (
  model: LanguageModelV4,
  more: Partial<LanguageModelV4CallOptions> = {},
): Promise<LanguageModelV4StreamPart[]> => {
  const parts: LanguageModelV4StreamPart[] = [];
  await collect(model, more, (part) => parts.push(part));
  return parts;
};

/** Rejects with the error of an error part. */
const collect = async (
  model: LanguageModelV4,
  more: Partial<LanguageModelV4CallOptions>,
  take: (part: LanguageModelV4StreamPart) => void,
): Promise<void> => {
  const { stream } = await model.doStream(callOf(more));
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    take(part);
  }
};

export const finishOf = (parts: readonly LanguageModelV4StreamPart[]) => {
  const finish = parts.at(-1);
  if (finish?.type !== 'finish') throw new Error(`The stream ended with ${finish?.type}`);
  return finish;
};

export const callsIn = (parts: readonly LanguageModelV4StreamPart[]): LanguageModelV4ToolCall[] =>
  parts.filter((part) => part.type === 'tool-call');

type Block = { type: 'text' | 'reasoning'; text: string; providerOptions?: SharedV4ProviderOptions };

/** Text and reasoning, joined from their pieces, with the last metadata received for them. */
const blocksIn = (parts: readonly LanguageModelV4StreamPart[]): Block[] => {
  const blocks: Block[] = [];
  const open = new Map<string, Block>();
  for (const part of parts) {
    if (part.type === 'text-start' || part.type === 'reasoning-start') {
      const block: Block = { type: part.type === 'text-start' ? 'text' : 'reasoning', text: '' };
      blocks.push(block);
      open.set(part.id, block);
    }
    const block = 'id' in part && part.id !== undefined ? open.get(part.id) : undefined;
    if (block === undefined) continue;
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') block.text += part.delta;
    if ('providerMetadata' in part && part.providerMetadata !== undefined)
      block.providerOptions = part.providerMetadata;
  }
  return blocks;
};

/** The next turn: the reply with its metadata, and a result for each call. */
export const continued = (parts: readonly LanguageModelV4StreamPart[]): Partial<LanguageModelV4CallOptions> => {
  const calls = callsIn(parts);
  return {
    prompt: deepFrozen([
      system,
      goal,
      {
        role: 'assistant',
        content: [
          ...blocksIn(parts),
          ...calls.map(({ toolCallId, toolName, input, providerMetadata }) => ({
            type: 'tool-call' as const,
            toolCallId,
            toolName,
            input: JSON.parse(input) as JsonObject,
            ...(providerMetadata && { providerOptions: providerMetadata }),
          })),
        ],
      },
      ...calls.map(({ toolCallId, toolName, input }): LanguageModelV4Message => {
        const value = `${(JSON.parse(input) as { name: string }).name} was found`;
        return {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }],
        };
      }),
    ]),
  };
};

/** Strings long enough to be a signature, an encrypted text or an id. */
const stringsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return value.length >= 8 ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
};

const deepFrozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null)
    for (const item of Object.values(Object.freeze(value))) deepFrozen(item);
  return value;
};
