// The time, for views that show how long something lasts. It ticks only while one of them is shown.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const now = signal(Date.now());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Epoch milliseconds, once a second; it stands still when nobody needs it. */
export const useClock = (isNeeded = true): number => {
  useEffect(() => {
    if (!isNeeded) return undefined;
    now.value = Date.now();
    readers++;
    timer ??= setInterval(() => void (now.value = Date.now()), 1_000);
    return () => {
      if (--readers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [isNeeded]);
  return isNeeded ? now.value : now.peek();
};
