// Are the outputs that were too long to show still what they were, and was the model shown their beginning.
import { sha256 } from '#base';
import type { CellId } from '#base';
import type { ToolResultValue } from '#contracts';
import { preview } from '#core/rules';
import type { AuditProblems } from './problems.ts';
import type { RunRecords } from './records.ts';

type Blob = (ref: string) => Promise<Uint8Array>;

export const verifyOutputs = async ({ cells }: RunRecords, blob: Blob, problems: AuditProblems): Promise<void> => {
  for (const { birth, operations } of cells.values())
    for (const { begin, settle } of operations.values())
      if (settle?.ok === true && begin.name.startsWith('tool:'))
        await verifyOutput(settle.value as ToolResultValue, { where: whereOf(birth.cell, begin.op), blob, problems });
};

const whereOf = (cell: CellId, op: number): string => `cell ${cell}, operation ${op}`;

const verifyOutput = async (
  value: ToolResultValue | null,
  { where, blob, problems }: { readonly where: string; readonly blob: Blob; readonly problems: AuditProblems },
): Promise<void> => {
  if (value?.output === undefined) return;
  const { name, ref, bytes, chars, shown } = value.output;
  const kept = await readBlob(blob, ref);
  if (kept === undefined) return problems.add('output-missing', where, `the output ${name} is not in the store`);
  const text = Buffer.from(kept).toString();
  if (sha256(kept) !== ref || kept.byteLength !== bytes || text.length !== chars)
    problems.add('output-changed', where, `the output ${name} is not what was kept`);
  if (value.text !== preview(text, name, shown))
    problems.add('output-preview', where, `what was shown of the output ${name} is not its beginning`);
};

const readBlob = async (blob: Blob, ref: string): Promise<Uint8Array | undefined> => {
  try {
    return await blob(ref);
  } catch {
    return undefined;
  }
};
