// Exports a checkpoint for people: a JSON file, and the content of each file, stored once per hash.
import type { Checkpoint, Frame, Store } from '#contracts';
import { checkpointFiles, readCells } from './checkpoint-view.ts';
import type { CheckpointCell, FileView } from './checkpoint-view.ts';
import { pathPart } from './conversation-names.ts';
import type { ExportFolder } from './export-folder.ts';

const checkpointFolder = (agent: string): readonly string[] => ['agents', pathPart(agent), 'checkpoints'];

const checkpointPath = ({ agent, id }: Pick<Checkpoint, 'agent' | 'id'>): readonly string[] => [
  ...checkpointFolder(agent),
  `${pathPart(id)}.json`,
];

const contentPath = (agent: string, sha256: string): readonly string[] => [...checkpointFolder(agent), 'files', sha256];

type ExportPorts = { readonly files: ExportFolder; readonly store: Pick<Store, 'getBlob'> };

/** `frames`: those of the cut. Contents are written first, so that an exported checkpoint is always complete. */
export const exportCheckpoint = async (
  checkpoint: Checkpoint,
  frames: readonly Frame[],
  { files, store }: ExportPorts,
): Promise<string> => {
  const cells = await readCells(frames);
  const listed = checkpointFiles(frames);
  for (const { sha256, content } of listed) {
    const path = contentPath(checkpoint.agent, sha256);
    if (files.has(path)) continue;
    await files.write(path, content === null ? [await store.getBlob(sha256)] : slicesOf(content));
  }
  return files.write(checkpointPath(checkpoint), jsonPieces(checkpoint, cells, listed));
};

/** Removes the files of forgotten checkpoints, and contents that no other checkpoint uses. */
export const removeCheckpoints = async (forgotten: readonly Checkpoint[], files: ExportFolder): Promise<void> => {
  for (const agent of new Set(forgotten.map((one) => one.agent))) {
    const mine = forgotten.filter((one) => one.agent === agent);
    const orphans = new Set<string>();
    for (const one of mine) {
      const path = checkpointPath(one);
      for (const hash of hashesIn(await files.read(path))) orphans.add(hash);
      await files.remove(path);
    }
    if (orphans.size > 0) await removeOrphans(agent, orphans, files);
  }
};

/** The hashes of the contents that the file of a checkpoint names. */
export const hashesOfCheckpoint = async (
  checkpoint: Pick<Checkpoint, 'agent' | 'id'>,
  files: ExportFolder,
): Promise<readonly string[]> => hashesIn(await files.read(checkpointPath(checkpoint)));

type CheckpointFiles = Pick<Checkpoint, 'agent' | 'id'> & { readonly contents: readonly string[] };

/** As `removeCheckpoints`, but the contents are known, so that it can be repeated when the files are half gone. */
export const removeCheckpointFiles = async (gone: readonly CheckpointFiles[], files: ExportFolder): Promise<void> => {
  for (const one of gone) await files.remove(checkpointPath(one));
  for (const [agent, mine] of Map.groupBy(gone, (one) => one.agent)) {
    const contents = new Set(mine.flatMap((one) => one.contents.filter((hash) => /^[0-9a-f]{64}$/u.test(hash))));
    if (contents.size > 0) await removeOrphans(agent, contents, files);
  }
};

const removeOrphans = async (agent: string, orphans: Set<string>, files: ExportFolder): Promise<void> => {
  const folder = checkpointFolder(agent);
  for (const name of await files.list(folder)) {
    if (!name.endsWith('.json')) continue;
    for (const hash of hashesIn(await files.read([...folder, name]))) orphans.delete(hash);
    if (orphans.size === 0) return;
  }
  for (const hash of orphans) await files.remove(contentPath(agent, hash));
};

/** The hashes in an exported checkpoint; an unreadable file has none. */
const hashesIn = (text: string | null): readonly string[] => {
  try {
    const { files = [] } = JSON.parse(text ?? '{}') as { files?: readonly { readonly sha256?: string }[] };
    return files.flatMap(({ sha256 }) => (/^[0-9a-f]{64}$/u.test(sha256 ?? '') ? [sha256!] : []));
  } catch {
    return [];
  }
};

const sliceChars = 256 * 1024;

/** Never splits a surrogate pair, so that the slices encode to the same bytes as the whole text. */
function* slicesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + sliceChars);
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--;
    yield text.slice(from, to);
    from = to;
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

function* jsonPieces(
  checkpoint: Checkpoint,
  cells: readonly CheckpointCell[],
  files: readonly FileView[],
): Generator<string> {
  yield `${JSON.stringify(checkpoint, null, 2).slice(0, -2)},\n  "cells": [`;
  for (const [index, cell] of cells.entries()) yield `${index === 0 ? '' : ','}\n    ${JSON.stringify(cell)}`;
  yield '\n  ],\n  "files": [';
  for (const [index, { content: _content, ...file }] of files.entries())
    yield `${index === 0 ? '' : ','}\n    ${JSON.stringify(file)}`;
  yield files.length === 0 ? ']\n}\n' : '\n  ]\n}\n';
}
