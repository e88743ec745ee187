// What would be on the disk if the power failed now, computed from the calls that a process made.
//
//   disk-bytes-safe-after-sync. Bytes are safe once a sync of their file has returned that started after they were written.
//   disk-names-safe-after-sync. A name change (create, rename or remove) is safe once a sync of its folder has returned that
//       started after it.
//   disk-unsafe-may-survive. What is not safe may or may not survive: each write independently, name changes in their order.
//
// Real file systems promise more, but a careful program may rely on no more than this.
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Random } from './random.ts';

type Write = { readonly offset: number; readonly bytes: Uint8Array } | { readonly size: number };
type File = { readonly kind: 'file'; readonly changes: Write[]; safe: number };
type Folder = { readonly kind: 'folder'; readonly changes: { name: string; node: Node | null }[]; safe: number };
type Node = File | Folder;

/** The changes of a node so far; a sync that starts now covers them. */
export type SyncMark = { readonly node: Node; readonly upTo: number };

export class SimulatedDisk {
  readonly #root: string;
  readonly #folder: Folder = newFolder();
  /** Increases whenever more becomes safe. */
  version = 0;

  /** `root` exists and is safe; paths outside it are ignored. */
  constructor(root: string) {
    this.#root = root;
  }

  makeFolder(path: string): void {
    this.#name(path, newFolder());
  }

  /** Creates the file if it does not exist. */
  openFile(path: string, { truncate }: { truncate: boolean }): void {
    const found = this.#find(path);
    if (found === undefined) this.#name(path, { kind: 'file', changes: [], safe: 0 });
    else if (truncate && found.kind === 'file') found.changes.push({ size: 0 });
  }

  write(path: string, offset: number, bytes: Uint8Array): void {
    this.#change(path, { offset, bytes });
  }

  truncate(path: string, size: number): void {
    this.#change(path, { size });
  }

  remove(path: string): void {
    this.#name(path, null);
  }

  rename(from: string, to: string): void {
    const node = this.#find(from);
    if (node === undefined) return;
    // Within one folder a crash leaves one of the two names. Adding the new name first is the more lenient model.
    this.#name(to, node);
    this.#name(from, null);
  }

  size(path: string): number {
    const node = this.#find(path);
    return node?.kind === 'file' ? contentOf(node.changes).length : 0;
  }

  beginSync(path: string): SyncMark | undefined {
    const node = this.#find(path);
    return node === undefined ? undefined : { node, upTo: node.changes.length };
  }

  endSync({ node, upTo }: SyncMark): void {
    if (upTo <= node.safe) return;
    node.safe = upTo;
    this.version += 1;
  }

  /** Writes what survives as files below a folder: without `random` only what is safe, with it some of the rest too. */
  writeSurvivors(target: string, random?: Random): void {
    writeFolder(target, this.#folder, random);
  }

  #find(path: string): Node | undefined {
    if (path === this.#root) return this.#folder;
    if (!path.startsWith(`${this.#root}/`)) return undefined;
    const parent = this.#find(dirname(path));
    if (parent?.kind !== 'folder') return undefined;
    return parent.changes.findLast(({ name }) => name === basename(path))?.node ?? undefined;
  }

  #name(path: string, node: Node | null): void {
    const parent = this.#find(dirname(path));
    if (parent?.kind === 'folder') parent.changes.push({ name: basename(path), node });
  }

  #change(path: string, change: Write): void {
    const node = this.#find(path);
    if (node?.kind === 'file') node.changes.push(change);
  }
}

const newFolder = (): Folder => ({ kind: 'folder', changes: [], safe: 0 });

const writeFolder = (target: string, { changes, safe }: Folder, random: Random | undefined): void => {
  mkdirSync(target, { recursive: true });
  const kept = random === undefined ? safe : safe + random.whole(changes.length - safe + 1);
  const entries = new Map(changes.slice(0, kept).map(({ name, node }) => [name, node]));
  for (const [name, node] of entries) {
    if (node?.kind === 'folder') writeFolder(join(target, name), node, random);
    else if (node?.kind === 'file') writeFileSync(join(target, name), contentOf(survivingWrites(node, random)));
  }
};

const survivingWrites = ({ changes, safe }: File, random: Random | undefined): readonly Write[] => {
  const certain = changes.slice(0, safe);
  if (random === undefined) return certain;
  return [...certain, ...changes.slice(safe).flatMap((change) => maybePartial(change, random))];
};

const sector = 512;

/** The whole write, nothing, or the part up to some sector boundary. */
const maybePartial = (change: Write, random: Random): readonly Write[] => {
  const draw = random.next();
  if (draw < 0.4) return [];
  if (draw < 0.7 || 'size' in change) return [change];
  const { offset, bytes } = change;
  const ends = Math.floor((offset + bytes.length) / sector) - Math.floor(offset / sector);
  const end = sector * (Math.floor(offset / sector) + random.whole(ends + 1));
  return [{ offset, bytes: bytes.subarray(0, Math.max(0, end - offset)) }];
};

const contentOf = (changes: readonly Write[]): Uint8Array => {
  const ends = changes.map((change) => ('size' in change ? change.size : change.offset + change.bytes.length));
  const content = Buffer.alloc(Math.max(0, ...ends));
  let size = 0;
  for (const change of changes) {
    if ('bytes' in change) {
      content.set(change.bytes, change.offset);
      size = Math.max(size, change.offset + change.bytes.length);
    } else {
      content.fill(0, change.size, size);
      size = change.size;
    }
  }
  return content.subarray(0, size);
};
