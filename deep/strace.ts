// strace: what it is asked for, and what it answers.

/** What a store may do to its files on the way to the disk. */
export const diskCalls = [
  'pwrite64',
  'pwritev',
  'write',
  'fsync',
  'fdatasync',
  'ftruncate',
  'fallocate',
  'openat',
  'unlink',
  'rename',
  'mkdir',
] as const;

export type Fault = 'SIGKILL' | 'ENOSPC' | 'EIO';

/** The Nth call of a name, counted in each thread; only calls about `paths`, if there are any. */
export type Point = { readonly call: string; readonly nth: number; readonly paths: readonly string[] };

// Threads are followed, and strace says nothing of its own.
const common = ['-f', '-qq', '-e', 'signal=none'];
/** Only the calls in question stop the process. With it strace 6.1 injects errors but no signals. */
const fast = '--seccomp-bpf';

const watching = (out: string, calls: readonly string[], paths: readonly string[]): readonly string[] => [
  ...common,
  ...paths.flatMap((path) => ['-P', path]),
  '-o',
  out,
  '-e',
  `trace=${calls.join(',')}`,
];

export const countingArgs = (out: string, calls: readonly string[], paths: readonly string[]): readonly string[] => [
  fast,
  ...watching(out, calls, paths),
];

/** What is opened, with the paths behind the descriptors. */
export const openingArgs = (out: string): readonly string[] => [fast, '-y', '-xx', ...watching(out, ['openat'], [])];

/** A full disk stays full; an error of the device comes once. */
export const faultArgs = (out: string, { call, nth, paths }: Point, fault: Fault): readonly string[] => {
  const watched = watching(out, [call], paths);
  if (fault === 'SIGKILL') return [...watched, '-e', `inject=${call}:signal=SIGKILL:when=${nth}`];
  return [fast, ...watched, '-e', `inject=${call}:error=${fault}:when=${fault === 'ENOSPC' ? `${nth}+` : nth}`];
};

/** How often each call was made, by the thread that made it most often. */
export const countCalls = (trace: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, Map<string, number>>();
  for (const line of trace.split('\n')) {
    const [, thread, call] = /^(\d+) +(\w+)\(/u.exec(line) ?? [];
    if (thread === undefined || call === undefined) continue;
    const threads = counts.get(call) ?? new Map<string, number>();
    counts.set(call, threads.set(thread, (threads.get(thread) ?? 0) + 1));
  }
  return new Map([...counts].map(([call, threads]) => [call, Math.max(...threads.values())]));
};

/** Whether an error was given. */
export const gaveError = (trace: string): boolean => trace.includes('(INJECTED)');
