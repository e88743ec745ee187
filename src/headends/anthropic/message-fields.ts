// How each field of a Messages request is handled. A field in none of these lists is refused as unknown.
import { CloisterError } from '#base';
import type { Json } from '#base';
import type { ClientRules } from '#contracts';
import { operatorHints } from '#headends/shared';
import type { BodyFields } from '#headends/shared';

/** Throws `request_invalid` for an unknown field, and `request_unsupported` for a known field that is not supported. */
export const checkMessageFields = (fields: BodyFields, { tools }: ClientRules, isForced: boolean): void => {
  fields.allowOnly([...parsedFields, ...ignoredFields, ...Object.keys(refusedFields), 'tools', 'tool_choice']);
  for (const [name, reason] of Object.entries(refusedFields))
    if (!isEmpty(fields.value[name])) fields.refuse(name, reason);
  // The client's only tool stands for a schema.
  if (isForced) return;
  if (!tools && !isEmpty(fields.value['tools'])) fields.refuse('tools', noClientTools);
  checkToolChoice(fields, tools);
};

const noClientTools = `the tools of an agent come from its definition; a request cannot add any. ${operatorHints.tools} To get JSON, send output_config.format.`;

/** Parsed in `parse-message.ts` and `parse-dialog.ts`. */
const parsedFields = [
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
 * Accepted without effect: settings of a provider's account, cache or capacity, and hints to a model. The agent's definition decides
 * on its models, their settings and what their windows hold.
 */
const ignoredFields = [
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

/** Refused, because a client that sends one of these relies on an effect that would not occur. An empty array asks for nothing. */
const refusedFields: Readonly<Record<string, string>> = {
  mcp_servers: 'the MCP servers of an agent come from its definition; a request cannot add any.',
  container: 'containers are not supported.',
  stop_sequences: 'stop sequences are not supported.',
  fallbacks: 'the models of an agent come from its definition.',
  fallback_credit_token: 'the models of an agent come from its definition.',
  compaction: 'an agent compacts its own window.',
  thread: 'threads are not supported; send earlier messages in `messages`.',
};

const isEmpty = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;

/** The agent chooses its tools itself, so only `auto` and `none` are accepted. */
const checkToolChoice = (fields: BodyFields, tools: boolean): void => {
  if (!fields.has('tool_choice')) return;
  const choice = fields.fields('tool_choice');
  const type = choice.text('type');
  if (type === 'auto' || type === 'none') return;
  const reason = tools ? 'an agent decides for itself which tools it calls.' : 'client tools are not allowed here.';
  throw new CloisterError('request_unsupported', `${choice.path('type')}: ${reason}`);
};
