// The tool of agents that may ask a person: the call is a question, and the answer is its result.
import { argumentsHash } from '#core/events';
import type { AskOperation, QuestionResult, Source, ToolSchema } from '#contracts';
import { callAbout, failingStep, stepAbout } from './tool-call-chain.ts';
import type { ToolRunner } from './state.ts';

const askPersonSchema: ToolSchema = {
  name: 'ask_person',
  description:
    'Ask the person who requested this work. Use it when you cannot go on without a decision or a fact that only they have. With `options`, they choose one of them. It can take hours until they answer.',
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 4_000 },
      options: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 200 },
        minItems: 2,
        maxItems: 20,
        uniqueItems: true,
      },
    },
    required: ['question'],
    additionalProperties: false,
  },
};

export const askPersonTool: ToolRunner = {
  schema: askPersonSchema,
  createChain: (call, args, session) => {
    const ask: AskOperation = {
      do: 'ask',
      name: `ask:${call.name}`,
      about: stepAbout(session, call),
      question: { tool: call.name, args, argsHash: argumentsHash(args), why: 'agent' },
      schema: askPersonSchema.inputSchema,
      timeoutMs: session.cell.limits.questionTimeout,
    };
    let said: readonly Source[] = [];
    return {
      begin: [ask],
      onSettled: (index, settled, no) => {
        const operation: Source = { from: 'operation', no };
        if (index > 0) return { end: { show: { rule: 'denied@1', of: [operation, ...said] } } };
        if (!settled.ok) return { end: { show: { rule: 'tool-result@1', of: [operation] } } };
        const result = settled.value as unknown as QuestionResult;
        said = result.said === undefined ? [] : [{ from: 'crossing', seq: result.said }];
        if (result.verdict === 'allow') return { end: { show: { rule: 'answered@1', of: [operation, ...said] } } };
        const code = result.expired === true ? 'answer_expired' : 'answer_denied';
        return { begin: [failingStep(call, session, { code }, callAbout(call))] };
      },
    };
  },
};
