// Who has a run. A process that cannot be asked is taken to live.

export type RunOwner = {
  readonly pid: number;
  readonly host: string;
  /** Tells a process from a later one with the same number; empty where the system does not say. */
  readonly started: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** Tells a store from another one in the same process. */
  readonly instance: string;
};

export type Owners = {
  lives(owner: RunOwner): boolean;
  /** Taken to live only because it cannot be asked: it is on another machine. Nobody is, unless this says so. */
  elsewhere?(owner: RunOwner): boolean;
  inWords(owner: RunOwner): string;
};

export const ownerInWords = (owner: RunOwner): string =>
  `process ${owner.pid} on ${owner.host} since ${new Date(owner.since).toISOString()}`;

export const ownerElsewhereInWords = (owner: RunOwner): string =>
  `process ${owner.pid} since ${new Date(owner.since).toISOString()} on another machine, ${owner.host}: it cannot be asked whether it lives`;
