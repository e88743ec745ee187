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
    return (await Promise.race([import(pathToFileURL(path).href), neverEnding()])) as { default?: unknown };
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

/** Rejects when the process has nothing left to do: then the import waits for something that never comes. */
const neverEnding = (): Promise<never> =>
  new Promise((_resolve, reject) => {
    process.once('beforeExit', () => reject(new Error('its import never ends.')));
  });
