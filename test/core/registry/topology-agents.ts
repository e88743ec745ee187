// Agents for the topology tests, with the fields that matter to a case.
import type { TopologyAgent } from '#contracts';

type Server = TopologyAgent['servers'][number];
type Model = TopologyAgent['models'][number];

export const model = (over: Partial<Model> = {}): Model => ({
  name: 'test/model',
  price: { input: 1, output: 2 },
  contextTokens: 1_000,
  maxOutputTokens: 100,
  variables: [],
  ...over,
});

export const server = (name: string, over: Partial<Server> = {}): Server => ({
  name,
  variables: [],
  untrustedText: false,
  ...over,
});

/** An agent that refers to these others and gets no warning. */
export const agent = (
  name: string,
  agents: readonly string[] = [],
  over: Partial<TopologyAgent> = {},
): TopologyAgent => ({
  file: fileOf(name),
  name,
  toolName: name,
  description: `Finds out what there is to know about ${name}.`,
  agents: agents.map(fileOf),
  limits: {},
  budget: {},
  thinkingTokens: 0,
  models: [model()],
  tools: [],
  servers: [],
  explicit: { tools: true, timeout: true },
  ...over,
});

export const fileOf = (name: string): string => `/team/${name}.ai`;
