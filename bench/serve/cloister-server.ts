// Serves agents with an instant model and with slow ones, with a token, in memory.
import { defineAgent, openCloister, openServer } from 'cloister';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { answerText, fastModel } from '../models.ts';
import type { Ready } from './messages.ts';
import { openUnixListener } from './unix-listener.ts';
import { reportUsage } from './report-usage.ts';

const usage = {
  inputTokens: { total: 200, noCache: 200, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 20, text: 20, reasoning: 0 },
};

/** The whole answer at once. */
const instantModel: LanguageModelV4 = {
  ...fastModel(),
  doStream: async () => ({
    stream: new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings: [] });
        controller.enqueue({ type: 'text-start', id: '0' });
        controller.enqueue({ type: 'text-delta', id: '0', delta: answerText });
        controller.enqueue({ type: 'text-end', id: '0' });
        controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage });
        controller.close();
      },
    }),
  }),
};

type SlowReply = {
  readonly piece: string;
  readonly everyMs: number;
  readonly pieces: number;
  /** Parts sent first, as fast as possible. */
  readonly first?: number;
};

/** Streams `pieces` pieces of text, one every `everyMs`. */
const slowModel = ({ piece, everyMs, pieces, first = 0 }: SlowReply): LanguageModelV4 => ({
  ...fastModel(),
  async doStream({ abortSignal }) {
    let sent = 0;
    return {
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        async start(controller) {
          controller.enqueue({ type: 'stream-start', warnings: [] });
          controller.enqueue({ type: 'text-start', id: '0' });
          for (let gushed = 0; gushed < first; gushed++) {
            if (abortSignal?.aborted === true) return;
            controller.enqueue({ type: 'text-delta', id: '0', delta: piece });
            await new Promise((resolve) => setImmediate(resolve));
          }
          const timer = setInterval(() => {
            if (abortSignal?.aborted === true) return clearInterval(timer);
            controller.enqueue({ type: 'text-delta', id: '0', delta: piece });
            sent += 1;
            if (sent < pieces) return;
            clearInterval(timer);
            controller.enqueue({ type: 'text-end', id: '0' });
            controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage });
            controller.close();
          }, everyMs);
        },
      }),
    };
  },
});

/** Eight replies of 1.9 MB, each with a call except the last. */
const longModel: LanguageModelV4 = {
  ...fastModel(),
  async doStream({ prompt }) {
    const turn = prompt.filter(({ role }) => role === 'tool').length;
    const parts = async function* (): AsyncGenerator<LanguageModelV4StreamPart> {
      yield { type: 'stream-start', warnings: [] };
      yield { type: 'text-start', id: '0' };
      for (let nth = 0; nth < 124; nth++) {
        yield { type: 'text-delta', id: '0', delta: 'Another line of text.\n'.repeat(700) };
        await new Promise((resolve) => setImmediate(resolve));
      }
      yield { type: 'text-end', id: '0' };
      if (turn < 7) yield { type: 'tool-call', toolCallId: `c${turn}`, toolName: 'look', input: '{}' };
      yield { type: 'finish', finishReason: { unified: turn < 7 ? 'tool-calls' : 'stop', raw: undefined }, usage };
    };
    return { stream: ReadableStream.from(parts()) };
  },
};

const agent = (name: string, model: LanguageModelV4, more: Partial<Parameters<typeof defineAgent>[0]> = {}) =>
  defineAgent({ name, description: 'Answers.', prompt: 'You answer briefly.', models: [model], ...more });

const look = { name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, execute: () => 'Nothing.' };

const cloister = await openCloister({
  agents: [
    agent('instant', instantModel),
    agent('dripping', slowModel({ piece: 'Another word. ', everyMs: 1_000, pieces: 60 })),
    agent(
      'gushing',
      slowModel({ piece: 'Another line of text.\n'.repeat(1_000), everyMs: 1_000, pieces: 600, first: 50 }),
    ),
    agent('long', longModel, { tools: [look], limits: { contextTokensMax: 20_000_000, maxOutputTokens: 1_000_000 } }),
  ],
  ...(process.argv[2] === undefined ? { store: 'memory' } : { workspace: process.argv[2] }),
});
const slots = { running: 10_000, runningPerAgent: 10_000, waiting: 0 };
// Stalled readers are what is measured, so they must not be dropped meanwhile.
const limits = { connectionsMax: 10_000, stallMs: 600_000 };
let ended = 0;
const server = await openServer(cloister, {
  port: 0,
  slots,
  limits,
  log: (line) => void (line.type === 'run' && ended++),
});
const { path, backedUp } = await openUnixListener();
const { port } = await server.listen();
process.send?.({ ready: { port, token: server.token ?? '', path } } satisfies Ready);
reportUsage(() => ({ backedUp: backedUp(), ended }));
