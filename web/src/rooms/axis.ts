// The axis: true times at uneven distances.
import { formatDuration } from '#headends/run-view';
import type { RoomsLayout } from './layout.ts';
import type { Measure } from './texts.ts';

export type Tick = { readonly x: number; readonly text: string; readonly width: number; readonly isNow: boolean };

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000];
const apart = 60;

export const axisTicks = ({ arrangement, scale, width }: RoomsLayout, measure: Measure): readonly Tick[] => {
  const { startedAt, endsAt, idles, isLive, rooms } = arrangement.plan;
  if (rooms.length === 0) return [];
  const step =
    steps.find((one) => one * scale.perMs >= apart) ??
    3_600_000 * Math.ceil(apart / (3_600_000 * Math.max(scale.perMs, 1e-9)));
  const ticks: Tick[] = [];
  const now = isLive ? tickAt(scale.x(endsAt), 'now', measure, width, true) : null;
  const last = now === null ? width : now.x - now.width / 2;
  let until = -Infinity;
  const add = (at: number, gap?: number): void => {
    const tick = tickAt(scale.x(startedAt + at, gap), timeText(at, step), measure, width, false);
    if (tick.x - tick.width / 2 < until + 14 || tick.x + tick.width / 2 > last - 8) return;
    ticks.push(tick);
    until = tick.x + tick.width / 2;
  };
  add(0, 1);
  let from = startedAt;
  for (const { from: idle, to } of [...idles, { from: endsAt, to: endsAt }]) {
    for (let at = Math.max(step, Math.ceil((from - startedAt) / step) * step); at <= idle - startedAt; at += step)
      add(at);
    from = to;
  }
  return now === null ? ticks : [...ticks, now];
};

const tickAt = (x: number, text: string, measure: Measure, width: number, isNow: boolean): Tick => {
  const wide = measure(text, isNow ? 'name' : 'figure');
  return { x: Math.min(width - wide / 2 - 2, Math.max(wide / 2 + 2, x)), text, width: wide, isNow };
};

const timeText = (ms: number, step: number): string => {
  if (ms === 0) return '0';
  if (ms >= 60_000 || (step >= 100 && ms >= 1_000) || step >= 500)
    return step >= 100 && ms < 60_000
      ? `${(ms / 1000).toFixed(step < 1_000 ? 1 : step % 1_000 === 0 && ms >= 10_000 ? 0 : 1)} s`
      : formatDuration(ms);
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1000).toFixed(step >= 100 ? 1 : step >= 10 ? 2 : 3)} s`;
};
