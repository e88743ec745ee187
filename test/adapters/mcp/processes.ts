// Inspects processes from outside.
import { readdirSync, readFileSync } from 'node:fs';

const statOf = (pid: number | string): string => readFileSync(`/proc/${pid}/stat`, 'utf8');

/** A zombie does not count. */
export const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/su.test(statOf(pid));
  } catch {
    return false;
  }
};

/** The number of live processes in a process group. */
export const membersOf = (group: number): number =>
  readdirSync('/proc').filter((pid) => /^\d+$/u.test(pid) && isAlive(Number(pid)) && groupOf(pid) === group).length;

const groupOf = (pid: string): number | undefined => {
  try {
    return Number(/\) \S \d+ (\d+)/u.exec(statOf(pid))?.[1]);
  } catch {
    return undefined;
  }
};
