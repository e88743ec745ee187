// The deep lane injects faults by strace. This sees to it that there is one and that it may do so; run by itself it says so.
import { spawnSync } from 'node:child_process';

export type Setup = { readonly ready: true } | { readonly ready: false; readonly why: string };

/** How a program ended; `code` is null when there is no such program. */
export type Run = (
  program: string,
  args: readonly string[],
) => { readonly code: number | null; readonly words: string };

export type Place = { readonly platform: string; readonly root: boolean; readonly run: Run };

export const setUpStrace = (place: Place = thisPlace()): Setup => {
  if (place.platform !== 'linux') return { ready: false, why: 'strace is a program for Linux.' };
  if (!isThere(place) && !install(place)) return { ready: false, why: installWords };
  return probe(place);
};

const installWords =
  'strace is not installed, and could not be. Install it: `apt-get install strace` (Debian, Ubuntu), `dnf install strace` (Fedora), `apk add strace` (Alpine).';

const isThere = ({ run }: Place): boolean => run('strace', ['-V']).code === 0;

const install = (place: Place): boolean => {
  const { root, run } = place;
  if (!root || run('apt-get', ['--version']).code !== 0) return false;
  const installed = (): boolean => run('apt-get', ['install', '-y', '-q', 'strace']).code === 0;
  // A fresh image has no package lists.
  return (installed() || (run('apt-get', ['update', '-q']).code === 0 && installed())) && isThere(place);
};

/** `echo` fails if, and only if, the error is injected. */
const probe = ({ run }: Place): Setup => {
  const inject = ['-qq', '-o', '/dev/null', '-e', 'trace=write', '-e', 'inject=write:error=EIO'];
  const { code, words } = run('strace', [...inject, 'echo', 'probe']);
  if (/ptrace|not permitted/iu.test(words))
    return {
      ready: false,
      why: `strace may not trace here: ${words.trim().split('\n')[0]}. In a container: --cap-add=SYS_PTRACE.`,
    };
  if (code === 0) return { ready: false, why: 'strace runs here, but its injected errors do not arrive.' };
  return { ready: true };
};

export const thisPlace = (): Place => ({
  platform: process.platform,
  root: process.getuid?.() === 0,
  run: (program, args) => {
    const { status, error, stdout, stderr } = spawnSync(program, args, {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
    });
    return { code: error === undefined ? (status ?? 1) : null, words: `${stderr ?? ''}${stdout ?? ''}` };
  },
});

if (import.meta.main) {
  const setup = setUpStrace();
  console.log(setup.ready ? 'strace is ready.' : setup.why);
  process.exitCode = setup.ready ? 0 : 1;
}
