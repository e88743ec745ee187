// What is verified, and what a person may say about how.
import type { Json, JsonObject } from '#base';
import type { Agent, Model, ModelFacts } from '#contracts';

export type Subject = {
  /** It and all below it. */
  readonly agent: Agent;
  /** What the root is asked; default: something drawn. */
  readonly input?: string | JsonObject;
  /** Run the agents' own tools and tool sources instead of stand-ins: to find state that they share. */
  readonly realTools?: boolean;
  /** What config says of a model that is named; without it, nothing is known of it. */
  factsOf?(agent: Agent, model: string): ModelFacts;
  /** The tools that config lists for a server; null when only the server could say. */
  toolsOf?(agent: Agent, server: string): readonly string[] | null;
  readonly environment?: Environment;
  /** What cannot be looked at, in words. */
  readonly notes?: readonly string[];
};

/** What the operator's config tells providers and servers, by the code that tells it in earnest. */
export type Environment = {
  /** The variables that an agent's providers and servers name, each with the place it is defined in. */
  slotsOf(agent: Agent): readonly string[];
  /** Everything that they are told when each variable has this value. */
  fill(agent: Agent, valueOf: (slot: string) => string): Json;
};

/** A tool as its stand-in shows it. */
export type ShownTool = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };

export type PlayedModel = Omit<Model, 'language'> & { readonly provider: string; readonly modelId: string };
