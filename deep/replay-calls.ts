// Replays the calls of a trace on a simulated disk, and stops wherever the process told the witness something.
import { resolve } from 'node:path';
import { descriptorIn, parseTrace, restOf, stringsIn } from './parse-trace.ts';
import type { Call } from './parse-trace.ts';
import type { Mark, SimulatedDisk } from './simulated-disk.ts';

/** The calls that change files, or make changes safe. */
const fileCalls = 'pwrite64,write,ftruncate,fsync,fdatasync,openat,unlink,rmdir,rename,mkdir';

/** Calls that would do the same by another name: a trace that has one of them is not understood. */
const otherCalls =
  'pwritev,pwritev2,writev,fallocate,copy_file_range,sendfile,sync_file_range,sync,syncfs,truncate,' +
  'open,creat,unlinkat,renameat,renameat2,mkdirat,link,linkat,symlink';

const whole = ['-f', '-qq', '--seccomp-bpf', '-y', '-xx', '-s', '1000000', '-e', 'signal=none'];

export const traceArgs = (out: string): readonly string[] => [
  ...whole,
  '-o',
  out,
  '-e',
  `trace=${fileCalls},${otherCalls}`,
];

/** Gives what the process wrote to `witness`, piece by piece; at each piece the disk is as it was when it began to write it. */
export function* replayCalls(
  trace: string,
  disk: SimulatedDisk,
  { root, witness }: { readonly root: string; readonly witness: string },
): Generator<string, void, undefined> {
  const replay = new Replay(disk, root, witness);
  for (const { at, call } of parseTrace(trace)) {
    if (at === 'enter') {
      const told = replay.enter(call);
      if (told !== undefined) yield told;
    } else replay.exit(call);
  }
}

class Replay {
  readonly #disk: SimulatedDisk;
  readonly #root: string;
  readonly #witness: string;
  readonly #paths = new Map<string, string>();
  /** Where the next plain write goes; undefined: to the end, wherever that is then. */
  readonly #offsets = new Map<string, number | undefined>();
  readonly #syncs = new Map<Call, Mark>();

  constructor(disk: SimulatedDisk, root: string, witness: string) {
    this.#disk = disk;
    this.#root = root;
    this.#witness = witness;
  }

  enter(call: Call): string | undefined {
    const target = descriptorIn(call.args);
    if (call.name === 'write' && target?.path === this.#witness) return stringsIn(call.args)[0]?.toString('utf8');
    if ((call.name === 'fsync' || call.name === 'fdatasync') && target !== undefined) {
      const mark = this.#disk.beginSync(target.path);
      if (mark !== undefined) this.#syncs.set(call, mark);
    }
    return undefined;
  }

  exit(call: Call): void {
    if (call.result === undefined || call.result.startsWith('-1')) return;
    switch (call.name) {
      case 'openat':
        return this.#open(call);
      case 'pwrite64':
      case 'write':
        return this.#write(call);
      case 'ftruncate':
        return this.#truncate(call);
      case 'fsync':
      case 'fdatasync':
        return this.#sync(call);
      case 'mkdir':
        return this.#disk.makeFolder(this.#path(call, 0));
      case 'unlink':
      case 'rmdir':
        return this.#disk.remove(this.#path(call, 0));
      case 'rename':
        return this.#disk.rename(this.#path(call, 0), this.#path(call, 1));
      default:
        if (call.args.includes(hexOf(this.#root)))
          throw new Error(`The trace has ${call.name}, which is not simulated.`);
    }
  }

  #open({ args, result = '' }: Call): void {
    const opened = descriptorIn(result);
    if (opened === undefined) return;
    this.#paths.set(opened.fd, opened.path);
    const flags = restOf(args)[0] ?? '';
    this.#offsets.set(opened.fd, flags.includes('O_APPEND') ? undefined : 0);
    if (flags.includes('O_CREAT')) this.#disk.openFile(opened.path, { truncate: flags.includes('O_TRUNC') });
  }

  #write({ name, args, result }: Call): void {
    const target = descriptorIn(args);
    if (target === undefined || target.path === this.#witness || !target.path.startsWith(this.#root)) return;
    const bytes = stringsIn(args)[0]!.subarray(0, Number(result));
    if (name === 'pwrite64') return this.#disk.write(target.path, Number(restOf(args)[1]), bytes);
    const next = this.#offsets.get(target.fd);
    if (next !== undefined) this.#offsets.set(target.fd, next + bytes.length);
    this.#disk.write(target.path, next ?? this.#disk.size(target.path), bytes);
  }

  #truncate({ args }: Call): void {
    const target = descriptorIn(args);
    if (target !== undefined) this.#disk.truncate(target.path, Number(args.slice(args.lastIndexOf(',') + 1)));
  }

  #sync(call: Call): void {
    const mark = this.#syncs.get(call);
    if (mark !== undefined) this.#disk.endSync(mark);
  }

  /** Names below a held descriptor are looked up where that descriptor was opened. */
  #path({ args }: Call, nth: number): string {
    const path = stringsIn(args)[nth]?.toString('utf8') ?? '';
    const [, fd = '', rest = ''] = /^\/proc\/self\/fd\/(\d+)\/(.*)$/u.exec(path) ?? [];
    return fd === '' ? resolve(path) : `${this.#paths.get(fd) ?? ''}/${rest}`;
  }
}

const hexOf = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
