// Whatever gave way: what a model is sent fits its window, begins with SYSTEM, has the task, and has every call with its result.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { withChildren } from '../agents.ts';
import type { AgentPlan } from '../plan.ts';
import { attemptThen, cellOf, lengthThen } from './facts.ts';
import type { Judge } from './judge.ts';

const windowDefault = 128_000;
/** Five bytes to a token at most. */
const bytesPerToken = 5;

export const windows: Judge = {
  name: 'windows fit, and are whole',
  look: (history, say) => {
    for (const call of history.modelCalls) {
      const { goal, model, prompt, tools, onDisk } = call;
      const cell = cellOf(history, call);
      const attempt = cell && attemptThen(cell, lengthThen(history, cell.run, onDisk));
      const run = history.runs.find((one) => one.run === cell?.run.run);
      const plan = run && withChildren(run.agent).find(({ name }) => name === cell?.birth.agent);
      const tokens = plan === undefined ? windowDefault : tokensOf(plan, model);
      if (attempt?.attempt !== undefined && attempt.attempt.window.tokens !== tokens)
        say(`a window of ${tokens} tokens for "${goal}"`, `one of ${attempt.attempt.window.tokens}`);
      const bytes = Buffer.byteLength(prompt) + Buffer.byteLength(tools);
      if (bytes > tokens * bytesPerToken) say(`at most ${tokens} tokens for "${goal}"`, `${bytes} bytes`);
      const messages = JSON.parse(prompt) as LanguageModelV4Prompt;
      if (messages[0]?.role !== 'system') say(`"${goal}" to begin with SYSTEM`, messages[0]?.role ?? 'nothing');
      if (!isPaired(messages)) say(`every call with its result for "${goal}"`, 'one is alone');
    }
    return history.modelCalls.length;
  },
};

/** The smaller of what the model takes and what the agent may use. */
const tokensOf = ({ models, limits }: AgentPlan, model: string): number => {
  const own = models.find(({ id }) => id === model)?.contextTokens ?? Infinity;
  const least = Math.min(own, limits.contextTokensMax ?? Infinity);
  return least === Infinity ? windowDefault : least;
};

const isPaired = (messages: LanguageModelV4Prompt): boolean => {
  const called = messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
      : [],
  );
  const answered = messages.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))
      : [],
  );
  return JSON.stringify(called) === JSON.stringify(answered);
};
