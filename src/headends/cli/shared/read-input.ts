// Inputs of a run that are not arguments: the task from stdin, a schema and context from files, the default agent.
import type { Json, JsonObject } from '#base';
import type { CliWorld } from './cli-world.ts';
import { UsageError } from './errors.ts';

/** Without the final line break, which the shell or an editor added. */
export const readInput = async (world: CliWorld): Promise<string> => {
  const text = await world.stdin();
  if (text === null) throw new UsageError('missing input', 'pass it in quotes, redirect a file with <, or pipe it in');
  return text.replace(/\r?\n$/u, '');
};

/** `given`: the schema itself, or its file. */
export const readSchema = async (given: string, world: CliWorld): Promise<JsonObject> => {
  const isInline = given.trimStart().startsWith('{');
  const where = isInline ? '--schema' : `the schema in ${given}`;
  const text = isInline ? given : await readFile(given, world, { what: 'schema', option: '--schema' });
  const value = parseJson(text);
  if (value === undefined || value === null || typeof value !== 'object' || Array.isArray(value))
    throw new UsageError(`${where} is not a JSON object`, 'pass a JSON Schema such as {"type":"object"}');
  return value as JsonObject;
};

/** In the order of `paths`. */
export const readContext = async (paths: readonly string[], world: CliWorld): Promise<readonly string[]> => {
  const texts: string[] = [];
  for (const path of paths) texts.push(await readFile(path, world, { what: 'context', option: '--context' }));
  return texts;
};

const readFile = async (
  path: string,
  world: CliWorld,
  { what, option }: { readonly what: string; readonly option: string },
): Promise<string> => {
  try {
    return await world.readText(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`the ${what} in ${path} cannot be read: ${why}`, `check the path of ${option}`);
  }
};

const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

type RequestWithAgent = { readonly command: string; readonly agent: string | null; readonly config: string | null };

/** Throws a UsageError if the config sets no default agent either. */
export const withDefaultAgent = async <T extends RequestWithAgent>(
  request: T,
  { defaultAgent }: Pick<CliWorld, 'defaultAgent'>,
): Promise<T & { readonly agent: string }> => {
  const agent = request.agent ?? (await defaultAgent(request.config ?? undefined));
  if (agent !== null) return { ...request, agent };
  const example = request.command === 'run' ? 'cloister run <agent> "<input>"' : `cloister ${request.command} <agent>`;
  throw new UsageError("missing required argument 'agent'", `${example}, or set \`defaultAgent\` in .ai-agent.json`);
};
