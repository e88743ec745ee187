// What a turn of a conversation leaves to the next turn of its agent: its files, and the outputs that it can read by name.
//
//   turn-files-from-its-log. The first frame says what the turn took over, the other frames what it added. Only writes that
//       settled count.
import type { Hash } from '#base';
import { sha256, utf8Bytes } from '#base';
import { decodeInheritedFiles } from '#contracts';
import type { Frame, InheritedFile, InheritedFiles, InheritedOutput, StoredOutput, ToolResultValue } from '#contracts';
import { longTexts } from '#core/rules';
import { cellSources, resolveOrigin, startPrompt } from './rebuild-prompt.ts';
import { readFrame, startRecords } from './records.ts';
import type { RunRecords } from './records.ts';
import { writtenFiles } from './written-files.ts';

type TurnFiles = Pick<InheritedFiles, 'files' | 'outputs'> & {
  /** Contents that are in this log and perhaps not in the store yet, by hash. */
  readonly contents: ReadonlyMap<Hash, string>;
};

/** What a run took over when it began; null if nothing. */
export const inheritedBy = (frames: readonly Frame[]): InheritedFiles | null => {
  const [open] = frames;
  const crossed = open?.contents?.find(({ kind, to }) => kind === 'file' && to === open.cell);
  return crossed === undefined ? null : decodeInheritedFiles(crossed.content);
};

/** `frames`: the log of a turn, or its beginning. */
export const turnFiles = (frames: readonly Frame[]): TurnFiles => {
  const before = inheritedBy(frames);
  const root = frames[0]?.cell;
  const files = new Map<string, InheritedFile>(before?.files.map((file) => [file.path, file]));
  const outputs = new Map<string, InheritedOutput>(before?.outputs.map((output) => [output.name, output]));
  const contents = new Map<Hash, string>();
  const written = root === undefined ? undefined : writtenFiles(frames).get(root)?.files;
  for (const [path, { bytes, sha256: hash, content }] of written ?? []) {
    // probe: turn-file-written
    files.set(path, { path, bytes, sha256: hash });
    contents.set(hash, content);
  }
  for (const { output, text } of addedOutputs(frames)) {
    outputs.set(output.name, output);
    if (text !== undefined) contents.set(output.sha256, text);
  }
  const byPath = (one: InheritedFile, other: InheritedFile): number => (one.path < other.path ? -1 : 1);
  return { files: [...files.values()].sort(byPath), outputs: [...outputs.values()], contents };
};

type AddedOutput = { readonly output: InheritedOutput; readonly text?: string };

function* addedOutputs(frames: readonly Frame[]): Generator<AddedOutput, void, undefined> {
  const records = startRecords();
  for (const frame of frames) {
    readFrame(records, frame);
    if (frame.cell !== records.root?.birth.cell) continue;
    const stored = storedOutput(records, frame);
    if (stored !== undefined) yield { output: { name: stored.name, bytes: stored.bytes, sha256: stored.ref as Hash } };
    yield* crossedOutputs(records, frame);
  }
}

/** A tool's own output, which the store has already. */
const storedOutput = ({ root }: RunRecords, { record }: Frame): StoredOutput | undefined => {
  if (record.type !== 'settle' || !record.ok) return undefined;
  const isTool = root?.operations.get(record.op)?.begin.name.startsWith('tool:') === true;
  return isTool ? (record.value as ToolResultValue | null)?.output : undefined;
};

/** Texts that crossed into the cell and were too long to show: answers of other agents, and messages. */
const crossedOutputs = (records: RunRecords, { attempt }: Frame): readonly AddedOutput[] => {
  if (attempt === undefined || records.root === undefined) return [];
  const sources = cellSources(records, records.root);
  return attempt.changes.flatMap((change) => {
    if (!('add' in change)) return [];
    return change.add.flatMap(({ origin }): readonly AddedOutput[] => {
      const { rule, with: numbers = [] } = origin;
      const resolved = resolveOrigin(startPrompt(), origin, sources);
      if (typeof resolved === 'string') return [];
      return longTexts(rule, resolved, numbers).map(({ name, text }) => ({
        output: { name, bytes: utf8Bytes(text), sha256: sha256(text), framed: true },
        text,
      }));
    });
  });
};
