// Checks that stored outputs are unchanged, and that the model was shown their beginning.
import { sha256 } from '#base';
import type { CellId } from '#base';
import type { ToolResultValue } from '#contracts';
import { preview } from '#core/rules';
import type { AuditProblems } from './problems.ts';
import type { RunRecords } from './records.ts';

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
  const stored = await readBlob(blob, ref);
  if (stored === undefined) return problems.add('output-missing', where, `the output ${name} is not in the store`);
  const text = Buffer.from(stored).toString();
  if (sha256(stored) !== ref || stored.byteLength !== bytes || text.length !== chars)
    problems.add('output-changed', where, `the output ${name} was changed`);
  if (value.text !== preview(text, name, shown))
    problems.add('output-preview', where, `the preview of output ${name} is not its beginning`);
};

const readBlob = async (blob: ReadBlob, ref: string): Promise<Uint8Array | undefined> => {
  try {
    return await blob(ref);
  } catch {
    return undefined;
  }
};
