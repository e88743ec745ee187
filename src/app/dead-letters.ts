import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { DeadLetters, MailReport, Store } from '#contracts';
import { readRunMail } from '#core/events';
import { checkOptions } from '#base/shapes';

type DeadLetterQuery = { readonly run?: string; readonly runs?: number };

const runsDefault = 100;

/** Reads one log at a time, so that only one is in memory. */
export const deadLetters = async (store: Store, options: DeadLetterQuery): Promise<DeadLetters> => {
  checkOptions(options, { run: 'name', runs: 'any' });
  const { run, runs: runsMax = runsDefault } = options;
  if (!Number.isSafeInteger(runsMax) || runsMax < 1)
    throw new CloisterError('mail_invalid', `runs: expected a whole number ≥ 1; got ${String(runsMax)}.`);
  if (run !== undefined)
    return {
      letters: onlyDead(run as RunId, readRunMail(await store.read(run as RunId))),
      read: 1,
      unread: 0,
      damaged: [],
    };
  const all = await store.list();
  const damaged: RunId[] = [];
  const letters: DeadLetters['letters'][number][] = [];
  for (const one of all.slice(0, runsMax)) {
    try {
      letters.push(...onlyDead(one.run, readRunMail(await store.read(one.run))));
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      damaged.push(one.run);
    }
  }
  const read = Math.min(all.length, runsMax);
  return { letters, read: read - damaged.length, unread: all.length - read, damaged };
};

const onlyDead = (run: RunId, mail: readonly MailReport[]): DeadLetters['letters'] =>
  mail.filter(({ state }) => state === 'dead').map((letter) => ({ ...letter, run }));
