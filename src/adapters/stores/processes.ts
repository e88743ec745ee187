// Who owns a run, and whether that process is still alive. A process that cannot be checked is assumed alive.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Store } from '#contracts';

// The owner of a run. A process that cannot be checked is assumed alive.

export type RunOwner = {
  readonly pid: number;
  readonly host: string;
  /** Distinguishes a process from a later one with the same pid; empty where the system does not provide it. */
  readonly started: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** Distinguishes a store from others in the same process. */
  readonly instance: string;
};

export type Owners = {
  isAlive(owner: RunOwner): boolean;
  /** On another machine, and assumed alive only because it cannot be checked. Without this method no owner is remote. */
  isRemote?(owner: RunOwner): boolean;
  describe(owner: RunOwner): string;
};

export const describeOwner = (owner: RunOwner): string =>
  `process ${owner.pid} on ${owner.host} since ${new Date(owner.since).toISOString()}`;

const describeRemoteOwner = (owner: RunOwner): string =>
  `process ${owner.pid} on another machine, ${owner.host}, since ${new Date(owner.since).toISOString()}; whether it is alive cannot be checked`;

export const thisProcess = (): Omit<RunOwner, 'since' | 'instance'> => {
  const found = readProcess(process.pid);
  return { pid: process.pid, host: hostname(), started: found?.started ?? '' };
};

const isRemote = (owner: RunOwner): boolean => owner.host !== hostname();

const isAlive = (owner: RunOwner): boolean => {
  if (isRemote(owner)) return true;
  if (!exists(owner.pid)) return false;
  const found = readProcess(owner.pid);
  if (found === null) return true;
  return !found.dead && (owner.started === '' || owner.started === found.started);
};

const describe = (owner: RunOwner): string => (isRemote(owner) ? describeRemoteOwner(owner) : describeOwner(owner));

export const processOwners: Owners = { isAlive, isRemote, describe };

/** A store of this process, for others to ask whether the process is still there. `id`: distinguishes it from others in the same process. */
export const processInstance = (id: string): Pick<Store, 'instance'> & { isLive(instance: string): boolean } => {
  const { pid, host, started } = thisProcess();
  return { instance: [id, pid, started, host].join(' '), isLive: isLiveInstance };
};

const isLiveInstance = (instance: string): boolean => {
  const [id = '', pid = '', started = '', ...host] = instance.split(' ');
  if (host.length === 0) return false;
  return isAlive({ pid: Number(pid), host: host.join(' '), started, since: 0, instance: id });
};

const exists = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
};

let boot: string | undefined;

/** Null where there is no /proc, or /proc hides the process. */
const readProcess = (pid: number): { started: string; dead: boolean } | null => {
  try {
    // The name in parentheses may contain anything, so fields are counted from its end: state is field 3, start time is field 22.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // Ticks count from boot, so without the boot id they could repeat. A zombie has ended but was not reaped yet.
    return { started: `${fields[19]}@${boot}`, dead: fields[0] === 'Z' || fields[0] === 'X' };
  } catch {
    return null;
  }
};
