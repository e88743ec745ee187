// Arguments for strace, and parsing of its output.

/** System calls by which a store may change its files. */
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

/** The Nth call of a name, counted per thread; only calls on `paths`, if there are any. */
export type CallPoint = { readonly call: string; readonly nth: number; readonly paths: readonly string[] };

// Follow threads, and print no messages of strace itself.
const common = ['-f', '-qq', '-e', 'signal=none'];
/** Only the selected calls stop the process. With this option strace 6.1 injects errors but no signals. */
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

/** Traces opened files, with the paths behind the descriptors. */
export const openingArgs = (out: string): readonly string[] => [fast, '-y', '-xx', ...watching(out, ['openat'], [])];

/** A full disk stays full; a device error happens once. */
export const faultArgs = (out: string, { call, nth, paths }: CallPoint, fault: Fault): readonly string[] => {
  const watched = watching(out, [call], paths);
  if (fault === 'SIGKILL') return [...watched, '-e', `inject=${call}:signal=SIGKILL:when=${nth}`];
  return [fast, ...watched, '-e', `inject=${call}:error=${fault}:when=${fault === 'ENOSPC' ? `${nth}+` : nth}`];
};

/** Call counts, each from the thread that made the call most often. */
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

/** Whether an error was injected. */
export const wasInjected = (trace: string): boolean => trace.includes('(INJECTED)');
