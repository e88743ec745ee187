// A shop desk: the clerk looks up orders, the desk answers customers.
import { defineAgent, defineTool } from 'cloister';
import type { AgentOptions } from 'cloister';

type Order = { readonly goods: string; readonly state: string };
const orders: Readonly<Record<string, Order>> = {
  'A-17': { goods: 'a teapot', state: 'left the warehouse on Monday' },
};

/** `execute` gets its types from the schema. `repeat: 'free'`: after a crash it may run again, because it only reads. */
export const lookUp = defineTool({
  name: 'look_up',
  description: 'Return what is known about an order.',
  inputSchema: {
    type: 'object',
    properties: { order: { type: 'string', pattern: '^[A-Z]-[0-9]+$' } },
    required: ['order'],
    additionalProperties: false,
  },
  repeat: 'free',
  execute: ({ order }) => orders[order] ?? 'No such order.',
});

/** Tests pass a scripted model. Names of models stand for what `.ai-agent.json` or the environment says about them. */
export const deskWith = (models: AgentOptions['models'] = ['openai/gpt-5-mini']) => {
  const clerk = defineAgent({
    name: 'clerk',
    description: 'Looks up orders. Ask about one order.',
    prompt: 'You look up orders and say in one sentence what happened to them.',
    tools: [lookUp],
    models,
  });
  return defineAgent({
    name: 'desk',
    description: 'Answers customers.',
    prompt: 'You answer customers of a shop. Ask the clerk about orders; it sees only what you send.',
    agents: [clerk],
    models,
    budget: { tokens: 50_000 },
  });
};

export default [deskWith()];
