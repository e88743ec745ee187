// A refund desk: one agent decides and refunds, another looks up orders.
import { defineAgent } from 'cloister';
import type { Agent, ToolDefinition } from 'cloister';

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };

export const lookUp: ToolDefinition = {
  name: 'look_up',
  description: 'Return what is known about an order.',
  inputSchema: order,
  // It only reads, so it may run again after a crash.
  repeat: 'free',
  execute: ({ order: id }) => (id === 'A-17' ? 'A-17: a teapot, 40 euros, arrived broken.' : 'No such order.'),
};

export const refund: ToolDefinition = {
  name: 'refund',
  description: 'Refund the price of an order.',
  inputSchema: order,
  // It pays out money, so it must not run again after a crash.
  repeat: 'never',
  execute: ({ order: id }) => `${id as string} was refunded.`,
};

/** Tests pass other tools. */
export const deskWith = (tools: { readonly lookUp: ToolDefinition; readonly refund: ToolDefinition }): Agent => {
  const clerk = defineAgent({
    name: 'clerk',
    description: 'Looks up orders. Ask about one order.',
    prompt: 'You look up orders and say what happened to them, in one sentence.',
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
