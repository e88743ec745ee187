// Renders a cell's own definition, goal, replies and tool results for its model.
import { errorText1, isObject, isoTime, weekday } from '#base';
import type { Failure, Json, JsonObject } from '#base';
import type { GivenTools, ReplyPart, ToolSchema, ToolResultValue } from '#contracts';
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { ResolvedSource, Rule } from './rule.ts';

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/** system@1. Sources: the definition's prompt and guidance. */
export const systemRule: Rule = (sources) => ({
  message: { role: 'system', content: sources.map((source) => sourceText(source)).join('\n\n') },
});

/** system@2. As system@1, with the date variables filled in. The date is the start of the run, for every cell of the run. */
export const datedSystemRule: Rule = (sources, [startedAt = 0]) => ({
  message: {
    role: 'system',
    content: sources
      .map((source, index) => (index === 0 ? fillDate(sourceText(source), startedAt) : sourceText(source)))
      .join('\n\n'),
  },
});

/** tool@1. Source: one tool schema of the definition. */
export const toolRule: Rule = ([source]) => {
  if (source?.from !== 'definition' || typeof source.value === 'string')
    throw new TypeError('tool@1 needs a tool schema');
  const { name, description, inputSchema } = source.value;
  return { tool: { type: 'function', name, description, inputSchema } };
};

/** listed-tool@1. Source: the operation that listed the tools of a tool source. Number: index of the tool in that list. */
export const listedToolRule: Rule = ([operation], [place = 0]) => {
  if (operation?.from !== 'operation' || !operation.settled.ok) throw new TypeError('listed-tool@1 needs a list');
  const listed = operation.settled.value as unknown as readonly ToolSchema[];
  const { name, description, inputSchema } = listed[place]!;
  return { tool: { type: 'function', name, description, inputSchema } };
};

/** given-tool@1. Source: the crossing with tools that the client brought later. Number: index of the tool in that list. */
export const givenToolRule: Rule = ([source], [place = 0]) => {
  if (source?.from !== 'crossing' || source.kind !== 'tools') throw new TypeError('given-tool@1 needs tools');
  const { name, description, inputSchema } = (JSON.parse(source.content) as GivenTools).tools[place]!;
  return { tool: { type: 'function', name, description, inputSchema } };
};

/** goal@1. Source: the goal's crossing. */
export const goalRule: Rule = ([source]) => userMessage(/* probe: goal-words */ `Your task: ${sourceText(source)}`);

/** reply@1. Sources: the reply parts that the next model may see. */
export const replyRule: Rule = (sources) => ({
  message: { role: 'assistant', content: sources.map((source) => replyContent(replyPart(source))) },
});

/** tool-result@1. Sources: the call, and the tool's settled operation. */
export const toolResultRule: Rule = ([call, operation]) => {
  const { id, name } = sourceCall(call);
  if (operation?.from !== 'operation') throw new TypeError('tool-result@1 needs an operation');
  const { settled } = operation;
  const output = settled.ok
    ? ({ type: 'text', value: (settled.value as ToolResultValue).text } as const)
    : ({ type: 'error-text', value: failureText(settled.failure) } as const);
  return toolMessage(id, name, output);
};

/** last-turn@1. No sources: a fixed text that asks for an answer. */
export const lastTurnRule: Rule = () =>
  userMessage('You have no turns left and cannot call tools. Answer now with what you have and state what is missing.');

/** repair@1. Source: the operation that checked the answer. */
export const repairRule: Rule = ([operation]) => {
  if (operation?.from !== 'operation' || !operation.settled.ok) throw new TypeError('repair@1 needs a check');
  const { problems } = operation.settled.value as { readonly problems: readonly string[] };
  return userMessage(
    `Your answer is not valid:\n${problems.map((problem) => `- ${problem}`).join('\n')}\nReply again with only the JSON value.`,
  );
};

/** A failure as shown to its own cell, which may see the detail. */
export const failureText = (failure: Failure): string => {
  const { class: kind, summary, suggestion } = errorText1(failure.code);
  // probe: failure-words
  return `Error (${kind}): ${summary}${failure.detail === undefined ? '' : ` ${failure.detail}`} ${suggestion}`;
};

type ToolOutput = { readonly type: 'text' | 'error-text'; readonly value: string };

export const toolMessage = (toolCallId: string, toolName: string, output: ToolOutput) => ({
  message: { role: 'tool' as const, content: [{ type: 'tool-result' as const, toolCallId, toolName, output }] },
});

export const userMessage = (content: string) => ({
  message: { role: 'user' as const, content: [{ type: 'text' as const, text: content }] },
});

export const sourceText = (source: ResolvedSource | undefined): string => {
  if (source?.from === 'definition' && typeof source.value === 'string') return source.value;
  if (source?.from === 'crossing') return source.content;
  throw new TypeError('the rule needs text');
};

export const sourceCall = (source: ResolvedSource | undefined): Extract<ReplyPart, { type: 'call' }> => {
  const part = replyPart(source);
  if (part.type !== 'call') throw new TypeError('the rule needs a tool call');
  return part;
};

const replyPart = (source: ResolvedSource | undefined): ReplyPart => {
  if (source?.from !== 'reply') throw new TypeError('the rule needs a reply part');
  return source.part;
};

const replyContent = (part: ReplyPart): AssistantContent => {
  const options = part.meta === undefined ? {} : { providerOptions: part.meta };
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, text: part.text, ...options };
    case 'call':
      return { type: 'tool-call', toolCallId: part.id, toolName: part.name, input: callInput(part.input), ...options };
  }
};

/** Providers require an object here; any other input is passed back as the original text. */
export const callInput = (input: string): JsonObject => {
  try {
    const value = JSON.parse(input) as Json;
    if (isObject(value)) return value;
  } catch {
    // Not JSON: the model is shown what it wrote.
  }
  return { malformed: input };
};

// Date variables in a prompt, in UTC.

const dateVariables: Readonly<Record<string, (at: number) => string>> = {
  DATETIME: isoTime,
  DATE: (at) => isoTime(at).slice(0, 10),
  DAY: weekday,
  TIMESTAMP: (at) => String(Math.floor(at / 1_000)),
};

const variable = new RegExp(`\\$\\{(${Object.keys(dateVariables).join('|')})\\}`, 'gu');

export const fillDate = (prompt: string, at: number): string =>
  prompt.replace(variable, (_, name: string) => dateVariables[name]!(at));

/** Whether a prompt contains a date variable. */
export const usesDateVariables = (prompt: string): boolean => prompt.search(variable) >= 0;
