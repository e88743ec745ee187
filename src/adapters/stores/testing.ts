// What only tests and the simulation use of this room: the same commit and recovery, over another disk.
export { checkChain, noTail, recordHash } from './chain.ts';
export type { FrameRow, Tail } from './chain.ts';
export { openCommitter } from './committer.ts';
export type { CommitterPorts, StoreConnection } from './committer.ts';
export type { LifeCyclePorts } from './life-cycle.ts';
export { openLogReader } from './log-reader.ts';
export type { LogReader } from './log-reader.ts';
export type { LogRows } from './log-rows.ts';
export { openLogStore } from './log-store.ts';
export type { LogStore } from './log-store.ts';
export type { Ack, SharedRow, SignalRow, ToWorker } from './messages.ts';
export { packRecord, unpackRecord } from './packed-records.ts';
export { describeOwner } from './processes.ts';
export type { RunOwner, Owners } from './processes.ts';
export { addFacts, selectRuns } from './run-facts.ts';
export type { EpochOwner, Tables } from './tables.ts';
export type { Thread, ThreadListener } from './writer.ts';
export type { Migration } from './migrate.ts';
