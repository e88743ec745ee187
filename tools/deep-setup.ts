// The deep lane injects faults with strace. This makes sure that strace is installed and may trace; run directly, it prints the result.
import { spawnSync } from 'node:child_process';

export type Setup = { readonly ready: true } | { readonly ready: false; readonly why: string };

/** Runs a program; `code` is null when the program does not exist. */
export type RunProgram = (
  program: string,
  args: readonly string[],
) => { readonly code: number | null; readonly words: string };

export type Machine = { readonly platform: string; readonly root: boolean; readonly run: RunProgram };

export const setUpStrace = (machine: Machine = thisMachine()): Setup => {
  if (machine.platform !== 'linux') return { ready: false, why: 'strace runs only on Linux.' };
  if (!isInstalled(machine) && !install(machine)) return { ready: false, why: installHint };
  return probe(machine);
};

const installHint =
  'strace is not installed and could not be installed automatically. Install it with `apt-get install strace` (Debian, Ubuntu), `dnf install strace` (Fedora), `apk add strace` (Alpine).';

const isInstalled = ({ run }: Machine): boolean => run('strace', ['-V']).code === 0;

const install = (machine: Machine): boolean => {
  const { root, run } = machine;
  if (!root || run('apt-get', ['--version']).code !== 0) return false;
  const installed = (): boolean => run('apt-get', ['install', '-y', '-q', 'strace']).code === 0;
  // A fresh image has no package lists.
  return (installed() || (run('apt-get', ['update', '-q']).code === 0 && installed())) && isInstalled(machine);
};

/** `echo` fails if and only if the error is injected. */
const probe = ({ run }: Machine): Setup => {
  const inject = ['-qq', '-o', '/dev/null', '-e', 'trace=write', '-e', 'inject=write:error=EIO'];
  const { code, words } = run('strace', [...inject, 'echo', 'probe']);
  if (/ptrace|not permitted/iu.test(words))
    return {
      ready: false,
      why: `strace is not allowed to trace here: ${words.trim().split('\n')[0]}. In a container, add --cap-add=SYS_PTRACE.`,
    };
  if (code === 0) return { ready: false, why: 'strace runs here, but its injected errors have no effect.' };
  return { ready: true };
};

export const thisMachine = (): Machine => ({
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
