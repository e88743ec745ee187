// Replays the calls of a trace on a simulated disk, and stops wherever the process wrote to the witness.
import { resolve } from 'node:path';
import { parseDescriptor, parseTrace, argsAfterStrings, parseStrings } from './parse-trace.ts';
import type { Call } from './parse-trace.ts';
import type { SyncMark, SimulatedDisk } from './simulated-disk.ts';

/** Calls that change files or make changes durable. */
const fileCalls = 'pwrite64,write,ftruncate,fsync,fdatasync,openat,unlink,rmdir,rename,mkdir';

/** Other calls with the same effect. They are not simulated, so a trace with one of them is rejected. */
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

/** Yields each write to `witness`; at that moment the disk is in the state in which the write started. */
export function* replayCalls(
  trace: string,
  disk: SimulatedDisk,
  { root, witness }: { readonly root: string; readonly witness: string },
): Generator<string, void, undefined> {
  const replay = new Replay(disk, root, witness);
  for (const { at, call } of parseTrace(trace)) {
    if (at === 'enter') {
      const witnessed = replay.enter(call);
      if (witnessed !== undefined) yield witnessed;
    } else replay.exit(call);
  }
}

class Replay {
  readonly #disk: SimulatedDisk;
  readonly #root: string;
  readonly #witness: string;
  readonly #paths = new Map<string, string>();
  /** Offset of the next plain write; undefined means append. */
  readonly #offsets = new Map<string, number | undefined>();
  readonly #syncs = new Map<Call, SyncMark>();

  constructor(disk: SimulatedDisk, root: string, witness: string) {
    this.#disk = disk;
    this.#root = root;
    this.#witness = witness;
  }

  enter(call: Call): string | undefined {
    const target = parseDescriptor(call.args);
    if (call.name === 'write' && target?.path === this.#witness) return parseStrings(call.args)[0]?.toString('utf8');
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
          throw new Error(`The trace contains ${call.name}, which is not simulated.`);
    }
  }

  #open({ args, result = '' }: Call): void {
    const opened = parseDescriptor(result);
    if (opened === undefined) return;
    this.#paths.set(opened.fd, opened.path);
    const flags = argsAfterStrings(args)[0] ?? '';
    this.#offsets.set(opened.fd, flags.includes('O_APPEND') ? undefined : 0);
    if (flags.includes('O_CREAT')) this.#disk.openFile(opened.path, { truncate: flags.includes('O_TRUNC') });
  }

  #write({ name, args, result }: Call): void {
    const target = parseDescriptor(args);
    if (target === undefined || target.path === this.#witness || !target.path.startsWith(this.#root)) return;
    const bytes = parseStrings(args)[0]!.subarray(0, Number(result));
    if (name === 'pwrite64') return this.#disk.write(target.path, Number(argsAfterStrings(args)[1]), bytes);
    const next = this.#offsets.get(target.fd);
    if (next !== undefined) this.#offsets.set(target.fd, next + bytes.length);
    this.#disk.write(target.path, next ?? this.#disk.size(target.path), bytes);
  }

  #truncate({ args }: Call): void {
    const target = parseDescriptor(args);
    if (target !== undefined) this.#disk.truncate(target.path, Number(args.slice(args.lastIndexOf(',') + 1)));
  }

  #sync(call: Call): void {
    const mark = this.#syncs.get(call);
    if (mark !== undefined) this.#disk.endSync(mark);
  }

  /** Resolves names below an open descriptor against the path it was opened with. */
  #path({ args }: Call, nth: number): string {
    const path = parseStrings(args)[nth]?.toString('utf8') ?? '';
    const [, fd = '', rest = ''] = /^\/proc\/self\/fd\/(\d+)\/(.*)$/u.exec(path) ?? [];
    return fd === '' ? resolve(path) : `${this.#paths.get(fd) ?? ''}/${rest}`;
  }
}

const hexOf = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
