import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { DeadLetters, MailReport, Store } from '#contracts';
import { mailIn } from '#core/audit';
import { checkOptions } from './conversations/check-options.ts';

export type DeadLetterQuery = { readonly run?: string; readonly runs?: number };

const runsDefault = 100;

/** One log after the other, so that no more than one is in memory. */
export const deadLetters = async (store: Store, options: DeadLetterQuery): Promise<DeadLetters> => {
  checkOptions(options, { run: 'name', runs: 'any' });
  const { run, runs: most = runsDefault } = options;
  if (!Number.isSafeInteger(most) || most < 1)
    throw new CloisterError('mail_invalid', `runs: expected a whole number from 1 on; got ${String(most)}.`);
  if (run !== undefined)
    return { letters: deadOf(run as RunId, mailIn(await store.read(run as RunId))), read: 1, unread: 0, damaged: [] };
  const all = await store.list();
  const damaged: RunId[] = [];
  const letters: DeadLetters['letters'][number][] = [];
  for (const one of all.slice(0, most)) {
    try {
      letters.push(...deadOf(one.run, mailIn(await store.read(one.run))));
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      damaged.push(one.run);
    }
  }
  const read = Math.min(all.length, most);
  return { letters, read: read - damaged.length, unread: all.length - read, damaged };
};

const deadOf = (run: RunId, mail: readonly MailReport[]): DeadLetters['letters'] =>
  mail.filter(({ state }) => state === 'dead').map((letter) => ({ ...letter, run }));
