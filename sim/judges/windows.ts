// Whatever was dropped or shortened: a request fits its window, starts with SYSTEM, has the goal, and has a result for every call.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { withChildren } from '../agents.ts';
import type { AgentPlan } from '../plan.ts';
import { inheritedLimits } from './child-limits.ts';
import { attemptOnDisk, callingCell, framesOnDisk } from './facts.ts';
import type { Judge } from './judge.ts';

const windowDefault = 128_000;
/** The most bytes in a token. */
const bytesPerToken = 5;

export const windows: Judge = {
  name: 'windows fit and are complete',
  check: (history, report) => {
    for (const call of history.modelCalls) {
      const { goal, model, prompt, tools, onDisk } = call;
      const cell = callingCell(history, call);
      const attempt = cell && attemptOnDisk(cell, framesOnDisk(history, cell.run, onDisk));
      const run = history.runs.find((one) => one.run === cell?.run.run);
      const plans = new Map(run === undefined ? [] : withChildren(run.agent).map((one) => [one.name, one]));
      const plan = cell && plans.get(cell.birth.agent);
      const inherited = cell === undefined ? undefined : inheritedLimits(plans, cell).contextTokensMax;
      const tokens = plan === undefined ? windowDefault : tokensOf(plan, model, inherited);
      if (attempt?.attempt !== undefined && attempt.attempt.window.tokens !== tokens)
        report(`a window of ${tokens} tokens for "${goal}"`, `one of ${attempt.attempt.window.tokens}`);
      const bytes = Buffer.byteLength(prompt) + Buffer.byteLength(tools);
      if (bytes > tokens * bytesPerToken) report(`at most ${tokens} tokens for "${goal}"`, `${bytes} bytes`);
      const messages = JSON.parse(prompt) as LanguageModelV4Prompt;
      if (messages[0]?.role !== 'system') report(`"${goal}" to start with SYSTEM`, messages[0]?.role ?? 'nothing');
      if (!isPaired(messages))
        report(`every call with its result for "${goal}"`, 'a call or result has no counterpart');
    }
    return history.modelCalls.length;
  },
};

/** The smallest of the model's window, the agent's limit, and the limit of the agent that spawned it. */
const tokensOf = ({ models, limits }: AgentPlan, model: string, inherited = Infinity): number => {
  const own = models.find(({ id }) => id === model)?.contextTokens ?? Infinity;
  const least = Math.min(own, limits.contextTokensMax ?? Infinity, inherited);
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
