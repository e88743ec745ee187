// Projects a whole log to events.
import type { DurableEvent, Frame, Sees } from '#contracts';
import { projectEvents } from './project-events.ts';

/** `pause`: as for `reportRun`. */
export const projectLog = async (
  frames: readonly Frame[],
  sees: Sees,
  pause: (() => Promise<void> | undefined) | undefined,
): Promise<readonly DurableEvent[]> => {
  const fold = projectEvents(sees);
  const events: DurableEvent[] = [];
  for (const frame of frames) {
    events.push(...fold.next(frame));
    const paused = pause?.();
    if (paused !== undefined) await paused;
  }
  return events;
};
