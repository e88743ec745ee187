// The engine that a command names.
import { openPgBoss, parseRestateAddress, RestateEngine, StoreEngine } from '#adapters/engines';
import { CloisterError } from '#base';
import type { Cloister, RunEngine } from '#contracts';
import { systemClock } from './system-world.ts';

/** Throws `engine_failed` for an engine that nobody knows, or whose package is missing. */
export const openEngine = async (
  engine: string,
  { driver }: Pick<Cloister, 'driver'>,
  report: (error: unknown) => void = () => undefined,
): Promise<RunEngine> => {
  if (engine === 'none') return new StoreEngine({ driver, clock: systemClock });
  if (engine.startsWith('restate:')) return new RestateEngine(parseRestateAddress(engine));
  const database = /^pg-boss:(postgres(?:ql)?:\/\/.+)$/u.exec(engine)?.[1];
  if (database !== undefined) return openPgBoss(database, report);
  throw new CloisterError('engine_failed', 'Expected `none`, `restate://host:port` or `pg-boss:postgres://…`.');
};
