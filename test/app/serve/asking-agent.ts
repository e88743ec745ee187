// Agents that ask people before they send, for servers in tests.
import { defineAgent } from 'cloister';
import type { Agent, AgentShortForms } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { ApprovalMark } from '#contracts';

export type AskingAgent = {
  readonly agent: Agent;
  /** To whom something was sent. */
  readonly sent: string[];
};

const toSchema = {
  type: 'object',
  properties: { to: { type: 'string' } },
  required: ['to'],
  additionalProperties: false,
};

/**
 * Sends to each name of its goal, in one turn, and then says what became of it. A goal with a question mark is asked of a person; one
 * that begins with "Say" is answered at once.
 */
export const askingAgent = (mark: ApprovalMark = {}, more: Partial<AgentShortForms> = {}): AskingAgent => {
  const sent: string[] = [];
  const model = rehearse([
    {
      reply: ({ goal, toolResults }) => {
        if (toolResults.length > 0) return `Results: ${toolResults.map(({ text }) => text).join(' | ')}`;
        if (goal.startsWith('Say')) return `Said: ${goal}`;
        if (goal.includes('?')) return { calls: [{ tool: 'ask_person', args: { question: goal } }] };
        return { text: 'I will send.', calls: goal.split(' ').map((to) => ({ tool: 'send', args: { to } })) };
      },
    },
  ]);
  const agent = defineAgent({
    name: 'lead',
    description: 'Sends.',
    prompt: 'Send.',
    models: [model],
    asks: true,
    tools: [
      {
        name: 'send',
        description: 'Sends.',
        inputSchema: toSchema,
        execute: ({ to }) => {
          sent.push(to as string);
          return `sent to ${to as string}`;
        },
      },
    ],
    approve: { send: mark },
    ...more,
  });
  return { agent, sent };
};
