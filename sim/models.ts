// Simulated model providers: they respond, fail, hang, cut off, and know the true cost of each request.
//
//   sim-model-honest. A provider never produces more than `maxOutputTokens`. It counts no more input tokens than the runtime
//       estimates, except in requests that are drawn to be `dense`: those overdraw.
import type { LanguageModelV4CallOptions, LanguageModelV4StreamResult } from '@ai-sdk/provider';
import type { Model, Price } from '#contracts';
import { estimatePromptTokens } from '#testing/core/rules';
import type { ModelCall } from './history.ts';
import { never } from './never.ts';
import type { AgentPlan, ModelPlan } from './plan.ts';
import { promptJson } from './prompt-json.ts';
import type { Process } from './process.ts';
import { decideReply } from './replies.ts';
import type { SimulatedReply } from './replies.ts';
import { piecesOf, streamOf } from './streams.ts';
import type { Finish, Piece, Usage } from './streams.ts';
import { shortHash } from './trace.ts';

export const simulatedModel = (context: ModelContext): Model => {
  const { plan } = context;
  return {
    language: {
      specificationVersion: 'v4',
      provider: 'sim',
      modelId: plan.id,
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('every attempt streams')),
      doStream: (options) => sendRequest(options, context),
    },
    ...(plan.price && { price: plan.price }),
    ...(plan.contextTokens !== undefined && { contextTokens: plan.contextTokens }),
    ...(plan.maxOutputTokens !== undefined && { maxOutputTokens: plan.maxOutputTokens }),
    structuredOutput: plan.structuredOutput,
    attachments: simulatedAttachments,
  };
};

/** What every model takes; a replay must know it too. */
export const simulatedAttachments: readonly string[] = ['image/*'];

/** `session`: the number of the session that the model was created for. */
type ModelContext = {
  readonly process: Process;
  readonly plan: ModelPlan;
  readonly agent: AgentPlan;
  readonly session: number;
};

const modelFaults = {
  rate: 3,
  server: 2,
  gateway: 1,
  request: 1,
  auth: 0.5,
  refused: 2,
  reset: 2,
  hang: 2,
  slow: 3,
  cut: 2,
  'error part': 2,
  'read error': 1,
  stall: 2,
  empty: 1,
  'no usage': 2,
  dense: 1,
  'bad usage': 1,
  'finish error': 1,
  filter: 0.5,
} as const;

type Kind = keyof typeof modelFaults;

const sendRequest = (
  options: LanguageModelV4CallOptions,
  context: ModelContext,
): Promise<LanguageModelV4StreamResult> => {
  const { process, plan, agent } = context;
  const { world } = process;
  if (!process.touch('model')) return never();
  const prompt = promptJson(options.prompt);
  const tools = JSON.stringify(options.tools ?? []);
  // A repeated prompt gets another reply. Otherwise two children with the same goal could not be distinguished.
  const again = world.modelCalls.filter((one) => one.prompt === prompt).length;
  const shown = shortHash(`${world.seed}${again === 0 ? '' : again}${prompt}${tools}`);
  const drawn = world.faults.draw(world.faults.plan.model, 'model', modelFaults);
  const fault = drawn ?? (plan.noUsageRate > 0 && world.random.chance(plan.noUsageRate) ? 'no usage' : null);
  const call: ModelCall = {
    at: world.now,
    nth: world.nextNth(),
    process: process.no,
    model: plan.id,
    agent: agent.name,
    session: context.session,
    goal: findGoal(options, agent),
    prompt,
    tools,
    onDisk: world.onDisk(),
    refused: false,
    dense: fault === 'dense',
    tokens: 0,
    nanoUsd: 0,
  };
  world.modelCalls.push(call);
  world.trace.note(`model ${plan.id} called by ${process.no} for ${call.goal}: ${shown} ${fault ?? ''}`);
  const refusesSchema = options.responseFormat !== undefined && shown < '4';
  const nth = world.random.int(0, 3);
  const refusal = createRefusal(refusesSchema ? 'request' : fault, nth);
  const latencyMs = world.random.log(1, plan.msMax) * (fault === 'slow' ? 100 : 1);
  if (refusal !== null) {
    call.refused = true;
    return answerLater(options, context, latencyMs, () => Promise.reject(refusal));
  }

  const reply = fault === 'empty' ? emptyReply : decideReply(shown, options, agent);
  const bounded = boundReply(reply, options.maxOutputTokens ?? 0, plan.density);
  const estimated = estimatedTokens(options);
  const usage = usageOf(fault === 'dense' ? 4 * estimated : estimated, bounded.tokens, context);
  recordCost(call, usage, plan.price);
  if (!process.touch('model answer')) return never();
  if (fault === 'hang') return answerLater<LanguageModelV4StreamResult>(options, context, Infinity, never);
  // The provider did the work; something in between lost the reply.
  if (fault === 'gateway')
    return answerLater(options, context, latencyMs, () => Promise.reject(apiError('bad gateway', nth < 2 ? 502 : 504)));
  if (fault === 'reset')
    return answerLater(options, context, latencyMs, () => Promise.reject(networkError('ECONNRESET')));
  const finish: Finish = { reason: finishReason(fault, bounded), usage: reportedUsage(fault, usage) };
  const wait = (): number => (plan.pieces === 2 && world.random.chance(0.2) ? world.random.log(1, plan.msMax / 4) : 0);
  const pieces = applyStreamFault(piecesOf(bounded.reply, finish, plan.pieces, wait), fault, world.random.unit());
  // An error instead of a reply is a refusal too, although the response was open.
  if (fault === 'error part' && pieces.length === 1) Object.assign(call, { refused: true, tokens: 0, nanoUsd: 0 });
  const careless = world.random.chance(0.2);
  return answerLater(options, context, latencyMs, () =>
    Promise.resolve({ stream: streamOf(pieces, process, careless) }),
  );
};

