// How long a first prompt would be, about.
import { canonicalJson, utf8Bytes } from '#base';
import type { Agent, AgentRequest } from '#contracts';

/**
 * Four bytes are taken for a token. What the agent's definition says and what the client sent is counted; the tools of its MCP
 * servers are not known before a session starts.
 */
export const estimateTokens = ({ definition }: Agent, asked: AgentRequest): number => {
  const texts = [
    definition.prompt,
    definition.guidance,
    ...definition.tools.map(({ name, description, inputSchema }) => canonicalJson({ name, description, inputSchema })),
    ...(asked.context ?? []),
    ...(asked.history ?? []).map(({ text }) => text),
    typeof asked.input === 'string' ? asked.input : canonicalJson(asked.input),
    ...(asked.tools ?? []).map((tool) => canonicalJson(tool)),
    ...(asked.schema === undefined ? [] : [canonicalJson(asked.schema)]),
  ];
  return Math.ceil(texts.reduce((bytes, text) => bytes + utf8Bytes(text), 0) / bytesPerToken);
};

const bytesPerToken = 4;
