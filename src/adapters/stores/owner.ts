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

export const describeRemoteOwner = (owner: RunOwner): string =>
  `process ${owner.pid} on another machine, ${owner.host}, since ${new Date(owner.since).toISOString()}; whether it is alive cannot be checked`;
