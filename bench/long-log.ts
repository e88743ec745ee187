// Writes the log of one long run: a long-lived agent that is asked again and again, looks things up, and calls many short-lived helpers.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, ToolDefinition } from 'cloister';
import { fastModel, goals } from './models.ts';
import type { FastModel } from './models.ts';

const lookup: ToolDefinition = {
  name: 'lookup',
  description: 'Looks one thing up.',
  inputSchema: { type: 'object', properties: { term: { type: 'string' } }, required: ['term'] },
  execute: () => 'Forty-two (42) is the natural number that follows 41 and precedes 43.',
};

/** Does what the newest message says, whatever else is in view. */
const attentiveModel = (): FastModel => {
  const inner = fastModel();
  return {
    ...inner,
    doStream: (options) => inner.doStream({ ...options, prompt: sinceNewestMessage(options.prompt) }),
  };
};

const sinceNewestMessage = (prompt: LanguageModelV4Prompt): LanguageModelV4Prompt =>
  prompt.slice(prompt.findLastIndex(({ role }) => role === 'user'));

const most = 100_000_000;

/** The windows are small, so that what a model is shown stays the same. */
export const longLivedAgent = (): Agent => {
  const common = { description: 'Answers.', prompt: 'Answer.', models: [attentiveModel()], tools: [lookup] };
  const limits = { contextTokensMax: 6_000, maxOutputTokens: 1_000, maxTurns: most, maxSteps: most };
  return defineAgent({ ...common, name: 'desk', agents: [defineAgent({ ...common, name: 'helper' })], limits });
};

/** Two messages, and about how many frames they take. */
const lookups = { text: goals.lookups(4), frames: 22 };
const helpers = { text: goals.team({ turns: 1, lookups: 8, helpers: 24, turnsEach: 1 }), frames: 219 };

/** About so many frames; returns the id of the run. */
export const writeLongLog = async (workspace: string, frames: number): Promise<string> => {
  await using cloister = await openCloister({ workspace, agents: [longLivedAgent()] });
  const session = await cloister.spawn('desk');
  for (let written = 0, nth = 0; written < frames; nth++) {
    const { text, frames: more } = nth % 2 === 0 ? lookups : helpers;
    const { status } = await session.ask(text);
    if (status !== 'completed') throw new Error(`A message ended with status ${status}.`);
    written += more;
  }
  session.finish();
  await session.outcome;
  return session.run;
};
