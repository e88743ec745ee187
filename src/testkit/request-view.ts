// A model request in the terms that scripts use.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import type { RequestView, ToolResultView } from './script.ts';

/** The line of the runtime's guidance from which a script learns which agent is asking. */
export const agentLine = (name: string): string => `You are the agent "${name}".`;

const agentLineShape = /^You are the agent "([^"\n]+)"\./mu;

/** The agent that a prompt was rendered for; null if its system message does not say. */
export const agentNameIn = (prompt: LanguageModelV4Prompt): string | null =>
  agentLineShape.exec(systemText(prompt))?.[1] ?? null;

export const viewRequest = (options: LanguageModelV4CallOptions): RequestView => {
  const { prompt } = options;
  const newest = newestMessages(prompt);
  const isGoal = (message: LanguageModelV4Message): boolean =>
    message.role === 'user' && messageText(message).startsWith('Your task: ');
  // Messages before the task belong to earlier sessions.
  const place = prompt.findLastIndex(isGoal);
  const goal = place < 0 ? prompt.find((message) => message.role === 'user') : prompt[place];
  return {
    agent: agentNameIn(prompt),
    turn: prompt.slice(Math.max(0, place)).filter((message) => message.role === 'assistant').length + 1,
    goal: goal === undefined ? '' : messageText(goal).replace(/^Your task: /u, ''),
    system: systemText(prompt),
    messages: prompt,
    tools: (options.tools ?? []).map((tool) => tool.name),
    lastText: newest.map(messageText).join('\n'),
    toolResults: newest.flatMap(toolResults),
  };
};

const systemText = (prompt: LanguageModelV4Prompt): string =>
  prompt.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n');

/** User and tool messages after the last assistant message, ignoring assistant messages at the very end. */
const newestMessages = (prompt: LanguageModelV4Prompt): LanguageModelV4Message[] => {
  let end = prompt.length;
  while (end > 0 && prompt[end - 1]?.role === 'assistant') end--;
  const start = prompt.slice(0, end).findLastIndex((message) => message.role === 'assistant') + 1;
  return prompt.slice(start, end).filter((message) => message.role !== 'system');
};

const messageText = (message: LanguageModelV4Message): string => {
  if (message.role === 'system') return message.content;
  return message.content
    .flatMap((part) => (part.type === 'text' ? [part.text] : part.type === 'tool-result' ? [outputText(part)] : []))
    .join('\n');
};

const toolResults = (message: LanguageModelV4Message): ToolResultView[] =>
  message.role !== 'tool'
    ? []
    : message.content.flatMap((part) =>
        // A turn of a conversation that was cut off may have left results without an answer: they are not of this turn.
        part.type !== 'tool-result' || part.toolCallId.startsWith('earlier_')
          ? []
          : [{ tool: part.toolName, id: part.toolCallId, text: outputText(part), ok: isSuccess(part) }],
      );

const isSuccess = ({ output }: LanguageModelV4ToolResultPart): boolean =>
  output.type === 'text' || output.type === 'json' || output.type === 'content';

const outputText = ({ output }: LanguageModelV4ToolResultPart): string => {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason ?? '';
    case 'content':
      return output.value.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  }
};
