// Prepares the reply to one request. Streaming and generating use the same prepared reply, so the two cannot differ.
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { Json, JsonObject } from '#base';
import type { RequestView, ScriptedCall, ScriptedReply } from './script.ts';

export type PreparedReply = {
  readonly blocks: readonly ReplyBlock[];
  readonly finishReason: LanguageModelV4FinishReason;
  readonly usage: LanguageModelV4Usage;
};

export type ReplyBlock =
  | { readonly type: 'text' | 'reasoning'; readonly pieces: readonly string[] }
  | { readonly type: 'call'; readonly id: string; readonly tool: string; readonly input: string };

/** Upper bound for the pieces of a long text. */
const piecesMax = 256;

export const prepareReply = (reply: ScriptedReply, view: RequestView): PreparedReply => {
  const blocks = reply.fault === 'empty' ? [] : buildBlocks(reply, view);
  const finish = reply.finish ?? (blocks.some((block) => block.type === 'call') ? 'tool-calls' : 'stop');
  return { blocks, finishReason: { unified: finish, raw: finish }, usage: buildUsage(reply, blocks, view) };
};

/** Fills `{{goal}}`, `{{results}}`, `{{last}}`, `{{agent}}` and `{{turn}}` into a reply's texts and arguments. */
export const fillReply = (reply: ScriptedReply, view: RequestView): ScriptedReply => {
  const fill = (text: string): string => fillText(text, view);
  return {
    ...reply,
    ...(reply.text === undefined ? {} : { text: fill(reply.text) }),
    ...(reply.pieces === undefined ? {} : { pieces: reply.pieces.map(fill) }),
    ...(reply.reasoning === undefined ? {} : { reasoning: fill(reply.reasoning) }),
    ...(reply.calls === undefined
      ? {}
      : { calls: reply.calls.map((call) => ({ ...call, args: fillJson(call.args ?? {}, fill) as JsonObject })) }),
  };
};

export const toStreamParts = (blocks: readonly ReplyBlock[]): LanguageModelV4StreamPart[] =>
  blocks.flatMap((block, index): LanguageModelV4StreamPart[] => {
    if (block.type === 'call') {
      const { id, tool, input } = block;
      return [
        { type: 'tool-input-start', id, toolName: tool },
        ...splitInHalf(input).map((delta) => ({ type: 'tool-input-delta' as const, id, delta })),
        { type: 'tool-input-end', id },
        { type: 'tool-call', toolCallId: id, toolName: tool, input },
      ];
    }
    const id = `${block.type}_${index + 1}`;
    return [
      { type: `${block.type}-start`, id },
      ...block.pieces.map((delta) => ({ type: `${block.type}-delta` as const, id, delta })),
      { type: `${block.type}-end`, id },
    ];
  });

export const toReplyContent = (blocks: readonly ReplyBlock[]): LanguageModelV4Content[] =>
  blocks.map((block) =>
    block.type === 'call'
      ? { type: 'tool-call', toolCallId: block.id, toolName: block.tool, input: block.input }
      : { type: block.type, text: block.pieces.join('') },
  );

const fillText = (text: string, view: RequestView): string =>
  // A single pass: inserted text is not filled again. Other words in braces stay as they are.
  text.replaceAll(/\{\{\s*(goal|results|last|agent|turn)\s*\}\}/gu, (_, word: string) => {
    switch (word) {
      case 'goal':
        return view.goal;
      case 'results':
        return view.toolResults.map((result) => result.text).join('\n');
      case 'last':
        return view.lastText;
      case 'agent':
        return view.agent ?? '';
      default:
        return String(view.turn);
    }
  });

const fillJson = (value: Json | undefined, fill: (text: string) => string): Json | undefined => {
  if (typeof value === 'string') return fill(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((part) => fillJson(part, fill) ?? null);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, fillJson(part, fill)]));
};

