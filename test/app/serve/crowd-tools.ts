// A client of chat completions with a tool of its own: what it asks, and how it brings what the tool gave.
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

const asked = (word: string): Value => ({ role: 'user', content: question(word) });

export const askWithTool = (word: string): Value => ({ model: 'echo', messages: [asked(word)], tools: [lookUp] });

/** The word is the result of each. */
export const bringResults = (word: string, calls: readonly string[], found: string): Value => ({
  model: 'echo',
  tools: [lookUp],
  messages: [
    asked(word),
    {
      role: 'assistant',
      tool_calls: calls.map((id) => ({ id, type: 'function', function: { name: toolName, arguments: '{}' } })),
    },
    ...calls.map((id) => ({ role: 'tool', tool_call_id: id, content: question(found) })),
  ],
});

/** An id that could be one, and was given to nobody. */
export const neverCalled = `call_${'0123456789abcdef'.repeat(2)}`;
