// Loads agents from modules: the default export is a list of agents.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { CloisterError } from '#base';
import type { Agent } from '#contracts';
import { assertAgent } from '#core/orchestration';

/** `display`: the path to show in errors. */
export const loadModule = async (path: string, display: string): Promise<readonly Agent[]> => {
  const { default: exported } = await importModule(path, display);
  const list: unknown = Array.isArray(exported) ? exported : [exported];
  const agents = (list as readonly unknown[]).map((value, index) =>
    assertAgent(value, `${display}: default export, item ${index + 1}`),
  );
  if (agents.length === 0) throw new CloisterError('module_invalid', `${display}: the list is empty.`);
  return agents;
};

/** `path`: absolute path of a module that the operator provides. */
export const importModule = async (path: string, display = path): Promise<{ default?: unknown }> => {
  if (!existsSync(path)) throw new CloisterError('module_invalid', `No such file: ${display}.`);
  try {
    return (await rejectIfNeverSettled(import(pathToFileURL(path).href))) as { default?: unknown };
  } catch (error) {
    if (error instanceof CloisterError)
      throw new CloisterError(error.code, `${display}: ${error.failure.detail ?? error.message}`, { cause: error });
    const words = error instanceof Error ? error.message : String(error);
    const hint = /import statement outside a module|Unexpected token 'export'/u.test(words)
      ? ' Rename it to .mts, or set "type": "module" in package.json.'
      : '';
    throw new CloisterError('module_invalid', `${display}: ${words}${hint}`, {
      cause: error,
    });
  }
};

/** Rejects when the process has nothing left to do: the import would then wait forever. */
const rejectIfNeverSettled = async <T>(importing: Promise<T>): Promise<T> => {
  const { promise: never, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(new Error('the import never finishes.'));
  process.once('beforeExit', giveUp);
  try {
    return await Promise.race([importing, never]);
  } finally {
    process.off('beforeExit', giveUp);
  }
};