const emptyReply: SimulatedReply = { text: '', reasoning: '', calls: [] };

/** Responds after a while, unless the provider honours an abort. */
const answerLater = <T>(
  options: LanguageModelV4CallOptions,
  { process, plan }: ModelContext,
  latencyMs: number,
  give: () => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const cancel = latencyMs === Infinity ? () => undefined : process.later(latencyMs, 'model', () => resolve(give()));
    if (!plan.honoursAbort) return;
    options.abortSignal?.addEventListener('abort', () => {
      cancel();
      process.later(1, 'abort', () => reject(new DOMException('aborted', 'AbortError')));
    });
  });

/** A request that is refused before it is processed costs nothing. */
const createRefusal = (fault: Kind | null, nth: number): Error | null => {
  switch (fault) {
    case 'rate':
      return apiError(
        'too many requests',
        429,
        [{}, { 'retry-after-ms': '40' }, { 'retry-after': '2' }, { 'retry-after': '9000' }][nth],
      );
    case 'server':
      return apiError('overloaded', [500, 503, 529, 529][nth]!);
    case 'request':
      return apiError('bad request', 400);
    case 'auth':
      return apiError('no such key', 401);
    case 'refused':
      return networkError('ECONNREFUSED');
    default:
      return null;
  }
};

const apiError = (message: string, statusCode: number, responseHeaders: Record<string, string> = {}): Error =>
  Object.assign(new Error(message), { name: 'AI_APICallError', statusCode, responseHeaders });

const networkError = (code: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });

/** In a team, the goal is the first user message. */
const findGoal = ({ prompt }: LanguageModelV4CallOptions, agent: AgentPlan): string => {
  for (const { role, content } of prompt) {
    const part = role === 'user' ? content[0] : undefined;
    if (part?.type !== 'text') continue;
    if (agent.role !== null) return part.text;
    if (part.text.startsWith('Your task: ')) return part.text.slice('Your task: '.length);
  }
  return '';
};

type Bounded = { readonly reply: SimulatedReply; readonly tokens: number; readonly cut: boolean };

/** Truncates the reply to the maximum number of tokens. */
const boundReply = (reply: SimulatedReply, tokensMax: number, density: number): Bounded => {
  const tokens = Math.ceil(Buffer.byteLength(JSON.stringify(reply)) * density);
  if (tokens <= tokensMax) return { reply, tokens, cut: false };
  const text = (reply.text || 'cut').slice(0, Math.max(1, Math.floor(tokensMax / 2)));
  return { reply: { text, reasoning: '', calls: [] }, tokens: tokensMax, cut: true };
};

type TrueUsage = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
};

/** The estimate of the runtime, for the same parts. */
const estimatedTokens = ({ prompt, tools = [], responseFormat }: LanguageModelV4CallOptions): number =>
  [
    ...prompt.map((message) => ({ message })),
    ...tools.map((tool) => ({ tool })),
    ...(responseFormat?.type === 'json' && responseFormat.schema !== undefined ? [responseFormat.schema] : []),
  ].reduce((sum, part) => sum + estimatePromptTokens(promptJson(part)), 0);

const usageOf = (estimated: number, output: number, { plan, process }: ModelContext): TrueUsage => {
  const input = 20 + Math.ceil(estimated * plan.density);
  const cached = process.world.random.chance(0.2) ? Math.floor(input / 2) : 0;
  return process.world.random.chance(0.5)
    ? { input, output, cacheRead: cached, cacheWrite: 0 }
    : { input, output, cacheRead: 0, cacheWrite: cached };
};

/** One dollar per million tokens is a thousand nano-dollars per token. */
const recordCost = (
  call: ModelCall,
  { input, output, cacheRead, cacheWrite }: TrueUsage,
  price: Price | undefined,
): void => {
  call.tokens = input + output;
  if (price === undefined) return;
  const plain = input - cacheRead - cacheWrite;
  const inputs =
    plain * price.input + cacheRead * (price.cacheRead ?? price.input) + cacheWrite * (price.cacheWrite ?? price.input);
  call.nanoUsd = Math.ceil((inputs + output * price.output) * 1_000);
};

const reportedUsage = (fault: Kind | null, usage: TrueUsage): Usage => {
  if (fault === 'no usage') return { input: undefined, output: undefined, cacheRead: 0, cacheWrite: 0 };
  return fault === 'bad usage' ? { ...usage, output: NaN } : usage;
};

const finishReason = (fault: Kind | null, { reply, cut }: Bounded): Finish['reason'] => {
  if (fault === 'finish error') return 'error';
  if (fault === 'filter') return 'content-filter';
  if (cut) return 'length';
  return reply.calls.length > 0 ? 'tool-calls' : 'stop';
};

/** Damages the stream according to the fault. */
const applyStreamFault = (pieces: Piece[], fault: Kind | null, where: number): readonly Piece[] => {
  const whole = pieces.slice(0, Math.floor(pieces.length * where));
  switch (fault) {
    case 'cut':
      return whole;
    case 'stall':
      return [...whole, 'stall'];
    case 'read error':
      return [...whole, { error: networkError('ECONNRESET') }];
    case 'error part':
      return [...whole, { part: { type: 'error', error: apiError('overloaded', 529) }, afterMs: 0 }];
    default:
      return pieces;
  }
};
