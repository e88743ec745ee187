// Checks what a turn of a conversation took over: it is what its agent's turn before left, and the store has all of it unchanged.
import { isSameJson, sha256 } from '#base';
import type { RunId, CellId } from '#base';
import { attachmentsIn } from '#contracts';
import type { Frame, InheritedFiles, StoredAttachment, ToolResultValue } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import { inheritedBy, turnFiles } from './turn-files.ts';
import { preview } from '#core/rules';
import type { RunRecords } from './records.ts';

export type FileSources = {
  readonly readBlob: (ref: string) => Promise<Uint8Array>;
  /** The frames of another run; null if they cannot be read. Absent: other runs are not read. */
  readonly readRun?: (run: RunId) => Promise<readonly Frame[] | null>;
};

export const verifyFiles = async (
  frames: readonly Frame[],
  { readBlob, readRun }: FileSources,
  problems: AuditProblems,
): Promise<void> => {
  const [open] = frames;
  if (open === undefined) return;
  const where = problemLocation(open);
  if ((open.contents ?? []).filter(({ kind }) => kind === 'file').length > 1)
    problems.add('crossing-content', where, 'it took over files twice');
  const inherited = readInherited(frames, where, problems);
  if (inherited === null) return;
  const { files, outputs, run, frames: count } = inherited;
  for (const { name, sha256: hash, bytes } of [
    ...files.map(({ path, ...file }) => ({ name: path, ...file })),
    ...outputs,
  ]) {
    const stored = await readBlob(hash).catch(() => undefined);
    if (stored === undefined) problems.add('output-missing', where, `the inherited file ${name} is not in the store`);
    else if (sha256(stored) !== hash || stored.byteLength !== bytes)
      problems.add('output-changed', where, `the inherited file ${name} was changed`);
  }
  const before = (await readRun?.(run)) ?? null;
  if (before !== null && !isLeftBy(before.slice(0, count), inherited, open))
    problems.add('crossing-content', where, `its files are not those that run ${run} left to "${agentOf(open)}"`);
};

const readInherited = (frames: readonly Frame[], where: string, problems: AuditProblems): InheritedFiles | null => {
  try {
    const inherited = inheritedBy(frames);
    if (inherited === null || (Array.isArray(inherited.files) && Array.isArray(inherited.outputs))) return inherited;
  } catch {
    // Not JSON: reported below.
  }
  problems.add('crossing-content', where, 'the list of its files cannot be read');
  return null;
};

const isLeftBy = (before: readonly Frame[], { files, outputs, frames }: InheritedFiles, open: Frame): boolean => {
  if (before.length !== frames || agentOf(before[0]) !== agentOf(open)) return false;
  try {
    const left = turnFiles(before);
    return isSameJson(files, left.files) && isSameJson(outputs, left.outputs);
  } catch {
    return false;
  }
};

const agentOf = (open: Frame | undefined): string => (open?.record.type === 'open' ? open.record.birth.agent : '');

// Checks that the store has every attached file unchanged.

export const verifyAttachments = async (
  [open]: readonly Frame[],
  readBlob: ReadBlob,
  problems: AuditProblems,
): Promise<void> => {
  if (open === undefined) return;
  const where = problemLocation(open);
  for (const attachment of listAttachments(open, where, problems)) {
    if (!('sha256' in attachment)) continue;
    const name = attachment.name ?? attachment.sha256;
    const stored = await readStored(readBlob, attachment.sha256);
    if (stored === undefined) problems.add('output-missing', where, `the attached file ${name} is not in the store`);
    else if (sha256(stored) !== attachment.sha256 || stored.byteLength !== attachment.bytes)
      problems.add('output-changed', where, `the attached file ${name} was changed`);
  }
};

/** Of the goal, and of earlier messages. */
const listAttachments = ({ contents }: Frame, where: string, problems: AuditProblems): readonly StoredAttachment[] => {
  try {
    return attachmentsIn(contents);
  } catch {
    problems.add('crossing-content', where, 'the list of attached files cannot be read');
    return [];
  }
};

// Checks that stored outputs are unchanged, and that the model was shown their beginning.

type ReadBlob = (ref: string) => Promise<Uint8Array>;

export const verifyOutputs = async ({ cells }: RunRecords, blob: ReadBlob, problems: AuditProblems): Promise<void> => {
  for (const { birth, operations } of cells.values())
    for (const { begin, settle } of operations.values())
      if (settle?.ok === true && begin.name.startsWith('tool:'))
        await verifyOutput(settle.value as ToolResultValue, {
          where: outputLocation(birth.cell, begin.op),
          blob,
          problems,
        });
};

const outputLocation = (cell: CellId, op: number): string => `cell ${cell}, operation ${op}`;

const verifyOutput = async (
  value: ToolResultValue | null,
  { where, blob, problems }: { readonly where: string; readonly blob: ReadBlob; readonly problems: AuditProblems },
): Promise<void> => {
  if (value?.output === undefined) return;
  const { name, ref, bytes, chars, shown } = value.output;
  const stored = await readStored(blob, ref);
  if (stored === undefined) return problems.add('output-missing', where, `the output ${name} is not in the store`);
  const text = Buffer.from(stored).toString();
  if (sha256(stored) !== ref || stored.byteLength !== bytes || text.length !== chars)
    problems.add('output-changed', where, `the output ${name} was changed`);
  if (value.text !== preview(text, name, shown))
    problems.add('output-preview', where, `the preview of output ${name} is not its beginning`);
};

const readStored = async (blob: ReadBlob, ref: string): Promise<Uint8Array | undefined> => {
  try {
    return await blob(ref);
  } catch {
    return undefined;
  }
};
