// OpenRouter, through its Chat Completions API.
import { compatibleModel, withOneSystemMessage } from './openai-compatible.ts';
import { extractReasoningDetails, restoreReasoningDetails } from './reasoning-details.ts';
import type { Vendor } from './vendor.ts';

export const openrouter: Vendor = {
  priceList: 'openrouter',
  connect: async (connection) => ({
    model: await compatibleModel(connection, 'openrouter'),
    prepare: (call) => restoreReasoningDetails(withOneSystemMessage(call)),
    transformStream: extractReasoningDetails,
  }),
};
