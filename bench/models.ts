// A fast LanguageModelV4 that takes its reply from the prompt, so that every loop drives it the same way.
// Its own work per request does not grow with the prompt: it reads the turn from the newest call's id.
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider';

/** What a goal makes the model do before it answers. */
export const goals = {
  answer: 'Answer the question in one line.',
  lookups: (turns: number): string => `Do ${turns} lookups, one per turn, then answer.`,
  helpers: (count: number): string => `Call ${count} helpers in parallel, then answer.`,
  /** Each turn does `lookups` lookups and calls `helpers` helpers in parallel; each helper takes `turnsEach` turns. */
  team: ({ turns, lookups, helpers, turnsEach }: Team): string =>
    `Work ${turns} turns with ${lookups} lookups and ${helpers} helpers of ${turnsEach} turns, then answer.`,
};

type Team = {
  readonly turns: number;
  readonly lookups: number;
  readonly helpers: number;
  readonly turnsEach: number;
};

export type FastModel = LanguageModelV4 & { readonly requests: number };

type FastModelOptions = {
  /** `bare`: one ReadableStream. `piped`: through one TransformStream, as streams of @ai-sdk providers are. */
  readonly stream?: 'bare' | 'piped';
  /** Delay before a reply starts. */
  readonly delayMs?: number;
  /** Awaited instead of `delayMs`, when the benchmark controls the delay. */
  readonly wait?: () => Promise<void>;
};

export const fastModel = ({ stream = 'bare', delayMs = 0, wait }: FastModelOptions = {}): FastModel => {
  const delay = wait ?? (delayMs > 0 ? () => sleep(delayMs) : undefined);
  let requests = 0;
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'fast',
    supportedUrls: {},
    get requests() {
      return requests;
    },
    doGenerate: () => Promise.reject(new Error('Every loop here streams.')),
    async doStream({ prompt }: LanguageModelV4CallOptions) {
      requests++;
      if (delay !== undefined) await delay();
      const parts = streamOf(callsFor(prompt));
      return { stream: stream === 'bare' ? parts : parts.pipeThrough(new TransformStream({ transform: passOn })) };
    },
  };
};

export const answerText = 'The answer follows from what was asked and found: it is forty-two, and no more is known.';

const deltas = answerText.split(/(?<= )/u);

const callsFor = (prompt: LanguageModelV4Prompt): readonly LanguageModelV4ToolCall[] => {
  const [goal, turn] = [readGoal(prompt), readTurn(prompt)];
  if (goal.includes('turns with')) return teamCalls(goal, turn);
  const [, countText = '0', what] = /(\d+) (lookups|helpers)/u.exec(goal) ?? [];
  const count = Number(countText);
  if (what === 'lookups' && turn < count) return [lookup(turn, 0)];
  if (what === 'helpers' && turn === 0)
    return Array.from({ length: count }, (_, index) => helper(0, index, goals.answer));
  return [];
};

const teamCalls = (goal: string, turn: number): readonly LanguageModelV4ToolCall[] => {
  const [turns = 0, lookups = 0, helpers = 0, turnsEach = 0] = goal.match(/\d+/gu)?.map(Number) ?? [];
  if (turn >= turns) return [];
  return Array.from({ length: lookups + helpers }, (_, index) =>
    index < lookups ? lookup(turn, index) : helper(turn, index, goals.lookups(turnsEach)),
  );
};

const readGoal = (prompt: LanguageModelV4Prompt): string => {
  const message = prompt.find(({ role }) => role === 'user');
  const part = message?.role === 'user' ? message.content[0] : undefined;
  return part?.type === 'text' ? part.text : '';
};

/** Call ids are `<turn>-<place>`; the newest message after the first turn is a call's result. */
const readTurn = (prompt: LanguageModelV4Prompt): number => {
  const message = prompt.at(-1);
  const part = message?.role === 'tool' ? message.content.at(-1) : undefined;
  return part?.type === 'tool-result' ? Number.parseInt(part.toolCallId, 10) + 1 : 0;
};

const call = (turn: number, place: number, toolName: string, input: string): LanguageModelV4ToolCall => ({
  type: 'tool-call',
  toolCallId: `${turn}-${place}`,
  toolName,
  input,
});

const lookup = (turn: number, place: number): LanguageModelV4ToolCall =>
  call(turn, place, 'lookup', '{"term":"forty-two"}');

const helper = (turn: number, place: number, prompt: string): LanguageModelV4ToolCall =>
  call(turn, place, 'helper', JSON.stringify({ prompt }));

const partsOf = (calls: readonly LanguageModelV4ToolCall[]): readonly LanguageModelV4StreamPart[] => [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
  ...deltas.map((delta): LanguageModelV4StreamPart => ({ type: 'text-delta', id: '0', delta })),
  { type: 'text-end', id: '0' },
  ...calls,
  {
    type: 'finish',
    finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: { total: 200, noCache: 200, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 20, text: 20, reasoning: 0 },
    },
  },
];

const passOn = (
  part: LanguageModelV4StreamPart,
  controller: TransformStreamDefaultController<LanguageModelV4StreamPart>,
): void => controller.enqueue(part);

/** One part per pull, as parts arrive from a network. */
const streamOf = (calls: readonly LanguageModelV4ToolCall[]): ReadableStream<LanguageModelV4StreamPart> => {
  const parts = partsOf(calls);
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const part = parts[next++];
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
};
