// The agents to verify, and the user's settings.
import type { Json, JsonObject } from '#base';
import type { Agent, Model, ModelFacts } from '#contracts';

export type Subject = {
  /** The root agent; all agents below it are verified too. */
  readonly agent: Agent;
  /** The goal of the root; by default, one is drawn. */
  readonly input?: string | JsonObject;
  /** Run the agents' own tools and tool sources instead of stand-ins, to find state that they share. */
  readonly realTools?: boolean;
  /** What the config says about a named model; without this, nothing is known about it. */
  factsOf?(agent: Agent, model: string): ModelFacts;
  /** The tools that the config lists for a server; null if only the server could list them. */
  toolsOf?(agent: Agent, server: string): readonly string[] | null;
  readonly environment?: Environment;
  /** What cannot be checked, for the report. */
  readonly notes?: readonly string[];
};

/** What the operator's config passes to providers and servers, computed by the production code. */
export type Environment = {
  /** The variables that an agent's providers and servers use, each with the place where it is defined. */
  variablesOf(agent: Agent): readonly string[];
  /** Everything that they get if the variables have these values. */
  fill(agent: Agent, valueOf: (slot: string) => string): Json;
};

/** A tool as its stand-in lists it. */
export type StandInTool = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };

export type TestModelFacts = Omit<Model, 'language'> & { readonly provider: string; readonly modelId: string };
