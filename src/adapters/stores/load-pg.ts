// The driver of PostgreSQL, an optional package that is loaded only when it is needed.
import type { Client } from 'pg';
import { CloisterError } from '#base';

/** What is used of it. */
export type Pg = typeof Client;

/** Not its main file, which also loads what reads the environment and pools of its own. */
const clientFile: string = 'pg/lib/client.js';

/** `load`: for tests. Throws `options_invalid`. */
export const loadPg = async (
  load = async (): Promise<Pg> => ((await import(clientFile)) as { readonly default: Pg }).default,
): Promise<Pg> => {
  try {
    return await load();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    throw new CloisterError(
      'options_invalid',
      isMissing
        ? 'store: the package pg is not installed. Run `npm install pg` in this project.'
        : `store: the package pg cannot be loaded: ${String(error)}`,
      { cause: error },
    );
  }
};
