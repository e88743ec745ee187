// Estimates the length of the first prompt.
import { canonicalJson, utf8Bytes } from '#base';
import type { Agent, AgentRequest } from '#contracts';

/**
 * Assumes four bytes per token. Counts the agent's definition and what the client sent, but not the tools of the agent's MCP servers:
 * those are unknown until a session starts.
 */
export const estimateTokens = ({ definition }: Agent, request: AgentRequest): number => {
  const texts = [
    definition.prompt,
    definition.guidance,
    ...definition.tools.map(({ name, description, inputSchema }) => canonicalJson({ name, description, inputSchema })),
    ...(request.context ?? []),
    ...(request.history ?? []).map(({ text }) => text),
    typeof request.input === 'string' ? request.input : canonicalJson(request.input),
    ...(request.tools ?? []).map((tool) => canonicalJson(tool)),
    ...(request.schema === undefined ? [] : [canonicalJson(request.schema)]),
  ];
  return Math.ceil(texts.reduce((bytes, text) => bytes + utf8Bytes(text), 0) / bytesPerToken);
};

const bytesPerToken = 4;
