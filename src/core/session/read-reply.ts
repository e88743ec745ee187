// Reads a model's stream into one reply, and emits its pieces as live events.
import { CloisterError } from '#base';
import type { LiveEvent, ModelReply, ReplyPart, StepContext, Usage } from '#contracts';
import type { LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4ProviderMetadata } from '@ai-sdk/provider';

export type LiveListener = ((event: LiveEvent) => void) | undefined;
type Block = {
  readonly id: string;
  readonly at: number;
  readonly type: 'text' | 'reasoning';
  text: string;
  meta: SharedV4ProviderMetadata | undefined;
};

/** Text, reasoning and the input of tool calls together: four times what the largest models can write. It bounds every later step. */
const replyCharsMax = 2_000_000;
const partsMax = 1_000_000;

/** `onBegin` is called when the first part of the reply arrives. */
type ReadOptions = { readonly emit: LiveListener; readonly onBegin: () => void };

export const readReply = async (
  stream: ReadableStream<LanguageModelV4StreamPart>,
  world: StepContext,
  { emit, onBegin }: ReadOptions,
): Promise<ModelReply> => {
  const reader = stream.getReader();
  const draft = new ReplyDraft(emit);
  const cancelRead = (): void => void reader.cancel().catch(() => undefined);
  world.onStop(cancelRead);
  let hasBegun = false;
  try {
    for (let parts = 0; parts < partsMax; parts++) {
      const { done, value } = await reader.read();
      if (!hasBegun && !done && isOfReply(value)) {
        hasBegun = true;
        onBegin();
      }
      if (done || draft.take(value)) return draft.reply();
    }
    throw new CloisterError('model_server', `The stream exceeded ${partsMax} parts.`);
  } catch (error) {
    cancelRead();
    throw error;
  }
};

/** The others tell of the connection, not of the reply. */
const isOfReply = ({ type }: LanguageModelV4StreamPart): boolean =>
  type !== 'stream-start' && type !== 'raw' && type !== 'error';

class ReplyDraft {
  readonly #emit: LiveListener;
  readonly #parts: (ReplyPart | Block)[] = [];
  #open: Block[] = [];
  #chars = 0;
  #finish: string | null = null;
  #usage: Usage | null = null;

  constructor(emit: LiveListener) {
    this.#emit = emit;
  }

  /** True when the reply is complete. */
  take(part: LanguageModelV4StreamPart): boolean {
    switch (part.type) {
      case 'text-delta':
      case 'reasoning-delta':
        this.#append(part);
        return false;
      case 'text-start':
        this.#start('text', part.id, part.providerMetadata);
        return false;
      case 'reasoning-start':
        this.#start('reasoning', part.id, part.providerMetadata);
        return false;
      case 'text-end':
      case 'reasoning-end':
        this.#end(part.id, part.providerMetadata);
        return false;
      case 'tool-call': {
        const { toolCallId: id, toolName: name, input, providerMetadata: meta } = part;
        const call = { type: 'call', id, name, input: inputText(input), ...(meta && { meta }) } as const;
        this.#countChars(call.input);
        this.#parts.push(call);
        return false;
      }
      case 'finish':
        this.#finish = part.finishReason.unified;
        this.#usage = parseUsage(part.usage);
        return true;
      case 'error':
        throw part.error;
      default:
        return false;
    }
  }

  reply(): ModelReply {
    if (this.#finish === null) throw new CloisterError('model_cut');
    return {
      parts: this.#parts
        .map(plainPart)
        .filter((part) => part.type === 'call' || part.text !== '' || part.meta !== undefined),
      finish: this.#finish,
      usage: this.#usage,
    };
  }

  #start(type: 'text' | 'reasoning', id: string, meta: SharedV4ProviderMetadata | undefined): void {
    const block: Block = { id, at: this.#parts.length, type, text: '', meta };
    this.#open.push(block);
    this.#parts.push(block);
  }

  #append({
    type,
    id,
    delta,
    providerMetadata,
  }: Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>): void {
    this.#countChars(delta);
    const block = this.#open.find((one) => one.id === id);
    if (block === undefined) throw new CloisterError('model_cut', 'A stream part arrived before its start.');
    block.text += delta;
    if (providerMetadata !== undefined) block.meta = providerMetadata;
    this.#emit?.({ type, text: delta });
  }

  #countChars({ length }: string): void {
    this.#chars += length;
    if (this.#chars > replyCharsMax)
      throw new CloisterError('model_server', `The reply exceeded ${replyCharsMax} characters.`);
  }

  #end(id: string, meta: SharedV4ProviderMetadata | undefined): void {
    const at = this.#open.findIndex((one) => one.id === id);
    if (at < 0) return;
    const [block] = this.#open.splice(at, 1);
    if (meta !== undefined) block!.meta = meta;
  }
}

const plainPart = (part: ReplyPart | Block): ReplyPart => {
  if (part.type === 'call') return part;
  const { type, text, meta } = part;
  return { type, text, ...(meta && { meta }) };
};

/** Null when the provider reported no usage or an impossible one. Then the whole hold counts. */
const parseUsage = ({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage | null => {
  const usage = {
    inputTokens: inputTokens.total ?? -1,
    outputTokens: outputTokens.total ?? -1,
    cacheReadTokens: inputTokens.cacheRead ?? 0,
    cacheWriteTokens: inputTokens.cacheWrite ?? 0,
  };
  const counts = isCount(usage.inputTokens) && isCount(usage.outputTokens);
  return counts && isCount(usage.cacheReadTokens) && isCount(usage.cacheWriteTokens) ? usage : null;
};

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** Providers promise a string. Anything else is converted to text and validated like any arguments. */
const inputText = (input: unknown): string => (typeof input === 'string' ? input : (JSON.stringify(input) ?? ''));

// Redacts secrets that no single text of a reply contains in full: split over two parts, or with escaped characters.

type RedactText = (text: string) => string;

/** Returns the reply without such secrets. Secrets within one part are redacted when the step settles. */
export const redactReply = (reply: ModelReply, redact: RedactText): ModelReply => {
  const parts = reply.parts.map((part) => withoutEscaped(part, redact));
  const texts = parts.filter((part) => part.type === 'text');
  const joined = texts.map(({ text }) => text).join('');
  if (texts.length < 2 || redact(joined) === texts.map(({ text }) => redact(text)).join('')) return { ...reply, parts };
  const [first] = texts;
  const whole: ReplyPart = { type: 'text', text: redact(joined) };
  return {
    ...reply,
    parts: parts
      .filter((part) => part === first || part.type !== 'text')
      .map((part) => (part === first ? whole : part)),
  };
};

const withoutEscaped = (part: ReplyPart, redact: RedactText): ReplyPart => {
  const text = part.type === 'call' ? part.input : part.text;
  const plain = unescaped(text);
  if (plain === text || redact(plain) === plain) return part;
  return part.type === 'call' ? { ...part, input: redact(plain) } : { ...part, text: redact(plain) };
};

/** Unescapes printable characters, except those that JSON requires to be escaped. */
const unescaped = (text: string): string =>
  text.includes('\\u00')
    ? text.replace(/\\u00([2-7][0-9a-f])/giu, (escape, hex: string) => {
        const char = String.fromCharCode(Number.parseInt(hex, 16));
        return char === '"' || char === '\\' || char === '\u007f' ? escape : char;
      })
    : text;
