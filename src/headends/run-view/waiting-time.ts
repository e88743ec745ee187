// How long each cell of a run has waited for people while nothing in it or below it worked, from the run's events.
import type { CellId } from '#base';

/** What a cell and those below it do. */
export type WaitingTime = {
  /** Whether it works, or asks a person, and how many of its children do. */
  working: number;
  asking: number;
  /** Of itself alone. */
  ownWork: boolean;
  ownQuestion: boolean;
  /** Until its present wait. */
  waitedMs: number;
  /** Since when it waits; null: it does not. */
  since: number | null;
};

export const newWaitingTime = (): WaitingTime => ({
  working: 0,
  asking: 0,
  ownWork: false,
  ownQuestion: false,
  waitedMs: 0,
  since: null,
});

type Waiter = { readonly parent: CellId | null; readonly wait: WaitingTime };

/** After an event of this cell, at that time. Also changes those above it. */
export const followWaiting = (
  cells: ReadonlyMap<CellId, Waiter>,
  cell: Waiter,
  now: { readonly works: boolean; readonly asks: boolean; readonly at: number },
): void => {
  const { wait } = cell;
  const work = Number(now.works) - Number(wait.ownWork);
  const questions = Number(now.asks) - Number(wait.ownQuestion);
  wait.ownWork = now.works;
  wait.ownQuestion = now.asks;
  count(cells, cell, { work, questions, at: now.at });
};

const count = (
  cells: ReadonlyMap<CellId, Waiter>,
  { wait, parent }: Waiter,
  { work, questions, at }: { readonly work: number; readonly questions: number; readonly at: number },
): void => {
  if (work === 0 && questions === 0) return;
  const [wasWorking, wasAsking] = [wait.working > 0, wait.asking > 0];
  wait.working += work;
  wait.asking += questions;
  const [isWorking, isAsking] = [wait.working > 0, wait.asking > 0];
  if (!isWorking && isAsking) wait.since ??= at;
  else if (wait.since !== null) {
    wait.waitedMs += Math.max(0, at - wait.since);
    wait.since = null;
  }
  const above = parent === null ? undefined : cells.get(parent);
  if (above === undefined) return;
  const more = { work: Number(isWorking) - Number(wasWorking), questions: Number(isAsking) - Number(wasAsking), at };
  count(cells, above, more);
};

export const waitedMsUntil = ({ waitedMs, since }: WaitingTime, now: number): number =>
  waitedMs + (since === null ? 0 : Math.max(0, now - since));
