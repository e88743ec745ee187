// What becomes of each field of a request for a message. Whatever is in none of these lists is refused as unknown.
import { CloisterError } from '#base';
import type { Json } from '#base';
import type { ClientRules } from '#contracts';
import { mayAllow } from '#headends/shared';
import type { BodyFields } from '#headends/shared';

/** Throws `request_invalid` for what is unknown, `request_unsupported` for what is known and not offered. */
export const checkMessageFields = (fields: BodyFields, { tools }: ClientRules): void => {
  fields.only([...mapped, ...harmless, ...Object.keys(refused), 'tools', 'tool_choice']);
  for (const [name, words] of Object.entries(refused)) if (!isEmpty(fields.value[name])) fields.refuse(name, words);
  if (!tools && !isEmpty(fields.value['tools'])) fields.refuse('tools', toolsAreOwn);
  checkToolChoice(fields, tools);
};

const toolsAreOwn = `an agent's tools are its definition's; a request cannot add any. ${mayAllow.tools} For an answer as JSON, send output_config.format.`;

/** They are read elsewhere. */
const mapped = [
  'model',
  'messages',
  'system',
  'max_tokens',
  'stream',
  'thinking',
  'output_config',
  'output_format',
] as const;

/**
 * Accepted, and without effect: what a provider's account, cache or capacity is told, and hints to a model. An agent's models,
 * their settings and what their windows hold are its definition's.
 */
const harmless = [
  'metadata',
  'cache_control',
  'context_management',
  'diagnostics',
  'inference_geo',
  'service_tier',
  'speed',
  'temperature',
  'top_k',
  'top_p',
] as const;

/** A client that sends these counts on something that would not happen. An empty list asks for nothing. */
const refused: Readonly<Record<string, string>> = {
  mcp_servers: "an agent's MCP servers are its definition's; a request cannot add any.",
  container: 'there are no containers here.',
  stop_sequences: 'an agent itself decides where its answer ends.',
  fallbacks: "an agent's models are its definition's.",
  fallback_credit_token: "an agent's models are its definition's.",
  compaction: 'an agent makes room in its window by itself.',
  thread: 'what was said before is told in messages.',
};

const isEmpty = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;

/** An agent chooses by itself, so what may choose none is harmless. */
const checkToolChoice = (fields: BodyFields, tools: boolean): void => {
  if (!fields.has('tool_choice')) return;
  const choice = fields.fields('tool_choice');
  const type = choice.text('type');
  if (type === 'auto' || type === 'none') return;
  const words = tools ? 'an agent itself decides which tools it calls.' : "a client's tools are not called here.";
  throw new CloisterError('request_unsupported', `${choice.path('type')}: ${words}`);
};
