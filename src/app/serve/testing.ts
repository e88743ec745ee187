// What only tests use of this room.
export { eventsAfter } from './caller-runs.ts';
export type { ReleaseSlot } from './slot-queue.ts';
export { InterruptedRunResumer } from './interrupted-runs.ts';
