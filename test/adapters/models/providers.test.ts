import { conformModel } from '../../conformance/model.ts';
import type { Abilities } from '../../conformance/model.ts';
import { openModel, providers } from './peer.ts';

const abilities: Record<keyof typeof providers, Abilities> = {
  'OpenAI responses': { reasoning: 'signed', cacheWrite: true },
  // This API never returns the model's reasoning.
  'OpenAI chat': { reasoning: 'none', cacheWrite: true },
  Anthropic: { reasoning: 'signed', cacheWrite: true },
  Google: { reasoning: 'signed', cacheWrite: false },
  OpenRouter: { reasoning: 'signed', cacheWrite: false },
  Ollama: { reasoning: 'text', cacheWrite: false },
  'OpenAI-compatible': { reasoning: 'text', cacheWrite: false },
};

for (const [name, provider] of Object.entries(providers))
  conformModel(name, (answers) => openModel(provider, answers), abilities[name as keyof typeof providers]);
