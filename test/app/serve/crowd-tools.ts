// A chat completions client with a tool of its own: its question, and how it sends the tool's result.
import { question } from './crowd-requests.ts';
import type { Value } from './crowd-requests.ts';

export const toolName = 'look_up';

const lookUp = {
  type: 'function',
  function: {
    name: toolName,
    description: 'Looks a word up.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  },
};

const userMessage = (word: string): Value => ({ role: 'user', content: question(word) });

export const askWithTool = (word: string): Value => ({ model: 'echo', messages: [userMessage(word)], tools: [lookUp] });

/** `found` is the result of each call. */
export const resultsBody = (word: string, calls: readonly string[], found: string): Value => ({
  model: 'echo',
  tools: [lookUp],
  messages: [
    userMessage(word),
    {
      role: 'assistant',
      tool_calls: calls.map((id) => ({ id, type: 'function', function: { name: toolName, arguments: '{}' } })),
    },
    ...calls.map((id) => ({ role: 'tool', tool_call_id: id, content: question(found) })),
  ],
});

/** A well-formed id that was never issued. */
export const unknownCallId = 'q-0123456789ab-3';