const buildBlocks = (reply: ScriptedReply, view: RequestView): ReplyBlock[] => {
  const texts = [
    { type: 'reasoning' as const, pieces: splitIntoPieces(reply.reasoning ?? '') },
    {
      type: 'text' as const,
      pieces: (reply.pieces ?? splitIntoPieces(reply.text ?? '')).filter((piece) => piece !== ''),
    },
  ];
  return [...texts.filter(({ pieces }) => pieces.length > 0), ...buildCalls(reply, view)];
};

const buildCalls = (reply: ScriptedReply, view: RequestView): ReplyBlock[] => {
  const broken = reply.fault === 'malformed';
  const calls: readonly ScriptedCall[] = reply.calls ?? (broken ? [{ tool: view.tools[0] ?? 'unknown' }] : []);
  if (calls.length === 0) return [];
  const turn = unusedTurn(view);
  return calls.map(({ tool, args = {}, id }, index) => {
    const input = JSON.stringify(args);
    // Without its last brace an object is never valid JSON.
    return { type: 'call', id: id ?? `call_${turn}_${index + 1}`, tool, input: broken ? input.slice(0, -1) : input };
  });
};

/** The turn, or the next number that no call in the prompt uses: when a window has dropped turns, the count is too low. */
const unusedTurn = (view: RequestView): number => {
  const taken = new Set(
    view.messages.flatMap((message) =>
      message.role === 'assistant'
        ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId.replace(/_\d+$/u, '')] : []))
        : [],
    ),
  );
  let turn = view.turn;
  while (taken.has(`call_${turn}`)) turn++;
  return turn;
};

const splitIntoPieces = (text: string): string[] => {
  const words = text.match(/\s*\S+|\s+$/gu) ?? [];
  if (words.length <= piecesMax) return words;
  const size = Math.ceil(words.length / piecesMax);
  return Array.from({ length: Math.ceil(words.length / size) }, (_, index) =>
    words.slice(index * size, (index + 1) * size).join(''),
  );
};

const splitInHalf = (text: string): string[] => {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '');
};

const buildUsage = (reply: ScriptedReply, blocks: readonly ReplyBlock[], view: RequestView): LanguageModelV4Usage => {
  if (reply.usage === 'none')
    return {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    };
  const { input, output, cacheRead = 0, cacheWrite = 0 } = reply.usage ?? {};
  const cached = cacheRead + cacheWrite;
  const inputTotal = input ?? Math.max(cached, estimateTokens(promptChars(view)));
  const estimated = {
    all: estimateTokens(blockChars(blocks)),
    reasoning: estimateTokens(blockChars(blocks, 'reasoning')),
  };
  const outputTotal = output ?? estimated.all;
  const reasoning = Math.min(outputTotal, estimated.reasoning);
  return {
    inputTokens: { total: inputTotal, noCache: inputTotal - cached, cacheRead, cacheWrite },
    outputTokens: { total: outputTotal, text: outputTotal - reasoning, reasoning },
  };
};

const estimateTokens = (chars: number): number => Math.ceil(chars / 4);

const blockChars = (blocks: readonly ReplyBlock[], type?: ReplyBlock['type']): number =>
  blocks
    .filter((block) => type === undefined || block.type === type)
    .flatMap((block) => (block.type === 'call' ? [block.tool, block.input] : block.pieces))
    .reduce((sum, text) => sum + text.length, 0);

const promptChars = (view: RequestView): number =>
  view.messages.reduce((sum, message) => sum + messageChars(message), 0);

const messageChars = (message: LanguageModelV4Message): number => {
  if (message.role === 'system') return message.content.length;
  let chars = 0;
  for (const part of message.content) {
    if (part.type === 'text' || part.type === 'reasoning') chars += part.text.length;
    else if (part.type === 'tool-call') chars += part.toolName.length + JSON.stringify(part.input ?? null).length;
    else if (part.type === 'tool-result')
      chars +=
        'value' in part.output && typeof part.output.value === 'string'
          ? part.output.value.length
          : JSON.stringify(part.output).length;
  }
  return chars;
};
