// The tool calls of a turn's root cell whose results its model was shown, worked out from its log without code of the runtime.
import type { Frame, RecordOf, ToolResultValue } from '#contracts';

/** `text` is empty if the call failed. */
export type ShownToolCall = { readonly text: string; readonly call: { readonly name: string; readonly failed?: true } };

/** By the frame of the request that showed them. Calls of other agents are not included. */
export const toolCallsIn = (frames: readonly Frame[]): ReadonlyMap<Frame, readonly ShownToolCall[]> => {
  const names = new Map<number, string>();
  const settled = new Map<number, RecordOf<'settle'>>();
  const shown = new Map<Frame, readonly ShownToolCall[]>();
  for (const frame of frames) {
    const { cell, record, attempt } = frame;
    if (cell !== frames[0]?.cell) continue;
    if (record.type === 'begin') names.set(record.op, record.name.slice('tool:'.length));
    if (record.type === 'settle') settled.set(record.op, record);
    const added = attempt?.changes.flatMap((change) => ('add' in change ? change.add : [])) ?? [];
    const calls = added.flatMap(({ origin: { rule, of } }): readonly ShownToolCall[] => {
      const result = isResult(rule) && of[1]?.from === 'operation' ? settled.get(of[1].no) : undefined;
      if (result === undefined) return [];
      const name = names.get(result.op) ?? '';
      if (!result.ok) return [{ text: '', call: { name, failed: true } }];
      return [{ text: (result.value as ToolResultValue).text, call: { name } }];
    });
    if (calls.length > 0) shown.set(frame, calls);
  }
  return shown;
};

/** A call that nobody allowed has a result too. */
const isResult = (rule: string): boolean => rule === 'tool-result@1' || rule === 'denied@1';
