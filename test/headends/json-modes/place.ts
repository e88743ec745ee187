// An agent whose model writes prose around its JSON, for clients that want JSON in their own ways.
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Rehearsal } from 'cloister/testkit';
import { z } from 'zod';
import { serveAgents } from '../http/driver.ts';
import type { ServedAgents } from '../http/driver.ts';

export const place = z.object({ city: z.string(), people: z.int() });
export const lisbon = { city: 'Lisbon', people: 545_796 };
export const placeSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
} as const;
export const question = 'Where is Lisbon? Answer in JSON.';

const written = 'Here you are:\n```json\n{ "city": "Lisbon",\n  "people": 545796 }\n```\nAnything else?';

export type ServedPlace = ServedAgents & { readonly model: Rehearsal };

/** Served as by default: no client tools, no system prompts. `guide` answers in text, `atlas` in JSON of its own. */
export const servePlace = async (): Promise<ServedPlace> => {
  const model = rehearse([{ reply: () => ({ pieces: written.split(/(?<= )/u) }) }]);
  const agent = (name: string, more: object = {}): Agent =>
    defineAgent({ name, description: `It is ${name}.`, prompt: `You are ${name}.`, models: [model], ...more });
  const agents = [agent('guide'), agent('atlas', { output: { format: 'json', schema: placeSchema } })];
  return { ...(await serveAgents({ agents })), model };
};
