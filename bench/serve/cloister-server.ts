// Agents of an instant model and of slow ones, served with a token, in memory.
import { defineAgent, openCloister, openServer } from 'cloister';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { answerText, fastModel } from '../models.ts';
import type { Ready } from './messages.ts';
import { reportUsage } from './report-usage.ts';

const usage = {
  inputTokens: { total: 200, noCache: 200, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 20, text: 20, reasoning: 0 },
};

/** The whole answer at once. */
const instant: LanguageModelV4 = {
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

/** One piece of text each time, so many, so far apart. */
const dripping = (pieces: number, everyMs: number, piece: string): LanguageModelV4 => ({
  ...fastModel(),
  async doStream({ abortSignal }) {
    let sent = 0;
    return {
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          controller.enqueue({ type: 'stream-start', warnings: [] });
          controller.enqueue({ type: 'text-start', id: '0' });
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

const agent = (name: string, model: LanguageModelV4) =>
  defineAgent({ name, description: 'Answers.', prompt: 'You answer briefly.', models: [model] });

const cloister = await openCloister({
  agents: [
    agent('instant', instant),
    agent('dripping', dripping(60, 1_000, 'Another word. ')),
    agent('gushing', dripping(60, 1_000, 'Another line of text.\n'.repeat(1_000))),
  ],
  ...(process.argv[2] === undefined ? { store: 'memory' } : { workspace: process.argv[2] }),
});
const places = { running: 10_000, runningPerAgent: 10_000, waiting: 0 };
const server = await openServer(cloister, { port: 0, places, limits: { connectionsMax: 10_000 } });
const { port } = await server.listen();
process.send?.({ ready: { port, token: server.token ?? '' } } satisfies Ready);
reportUsage();
