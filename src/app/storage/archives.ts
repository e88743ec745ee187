// Exports runs as archives, and takes archives in.
//
//   archive-before-deletion. A run is deleted only after its archive is on disk and was read back.
import { CloisterError, sha256 } from '#base';
import type { RunId } from '#base';
import type { ArchiveRef, CellFolders, Store, Tombstone } from '#contracts';
import { writtenFiles } from '#core/audit';
import { archiveSuffix, decodeArchive, encodeArchive } from './archive-file.ts';
import type { ArchivedRun } from './archive-file.ts';
import type { ArchiveFolder } from './archive-folder.ts';

type ArchivePorts = {
  readonly store: Store;
  readonly workspaces: CellFolders;
  /** Null in memory-only mode. */
  readonly folder: ArchiveFolder | null;
  /** The run in an archive, as if it were stored. Rejects with `archive_invalid`. */
  readonly openArchive: (bytes: Uint8Array) => Promise<{ readonly store: Pick<Store, 'list'>; readonly run: RunId }>;
};

/** `unreadable`: files that may be archives of anybody. */
export type FoundArchives = {
  readonly runs: readonly RunId[];
  readonly files: readonly string[];
  readonly unreadable: readonly string[];
};

export class Archives {
  readonly #ports: ArchivePorts;

  constructor(ports: ArchivePorts) {
    this.#ports = ports;
  }

  /** Rejects with `run_unknown`, or `store_damaged`. */
  async encode(run: RunId): Promise<Uint8Array> {
    const { store } = this.#ports;
    const bodies = await store.readBodies(run);
    const { hash: head } = await store.hashPrefix(run, bodies.length);
    return encodeArchive({ run, head, bodies, blobs: await this.#blobsOf(bodies) });
  }

  async save(run: RunId): Promise<ArchiveRef> {
    const folder = this.#folder();
    const bytes = await this.encode(run);
    const file = run + archiveSuffix;
    await folder.write(file, bytes);
    const ref = { file, sha256: sha256(bytes) };
    await this.read(ref);
    return ref;
  }

  /** The bytes of an archive that a tombstone names. Rejects with `archive_invalid` if they have changed. */
  async read({ file, sha256: expected }: ArchiveRef): Promise<Uint8Array> {
    const bytes = await this.#folder().read(file);
    if (sha256(bytes) === expected) return bytes;
    throw new CloisterError('archive_invalid', `${file} has changed since the run was archived.`);
  }

  async remove({ file }: ArchiveRef): Promise<void> {
    await this.#folder().remove(file);
  }

  /** The files of these runs, if they are there. */
  async filesOf(runs: readonly RunId[]): Promise<readonly string[]> {
    if (runs.length === 0) return [];
    const there = new Set(await this.#list());
    return runs.map((run) => run + archiveSuffix).filter((file) => there.has(file));
  }

  /** All archives of a caller of a server, whatever their files are called. */
  async findOf(caller: string): Promise<FoundArchives> {
    const found = { runs: [] as RunId[], files: [] as string[], unreadable: [] as string[] };
    for (const file of await this.#list())
      try {
        const { store, run } = await this.#ports.openArchive(await this.#folder().read(file));
        const [summary] = await store.list();
        if (summary?.caller === caller) {
          found.runs.push(run);
          found.files.push(file);
        }
      } catch (error) {
        if (!(error instanceof CloisterError)) throw error;
        found.unreadable.push(file);
      }
    return found;
  }

  /** May be repeated. `names`: as a deletion has noted them. */
  async removeFiles(names: unknown): Promise<void> {
    const { folder } = this.#ports;
    if (folder === null || !Array.isArray(names)) return;
    for (const name of names)
      if (typeof name === 'string' && name.endsWith(archiveSuffix) && !/[/\\]/u.test(name)) await folder.remove(name);
  }

  async #list(): Promise<readonly string[]> {
    const names = (await this.#ports.folder?.list()) ?? [];
    return names.filter((name) => name.endsWith(archiveSuffix));
  }

  /** Rejects with `archive_invalid`, `run_exists`, or `run_kept` if the run was deleted and is not forced. */
  async take(bytes: Uint8Array, by: string, mayUndelete: (tombstone: Tombstone) => boolean): Promise<RunId> {
    const { store } = this.#ports;
    const { run, head, bodies, blobs } = decodeArchive(bytes);
    const tombstone = await store.tombstone(run);
    if (tombstone !== null && !mayUndelete(tombstone))
      throw new CloisterError('run_kept', `Run ${run} was deleted, and is not imported again unless that is forced.`);
    // Before any record names them.
    for (const blob of blobs.values()) await store.putBlob(blob);
    await store.importRun(bodies, { run, frames: bodies.length, head, by });
    await this.#restoreFiles(run);
    return run;
  }

  /** Files that the run's agents wrote, as its log has them. */
  async #restoreFiles(run: RunId): Promise<void> {
    const { store, workspaces } = this.#ports;
    for (const [cell, { files }] of writtenFiles(await store.read(run)))
      for (const [path, { content }] of files) await workspaces.open(run, cell).write(path, Buffer.from(content));
  }

  async #blobsOf(bodies: readonly string[]): Promise<ArchivedRun['blobs']> {
    const refs = new Set(bodies.flatMap((body) => [...body.matchAll(/[0-9a-f]{64}/gu)].map(([ref]) => ref)));
    const blobs = new Map<string, Uint8Array>();
    for (const ref of refs)
      try {
        blobs.set(ref, await this.#ports.store.getBlob(ref));
      } catch (error) {
        // Most hashes in a log are not those of blobs.
        if (!(error instanceof CloisterError) || error.code !== 'file_missing') throw error;
      }
    return blobs;
  }

  #folder(): ArchiveFolder {
    if (this.#ports.folder !== null) return this.#ports.folder;
    throw new CloisterError(
      'options_invalid',
      'Nothing is stored on disk (in-memory mode), so nothing can be archived.',
    );
  }
}
