// A refund desk: one agent decides and refunds, another looks orders up.
import { defineAgent } from 'cloister';
import type { Agent, ToolDefinition } from 'cloister';

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };

export const lookUp: ToolDefinition = {
  name: 'look_up',
  description: 'Tells what is known of an order.',
  inputSchema: order,
  // It only reads: after a crash it may run again.
  repeat: 'free',
  execute: ({ order: id }) => (id === 'A-17' ? 'A-17: a teapot, 40 euros, arrived broken.' : 'No such order.'),
};

export const refund: ToolDefinition = {
  name: 'refund',
  description: 'Pays the price of an order back.',
  inputSchema: order,
  // It pays: after a crash nobody runs it a second time.
  repeat: 'never',
  execute: ({ order: id }) => `${id as string} was refunded.`,
};

/** With other tools in tests. */
export const deskWith = (tools: { readonly lookUp: ToolDefinition; readonly refund: ToolDefinition }): Agent => {
  const clerk = defineAgent({
    name: 'clerk',
    description: 'Looks orders up. Ask about one order.',
    prompt: 'You look orders up and say what happened to them, in one sentence.',
    tools: [tools.lookUp],
  });
  return defineAgent({
    name: 'desk',
    description: 'Decides about refunds.',
    prompt: 'You decide about refunds. Ask the clerk first. Refund what arrived broken.',
    agents: [clerk],
    tools: [tools.refund, 'write_file'],
  });
};

export default [deskWith({ lookUp, refund })];
