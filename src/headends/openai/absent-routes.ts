// Addresses of OpenAI's API that clients ask for and that agents cannot serve. They say so, instead of being taken for agents.
import { CloisterError } from '#base';
import type { PlainRoute } from '#contracts';
import { openaiError } from './openai-error.ts';

const reasons = {
  completions:
    'completions of a bare prompt are not offered, because agents answer messages: use /v1/chat/completions.',
  embeddings: 'agents answer in text, so there are no embeddings: use a provider of embeddings for these.',
  moderations: 'agents answer in text, so there is no moderation.',
  'images/generations': 'agents answer in text, so there are no images.',
  'audio/speech': 'agents answer in text, so there is no speech.',
} as const;

export const absentRoutes: readonly PlainRoute[] = Object.entries(reasons).map(([name, reason]) => ({
  method: 'POST',
  path: `/v1/${name}`,
  formatError: openaiError,
  answer: async () => {
    throw new CloisterError('request_unsupported', `/v1/${name}: ${reason}`);
  },
}));
