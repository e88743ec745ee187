// Agents from modules: the default export is a list of agents.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { CloisterError } from '#base';
import type { Agent } from '#contracts';
import { assertAgent } from '#core/orchestration';

/** `shown`: the path as people read it. */
export const loadModule = async (path: string, shown: string): Promise<readonly Agent[]> => {
  const { default: exported } = await importModule(path, shown);
  const list: unknown = Array.isArray(exported) ? exported : [exported];
  const agents = (list as readonly unknown[]).map((value, index) =>
    assertAgent(value, `${shown}: default export, item ${index + 1}`),
  );
  if (agents.length === 0) throw new CloisterError('module_invalid', `${shown}: the list is empty.`);
  return agents;
};

/** An absolute path to a module of the operator's. */
export const importModule = async (path: string, shown = path): Promise<{ default?: unknown }> => {
  if (!existsSync(path)) throw new CloisterError('module_invalid', `There is no file ${shown}.`);
  try {
    return (await ending(import(pathToFileURL(path).href))) as { default?: unknown };
  } catch (error) {
    if (error instanceof CloisterError)
      throw new CloisterError(error.code, `${shown}: ${error.failure.detail ?? error.message}`, { cause: error });
    const words = error instanceof Error ? error.message : String(error);
    const hint = /import statement outside a module|Unexpected token 'export'/u.test(words)
      ? ' Name it .mts, or put "type": "module" into package.json.'
      : '';
    throw new CloisterError('module_invalid', `${shown}: ${words}${hint}`, {
      cause: error,
    });
  }
};

/** Rejects when the process has nothing left to do while this waits: then it waits for something that never comes. */
const ending = async <T>(importing: Promise<T>): Promise<T> => {
  const { promise: never, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(new Error('its import never ends.'));
  process.once('beforeExit', giveUp);
  try {
    return await Promise.race([importing, never]);
  } finally {
    process.off('beforeExit', giveUp);
  }
};
