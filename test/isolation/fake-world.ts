// A world for the runs: virtual time, ids from a seed, models that answer from a function. It does not use vitest, because a
// plain process runs it in planted copies.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { defineAgent, openCloister, ToolDefinition } from 'cloister';
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

export type Cloister = { readonly openCloister: typeof openCloister; readonly defineAgent: typeof defineAgent };
export type Tool = ToolDefinition;

export type Call = { readonly name: string; readonly input: string };
export type Reply = {
  /** The number of the turn within its task: call ids contain it. */
  readonly turn: number;
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly Call[];
  readonly finish?: 'stop' | 'length';
  readonly usage?: readonly [input: number, output: number];
  readonly delayMs?: number;
};
/** What a provider throws: its own text. */
export type Fault = { readonly fault: { readonly status: number; readonly words: string }; readonly delayMs?: number };

export const call = (name: string, args: object): Call => ({ name, input: JSON.stringify(args) });

/** Arguments that are not JSON, whatever the text is: a drawn text could complete what is only cut off. */
export const brokenCall = (name: string, text: string): Call => ({ name, input: `{"text": ,${text}` });

export class World {
  readonly drawn = new Set<string>();
  readonly clock: { now(): number; timer(ms: number, due: () => void): () => void };
  readonly ids: { random(): string };
  #now: number;
  readonly #timers: { readonly at: number; readonly due: () => void }[] = [];

  constructor(seed: string | number, startMs: number) {
    this.#now = startMs;
    this.clock = { now: () => this.#now, timer: (ms, due) => this.#timer(ms, due) };
    this.ids = {
      random: () => {
        const id = hash('sha256', `${seed}:${this.drawn.size}`).slice(0, 12);
        this.drawn.add(id);
        return id;
      },
    };
  }

  sleep(ms: number): Promise<void> | undefined {
    return ms <= 0 ? undefined : new Promise((resolve) => void this.#timer(ms, resolve));
  }

  /** Lets time jump from timer to timer until the work is done. */
  async finish<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const end = () => (over = true);
    work.then(end, end);
    for (let idle = 0; idle < 1_000;) {
      await setImmediate();
      if (over) return work;
      const next = this.#timers.shift();
      if (next === undefined) idle++;
      else {
        this.#now = next.at;
        next.due();
      }
    }
    throw new Error('nothing is due, and the run has not ended');
  }

  model(
    modelId: string,
    answer: (options: LanguageModelV4CallOptions) => Reply | Fault,
    provider = 'two-run',
  ): LanguageModelV4 {
    return {
      specificationVersion: 'v4',
      provider,
      modelId,
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('every attempt streams')),
      doStream: async (options) => {
        const reply = answer(options);
        await this.sleep(reply.delayMs ?? 0);
        if ('fault' in reply) throw providerError(reply.fault);
        return { stream: streamOf(partsOf(reply)) };
      },
    };
  }

  #timer(ms: number, due: () => void): () => void {
    const timer = { at: this.#now + ms, due };
    if (Number.isNaN(timer.at)) throw new Error(`A timer needs a time; got ${ms}.`);
    const place = this.#timers.findIndex(({ at }) => at > timer.at);
    this.#timers.splice(place < 0 ? this.#timers.length : place, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }
}

/** The task of a request: the goal is never evicted, so it distinguishes the cells of one agent. */
export const taskOf = ({ prompt }: LanguageModelV4CallOptions): string => {
  const goal = prompt.find(({ role }) => role === 'user');
  const [part] = goal?.role === 'user' ? goal.content : [];
  return part?.type === 'text' ? part.text : '';
};

/** Which turn of its task a request is, from 0. `again`: the previous one does not count. */
export const turnCounter = () => {
  const turns = new Map<string, number>();
  const add = (task: string, by: number): number => {
    const turn = turns.get(task) ?? 0;
    turns.set(task, turn + by);
    return turn;
  };
  return Object.assign((task: string) => add(task, 1), { again: (task: string) => void add(task, -1) });
};

const providerError = ({ status, words }: Fault['fault']): Error =>
  Object.assign(new Error(words), { name: 'AI_APICallError', statusCode: status, responseHeaders: {} });

const streamOf = (parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });

const partsOf = (reply: Reply): readonly LanguageModelV4StreamPart[] => {
  const { turn, text = '', reasoning = '', calls = [], finish, usage: [input, output] = [100, 10] } = reply;
  const signature = { providerMetadata: { two: { signature: `sig-${reasoning}` } } };
  return [
    { type: 'stream-start', warnings: [] },
    ...(reasoning === '' ? [] : block('reasoning', reasoning, signature)),
    ...(text === '' ? [] : block('text', text, {})),
    ...calls.map(({ name, input: args }, index): LanguageModelV4StreamPart => {
      return { type: 'tool-call', toolCallId: `call_${turn}_${index}`, toolName: name, input: args };
    }),
    {
      type: 'finish',
      finishReason: { unified: finish ?? (calls.length > 0 ? 'tool-calls' : 'stop'), raw: undefined },
      usage: {
        inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: output, text: output, reasoning: 0 },
      },
    },
  ];
};

const block = (type: 'text' | 'reasoning', text: string, end: object): readonly LanguageModelV4StreamPart[] => [
  { type: `${type}-start`, id: type },
  { type: `${type}-delta`, id: type, delta: text },
  { type: `${type}-end`, id: type, ...end },
];

/** What the scripted models put in the arguments of their calls. */
type Args = { readonly mark: string; readonly text: string; readonly delayMs: number; readonly watched?: boolean };
type Execute = (args: Args, context: Parameters<Tool['execute']>[1]) => Promise<string> | string;

export const tool = (name: string, description: string, execute: Execute): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
  repeat: 'free',
  execute: (args, context) => execute(args as unknown as Args, context),
});
