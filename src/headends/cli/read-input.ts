// What a run is given besides its arguments: an input from stdin, a schema and context from files.
import type { Json, JsonObject } from '#base';
import type { CliWorld } from './cli-world.ts';
import { UsageError } from './usage-error.ts';

/** Without the line break at its end, which the shell or an editor put there. */
export const readInput = async (world: CliWorld): Promise<string> => {
  const text = await world.stdin();
  if (text === null)
    throw new UsageError('an input is missing', 'give it in quotes, from a file with <, or through a pipe');
  return text.replace(/\r?\n$/u, '');
};

/** `given`: the schema itself, or the file it is in. */
export const readSchema = async (given: string, world: CliWorld): Promise<JsonObject> => {
  const isInline = given.trimStart().startsWith('{');
  const where = isInline ? '--schema' : `the schema in ${given}`;
  const text = isInline ? given : await readFile(given, world, { what: 'schema', option: '--schema' });
  const value = parsed(text);
  if (value === undefined || value === null || typeof value !== 'object' || Array.isArray(value))
    throw new UsageError(`${where} is not a JSON object`, 'give a JSON Schema such as {"type":"object"}');
  return value as JsonObject;
};

/** In the order in which the files are given. */
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

const parsed = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};
