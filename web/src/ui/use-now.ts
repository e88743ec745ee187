// The time, again every second while something is under way.
import type { RunStore } from '../run-store.ts';
import { useEffect, useState } from 'preact/hooks';

export const useNow = (isTicking: boolean): number => {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isTicking) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return isTicking ? Math.max(now, Date.now() - 1_000) : now;
};

/** Of a run that nobody continues, nothing happened since its last event. */
export const useRunNow = ({ state, view }: RunStore): number => {
  const isLive = state.value === 'live';
  const now = useNow(isLive);
  return isLive ? now : (view.lastAt ?? now);
};
