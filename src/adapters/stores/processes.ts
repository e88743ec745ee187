// Who owns a run, and whether that process still lives. One that cannot be asked is taken to live.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

import type { RunOwner, Owners } from './owner.ts';
import { ownerElsewhereInWords, ownerInWords } from './owner.ts';

export const thisProcess = (): Omit<RunOwner, 'since' | 'instance'> => {
  const found = processOf(process.pid);
  return { pid: process.pid, host: hostname(), started: found?.started ?? '' };
};

const elsewhere = (owner: RunOwner): boolean => owner.host !== hostname();

const lives = (owner: RunOwner): boolean => {
  if (elsewhere(owner)) return true;
  if (!exists(owner.pid)) return false;
  const found = processOf(owner.pid);
  if (found === null) return true;
  return !found.dead && (owner.started === '' || owner.started === found.started);
};

const inWords = (owner: RunOwner): string => (elsewhere(owner) ? ownerElsewhereInWords(owner) : ownerInWords(owner));

export const processOwners: Owners = { lives, elsewhere, inWords };

const exists = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and it is someone else's.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
};

let boot: string | undefined;

/** Null where there is no /proc, or it hides this process. */
const processOf = (pid: number): { started: string; dead: boolean } | null => {
  try {
    // The name in parentheses may hold anything, so count fields from its end: state is field 3, start is 22.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // Ticks count from the boot, so without its id they could repeat. A zombie has ended; nobody has looked yet.
    return { started: `${fields[19]}@${boot}`, dead: fields[0] === 'Z' || fields[0] === 'X' };
  } catch {
    return null;
  }
};
