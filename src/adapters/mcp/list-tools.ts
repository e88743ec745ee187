// The tools that a server offers, looked at before any model sees them.
import type { Tool } from '@modelcontextprotocol/client';
import { CloisterError, deepFreeze, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { ResolvedServer } from '#contracts';
import type { McpClientConnection } from './connection.ts';
import { descriptionCharsMax, listedToolsMax, schemaBytesMax, schemaDepthMax, shownCount, toolsMax } from './limits.ts';
import { nearestFirst } from './nearest-first.ts';
import { serverTitle } from './server.ts';

/** A tool as we offer it, and as the server has it. */
export type OfferedTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** The server says that calling it again changes nothing. */
  readonly harmless: boolean;
  readonly own: Tool;
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
  for await (const listed of listedBy(connection, signal, refuse)) {
    const name = nameOf(listed, refuse);
    if (seen.has(name)) throw refuse(`has two tools that are both called "${name}".`);
    seen.add(name);
    if (seen.size > listedToolsMax) throw refuse(`lists more than ${shownCount(listedToolsMax)} tools.`);
    if (wanted?.has(name) === false) continue;
    const tool = offered(listed, name, refuse);
    tools.push(tool);
    schemaBytes += Buffer.byteLength(JSON.stringify(tool.inputSchema));
    const much = tools.length > toolsMax ? `more than ${toolsMax} tools` : 'more than 1 MB of schemas';
    if (tools.length > toolsMax || schemaBytes > schemaBytesMax)
      throw refuse(`offers ${much}: name those that are needed in mcpServers.${server.name}.tools.`);
  }
  const missing = [...(wanted ?? [])].find((name) => !seen.has(name));
  if (missing !== undefined) throw refuse(`has no tool "${missing}". ${choice(missing, [...seen])}`);
  return tools;
};

type Refuse = (what: string) => CloisterError;

const listedBy = async function* (
  connection: McpClientConnection,
  signal: AbortSignal,
  refuse: Refuse,
): AsyncGenerator<unknown, void, undefined> {
  if (!connection.offersTools) return;
  const cursors = new Set<string>();
  for (let cursor: string | undefined; ;) {
    const page = await connection.listPage(cursor, signal);
    if (!isObject(page) || !Array.isArray(page['tools']))
      throw refuse('answered with something that is no list of tools.');
    yield* page['tools'] as unknown[];
    const next = page['nextCursor'];
    if (typeof next !== 'string' || next === '') return;
    if (cursors.has(next) || cursors.size > listedToolsMax) throw refuse('lists its tools without an end.');
    cursors.add(next);
    cursor = next;
  }
};

const nameOf = (listed: unknown, refuse: Refuse): string => {
  const name = isObject(listed) ? listed['name'] : undefined;
  if (typeof name !== 'string' || name === '') throw refuse('lists a tool that has no name.');
  return name.toWellFormed();
};

const offered = (listed: unknown, name: string, refuse: Refuse): OfferedTool => {
  const tool = listed as Record<string, unknown>;
  const schema = tool['inputSchema'];
  if (!isObject(schema) || schema['type'] !== 'object')
    throw refuse(`has a tool "${name}" whose input schema is not that of an object: name the others in \`tools\`.`);
  const { description, title } = tool;
  const words = [description, title].find((text) => typeof text === 'string' && text !== '') ?? '';
  const hints = isObject(tool['annotations']) ? tool['annotations'] : {};
  // Without its output schema: what it returns is text to us.
  const own = { name: tool['name'], inputSchema: schema } as Tool;
  return {
    name,
    description: shortened(words as string),
    inputSchema: deepFreeze(copyOf(schema as JsonObject, schemaDepthMax, name, refuse) as JsonObject),
    harmless: hints['readOnlyHint'] === true || hints['idempotentHint'] === true,
    own,
  };
};

/** A copy in which every string is well-formed. */
const copyOf = (value: Json | undefined, depth: number, name: string, refuse: Refuse): Json => {
  if (depth === 0) throw refuse(`has a tool "${name}" whose input schema is nested too deep.`);
  if (typeof value === 'string') return value.toWellFormed();
  if (value === null || value === undefined || typeof value !== 'object') return value ?? null;
  if (Array.isArray(value)) return value.map((item: Json) => copyOf(item, depth - 1, name, refuse));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), copyOf(item, depth - 1, name, refuse)]),
  );
};

const choice = (missing: string, names: readonly string[]): string => {
  if (names.length === 0) return 'It offers none.';
  const nearest = nearestFirst(missing, names);
  const rest = nearest.length > 20 ? `, and ${shownCount(nearest.length - 20)} more` : '';
  return `It offers: ${nearest.slice(0, 20).join(', ')}${rest}.`;
};

/** Cut between words: a cut word may be part of a secret that nobody would know again. */
const shortened = (text: string): string =>
  text.length <= descriptionCharsMax
    ? text.toWellFormed()
    : `${text.slice(0, descriptionCharsMax).replace(/\S+$/u, '').toWellFormed()}…`;
