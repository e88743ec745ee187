// Time that nobody can set, and that goes on while the machine sleeps: by it a process knows how long ago it asked for its lease.
//
//   steady-clock-counts-sleep. The clock that the system calls monotonic stands still while the machine is suspended. Whenever the time of
//       day has moved otherwise than that clock, the system is asked how long it has really been up.
import { readFileSync } from 'node:fs';

type SteadyClockPorts = {
  /** Milliseconds of a clock that nobody sets. */
  monotonic(): number;
  /** Epoch milliseconds, as anybody may have set them. */
  wall(): number;
  /** Milliseconds since the machine was started, with those in which it slept; null where the system does not say. */
  uptime(): number | null;
};

/** Milliseconds from some point on. */
export const openSteadyClock = (ports: SteadyClockPorts = systemClocks): (() => number) => {
  let drift = ports.wall() - ports.monotonic();
  let asleep = 0;
  const up = ports.uptime();
  const awake = up === null ? null : up - ports.monotonic();
  return () => {
    const now = ports.monotonic();
    const moved = ports.wall() - now - drift;
    if (Math.abs(moved) > noticedMs) {
      drift += moved;
      const uptime = awake === null ? null : ports.uptime();
      // Where nobody can tell sleep from a clock that was set forward, time counts as gone: whoever relies on it only asks again.
      asleep = uptime === null || awake === null ? asleep + Math.max(0, moved) : Math.max(asleep, uptime - now - awake);
    }
    return now + asleep;
  };
};

/** What is shorter does not matter to a lease. */
const noticedMs = 100;

const systemClocks: SteadyClockPorts = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  uptime() {
    try {
      return Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1_000;
    } catch {
      return null;
    }
  },
};
