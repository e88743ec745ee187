// What `serve` prints first: addresses and examples.
import { isObject, parseStrictJson } from '#base';
import type { Json, JsonObject } from '#base';
import { plural } from '#headends/run-view';
import type { Paint } from './shared/output.ts';
import type { ServerBanner } from './shared/cli-world.ts';
import { studioLink } from './shared/run-server.ts';
import { shellWord } from './shared/next-commands.ts';
import { sanitizeLine, safeJson } from './shared/sanitize-text.ts';

export const bannerLines = (served: ServerBanner, paint: Paint): readonly string[] => [
  ...addressLines(served, paint),
  ...(served.url === null ? [] : [...tokenLines(served, paint), ...exampleLines(served, served.url)]),
];

const addressLines = ({ url, stdio, slack, agents }: ServerBanner, paint: Paint): readonly string[] => {
  const where = [
    ...(url === null ? [] : [`at ${paint('bold', url)}`]),
    ...(stdio ? ['over MCP on stdin and stdout'] : []),
  ];
  const widest = Math.max(...agents.map(({ name }) => name.length));
  return [
    `Serving ${plural(agents.length, 'agent')} ${where.join(' and ')}`,
    ...agents.map(({ name, description }) => `  ${name.padEnd(widest)}  ${paint('dim', sanitizeLine(description))}`),
    ...(slack === undefined ? [] : [slackLine(slack)]),
  ];
};

const slackLine = ({ workspace, transport }: NonNullable<ServerBanner['slack']>): string =>
  workspace === null
    ? 'Slack cannot be reached yet; trying again'
    : `Connected to the Slack workspace ${sanitizeLine(workspace)} over ${transport === 'socket' ? 'Socket Mode' : 'HTTP'}`;

const tokenLines = ({ token }: ServerBanner, paint: Paint): readonly string[] =>
  token === null ? [] : ['', 'Token (shown only once):', `  export CLOISTER_TOKEN=${paint('bold', token)}`];

const exampleLines = ({ agents, token }: ServerBanner, url: string): readonly string[] => [
  '',
  'Try it:',
  ...agents.map((agent) => `  ${curlFor(agent, url)}`),
  '',
  `OpenAI     ${url}/v1  (model: ${agents[0]?.name ?? ''})`,
  `Anthropic  ${url}`,
  `MCP        ${url}/mcp  ${url}/mcp/sse  ${url.replace(/^http/u, 'ws')}/mcp/ws`,
  `REST       ${url}/openapi.json`,
  `Studio     ${studioLink(url, token)}`,
];

/** A line to paste. */
const curlFor = ({ name, usage, signature: { input } }: ServerBanner['agents'][number], url: string): string => {
  const token = '-H "authorization: Bearer $CLOISTER_TOKEN"';
  const asked = sanitizeLine(usage);
  if (input.format !== 'json')
    return `curl -G ${token} ${url}/v1/${name} --data-urlencode ${shellWord(`q=${asked === '' ? 'Hello' : asked}`)}`;
  const body = `{"input":${isJsonObject(asked) ? asked : safeJson(inputSkeleton(input.schema ?? {}))}}`;
  return `curl ${token} -H 'content-type: application/json' ${url}/v1/${name} -d ${shellWord(body)}`;
};

const isJsonObject = (text: string): boolean => {
  const parsed = parseStrictJson(text, 64);
  return text.startsWith('{') && 'value' in parsed;
};

const depthMax = 8;

/** An example input: every required property of the schema, with a placeholder of the right type. */
const inputSkeleton = (schema: JsonObject): JsonObject => {
  const value = valueFor(schema, 0);
  return isObject(value) ? value : {};
};

const valueFor = (schema: Json | undefined, depth: number): Json => {
  if (!isObject(schema) || depth > depthMax) return 'text';
  const { const: only, default: usual, enum: choices, examples } = schema;
  const given = only ?? usual ?? firstOf(examples) ?? firstOf(choices);
  if (given !== undefined) return given;
  switch (firstOf(schema['type']) ?? schema['type'] ?? ('properties' in schema ? 'object' : 'string')) {
    case 'object':
      return objectFor(schema, depth);
    case 'array':
      return Number(schema['minItems'] ?? 0) > 0 ? [valueFor(schema['items'], depth + 1)] : [];
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 'text';
  }
};

const objectFor = ({ properties, required }: JsonObject, depth: number): JsonObject => {
  const known = isObject(properties) ? properties : {};
  const names = Array.isArray(required) ? required.map(String) : [];
  return Object.fromEntries(names.map((name) => [name, valueFor(known[name], depth + 1)]));
};

const firstOf = (list: Json | undefined): Json | undefined => (Array.isArray(list) ? (list[0] as Json) : undefined);
