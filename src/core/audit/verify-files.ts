// Checks what a turn of a conversation took over: it is what its agent's turn before left, and the store has all of it unchanged.
import { isSameJson, sha256 } from '#base';
import type { RunId, CellId } from '#base';
import { attachmentsIn } from '#contracts';
import type { AuditProblem, Frame, InheritedFiles, StoredAttachment, ToolResultValue } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems, ProblemCode } from './problems.ts';
import { inheritedBy, turnFiles } from './turn-files.ts';
import { preview } from '#core/rules';
import type { CellRecords, OperationRecord, RunRecords } from './records.ts';

export type FileSources = {
  readonly readBlob: (ref: string) => Promise<Uint8Array>;
  /** The frames of another run; null if they cannot be read. Absent: other runs are not read. */
  readonly readRun?: (run: RunId) => Promise<readonly Frame[] | null>;
};

export const verifyFiles = async (
  open: Frame | undefined,
  { readBlob, readRun }: FileSources,
  problems: AuditProblems,
): Promise<void> => {
  if (open === undefined) return;
  const where = problemLocation(open);
  if ((open.contents ?? []).filter(({ kind }) => kind === 'file').length > 1)
    problems.add('crossing-content', where, 'it took over files twice');
  const inherited = readInherited(open, where, problems);
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

const readInherited = (open: Frame, where: string, problems: AuditProblems): InheritedFiles | null => {
  try {
    const inherited = inheritedBy([open]);
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
  open: Frame | undefined,
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

type OutputProblem = AuditProblem & { readonly code: ProblemCode; readonly cell: number; readonly operation: number };

export class OutputsCheck {
  readonly #records: RunRecords;
  readonly #readBlob: ReadBlob;
  readonly #found: OutputProblem[] = [];

  constructor(records: RunRecords, readBlob: ReadBlob) {
    this.#records = records;
    this.#readBlob = readBlob;
  }

  /** Undefined if the frame stores no output. */
  next(frame: Frame): Promise<void> | undefined {
    const { settled, cells } = this.#records;
    const cell = cells.get(frame.cell);
    if (cell === undefined || settled?.settle?.ok !== true || !settled.begin.name.startsWith('tool:')) return undefined;
    const value = settled.settle.value as ToolResultValue | null;
    return value?.output === undefined ? undefined : this.#verify(cell, settled, value);
  }

  async #verify({ birth, nth }: CellRecords, settled: OperationRecord, value: ToolResultValue): Promise<void> {
    const add = (code: ProblemCode, where: string, message: string): void =>
      void this.#found.push({ code, where, message, cell: nth, operation: settled.nth });
    const where = outputLocation(birth.cell, settled.begin.op);
    await verifyOutput(value, { where, blob: this.#readBlob, problems: { add } });
  }

  /** By cell, and then by operation. */
  finish(problems: AuditProblems): void {
    const inOrder = this.#found.toSorted((one, other) => one.cell - other.cell || one.operation - other.operation);
    for (const { code, where, message } of inOrder) problems.add(code, where, message);
  }
}

const outputLocation = (cell: CellId, op: number): string => `cell ${cell}, operation ${op}`;

type OutputContext = {
  readonly where: string;
  readonly blob: ReadBlob;
  readonly problems: Pick<AuditProblems, 'add'>;
};

const verifyOutput = async (value: ToolResultValue | null, { where, blob, problems }: OutputContext): Promise<void> => {
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
