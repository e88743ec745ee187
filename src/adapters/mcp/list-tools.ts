// Lists the tools of a server and validates them before any model sees them.
import type { Tool } from '@modelcontextprotocol/client';
import { CloisterError, deepFreeze, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { ResolvedServer } from '#contracts';
import type { McpClientConnection } from './connection.ts';
import {
  descriptionCharsMax,
  listedToolsMax,
  schemaBytesMax,
  schemaDepthMax,
  formatCount,
  toolsMax,
} from './limits.ts';
import { serverTitle } from './server.ts';

/** A tool as offered to models, with the server's own definition. */
export type OfferedTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** The server declares that repeating a call changes nothing. */
  readonly isRepeatable: boolean;
  /** By its hints, or because it has none: the protocol's defaults are `readOnlyHint: false` and `destructiveHint: true`. */
  readonly isDestructive: boolean;
  readonly serverTool: Tool;
};

export const listServerTools = async (
  server: ResolvedServer,
  connection: McpClientConnection,
  signal: AbortSignal,
): Promise<readonly OfferedTool[]> => {
  const refuse = (what: string): CloisterError => new CloisterError('server_tools', `${serverTitle(server)} ${what}`);
  const wanted = server.tools === undefined ? undefined : new Set(server.tools);
  const seen = new Set<string>();
  const tools: OfferedTool[] = [];
  let schemaBytes = 0;
  for await (const listed of listAllTools(connection, signal, refuse)) {
    const name = requireName(listed, refuse);
    if (seen.has(name)) throw refuse(`lists two tools named "${name}".`);
    seen.add(name);
    if (seen.size > listedToolsMax) throw refuse(`lists more than ${formatCount(listedToolsMax)} tools.`);
    if (wanted?.has(name) === false) continue;
    const tool = toOfferedTool(listed, name, refuse);
    tools.push(tool);
    schemaBytes += Buffer.byteLength(JSON.stringify(tool.inputSchema));
    const excess = tools.length > toolsMax ? `more than ${toolsMax} tools` : 'more than 1 MB of schemas';
    if (tools.length > toolsMax || schemaBytes > schemaBytesMax)
      throw refuse(`offers ${excess}; list the ones you need in mcpServers.${server.name}.tools.`);
  }
  const missing = [...(wanted ?? [])].find((name) => !seen.has(name));
  if (missing !== undefined) throw refuse(`has no tool "${missing}". ${describeOffer(missing, [...seen])}`);
  return tools;
};

type Refuse = (what: string) => CloisterError;

const listAllTools = async function* (
  connection: McpClientConnection,
  signal: AbortSignal,
  refuse: Refuse,
): AsyncGenerator<unknown, void, undefined> {
  if (!connection.offersTools) return;
  const cursors = new Set<string>();
  for (let cursor: string | undefined; ;) {
    const page = await connection.listPage(cursor, signal);
    if (!isObject(page) || !Array.isArray(page['tools'])) throw refuse('returned an invalid tool list.');
    yield* page['tools'] as unknown[];
    const next = page['nextCursor'];
    if (typeof next !== 'string' || next === '') return;
    if (cursors.has(next) || cursors.size > listedToolsMax) throw refuse('returned an endless tool list.');
    cursors.add(next);
    cursor = next;
  }
};

const requireName = (listed: unknown, refuse: Refuse): string => {
  const name = isObject(listed) ? listed['name'] : undefined;
  if (typeof name !== 'string' || name === '') throw refuse('lists a tool without a name.');
  return name.toWellFormed();
};

const toOfferedTool = (listed: unknown, name: string, refuse: Refuse): OfferedTool => {
  const tool = listed as Record<string, unknown>;
  const schema = tool['inputSchema'];
  if (!isObject(schema) || schema['type'] !== 'object')
    throw refuse(
      `has a tool "${name}" whose input schema does not describe an object; list the other tools in \`tools\`.`,
    );
  const { description, title } = tool;
  const text = [description, title].find((one) => typeof one === 'string' && one !== '') ?? '';
  const hints = isObject(tool['annotations']) ? tool['annotations'] : {};
  // Without the output schema: results are treated as text.
  const serverTool = { name: tool['name'], inputSchema: schema } as Tool;
  return {
    name,
    description: shortenDescription(text as string),
    inputSchema: deepFreeze(copyWellFormed(schema as JsonObject, schemaDepthMax, name, refuse) as JsonObject),
    isRepeatable: hints['readOnlyHint'] === true || hints['idempotentHint'] === true,
    isDestructive:
      hints['destructiveHint'] === true || (hints['readOnlyHint'] !== true && hints['destructiveHint'] !== false),
    serverTool,
  };
};

/** Copies a schema and makes every string well-formed. */
const copyWellFormed = (value: Json | undefined, depth: number, name: string, refuse: Refuse): Json => {
  if (depth === 0) throw refuse(`has a tool "${name}" whose input schema is nested too deeply.`);
  if (typeof value === 'string') return value.toWellFormed();
  if (value === null || value === undefined || typeof value !== 'object') return value ?? null;
  if (Array.isArray(value)) return value.map((item: Json) => copyWellFormed(item, depth - 1, name, refuse));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), copyWellFormed(item, depth - 1, name, refuse)]),
  );
};

const describeOffer = (missing: string, names: readonly string[]): string => {
  if (names.length === 0) return 'It offers no tools.';
  const nearest = sortBySimilarity(missing, names);
  const rest = nearest.length > 20 ? `, and ${formatCount(nearest.length - 20)} more` : '';
  return `It offers: ${nearest.slice(0, 20).join(', ')}${rest}.`;
};

/** Cuts between words: part of a word may be part of a secret that could no longer be recognised. */
const shortenDescription = (text: string): string =>
  text.length <= descriptionCharsMax
    ? text.toWellFormed()
    : `${text.slice(0, descriptionCharsMax).replace(/\S+$/u, '').toWellFormed()}…`;

/** Sorts names by similarity to `target`, most similar first, measured by common letter pairs. */
const sortBySimilarity = (target: string, names: readonly string[]): readonly string[] => {
  const pairs = letterPairs(target);
  const similarityOf = (name: string): number => {
    const own = letterPairs(name);
    return (2 * [...own].filter((pair) => pairs.has(pair)).length) / (own.size + pairs.size);
  };
  return names
    .map((name) => ({ name, like: similarityOf(name) }))
    .sort((one, other) => other.like - one.like)
    .map(({ name }) => name);
};

const letterPairs = (name: string): ReadonlySet<string> => {
  const letters = `^${name.toLowerCase()}$`;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
};
