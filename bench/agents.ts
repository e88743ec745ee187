// The same agents for both loops, the raw one and Cloister's, over one model.
import { defineAgent } from 'cloister';
import type { Agent, Limits, ToolDefinition } from 'cloister';
import type { FastModel } from './models.ts';
import { goals } from './models.ts';
import { runRaw } from './raw-loop.ts';
import type { RawAgent } from './raw-loop.ts';

const prompt = 'You answer questions. Look things up before you answer, be brief, and say what you do not know.';
const description = 'Looks one thing up and answers in one line.';
const found = 'Forty-two (42) is the natural number that follows 41 and precedes 43.';

const lookup: ToolDefinition = {
  name: 'lookup',
  description,
  inputSchema: { type: 'object', properties: { term: { type: 'string' } }, required: ['term'] },
  execute: () => found,
};

/** One agent with one tool. */
export const toolAgent = (model: FastModel, limits: Limits = {}): Agent =>
  defineAgent({ name: 'solo', description, prompt, models: [model], tools: [lookup], limits });

export const rawToolAgent = (model: FastModel): RawAgent => ({
  model,
  system: prompt,
  tools: [{ type: 'function', name: 'lookup', description, inputSchema: { type: 'object' } }],
  execute: () => found,
});

/** One agent without tools. */
export const plainAgent = (model: FastModel): Agent =>
  defineAgent({ name: 'helper', description, prompt, models: [model] });

export const rawPlainAgent = (model: FastModel): RawAgent => ({ model, system: prompt, tools: [], execute: () => '' });

/** A parent whose tool is the plain agent. */
export const parentAgent = (model: FastModel, limits: Limits): Agent =>
  defineAgent({ name: 'parent', description, prompt, models: [model], agents: [plainAgent(model)], limits });

/** A lead that looks things up and calls helpers that look things up themselves. */
export const teamAgent = (model: FastModel, limits: Limits, define = defineAgent): Agent => {
  const common = { description, prompt, models: [model], tools: [lookup] };
  return define({ ...common, name: 'lead', agents: [define({ ...common, name: 'helper' })], limits });
};

export const rawParentAgent = (model: FastModel): RawAgent => {
  const child = rawPlainAgent(model);
  return {
    model,
    system: prompt,
    tools: [{ type: 'function', name: 'helper', description, inputSchema: { type: 'object' } }],
    execute: (_name, args) => runRaw(child, args['prompt'] ?? goals.answer),
  };
};
