// The tool calls of a turn with their results, as its model was shown them: what a later turn of its agent is shown again.
import { utf8Bytes } from '#base';
import type { Json } from '#base';
import type { EarlierCall, Frame, SegmentRecord } from '#contracts';
import { callInput, cutBytes, isMadeBy } from '#core/rules';
import { cellSources, rebuildPart, startPrompt } from './rebuild-prompt.ts';
import { readFrame, replyParts, startRecords } from './records.ts';
import type { RunRecords } from './records.ts';

type ShownCall = { readonly call: EarlierCall; readonly text: string };

/** `frames`: the log of a turn, or its beginning. By the number of the frame in which the root's model was shown the result. */
export const shownCalls = (frames: readonly Frame[]): ReadonlyMap<number, readonly ShownCall[]> => {
  const records = startRecords();
  const shown = new Map<number, readonly ShownCall[]>();
  for (const frame of frames) {
    readFrame(records, frame);
    if (frame.attempt === undefined || frame.cell !== records.root?.birth.cell) continue;
    const added = frame.attempt.changes.flatMap((change) => ('add' in change ? change.add : []));
    const calls = added.flatMap((record) => shownCall(records, record));
    if (calls.length > 0) shown.set(frame.no, calls);
  }
  return shown;
};

const shownCall = (records: RunRecords, record: SegmentRecord): readonly ShownCall[] => {
  const { origin, category } = record;
  const [source] = origin.of;
  const root = records.root!;
  if (category !== 'TOOLS' || isMadeBy(origin.rule, 'history') || source?.from !== 'reply') return [];
  const operation = root.operations.get(source.no);
  const call = operation && replyParts(operation)[source.part];
  const { part } = rebuildPart(startPrompt(), record, cellSources(records, root));
  const message = part !== undefined && 'message' in part && part.message.role === 'tool' ? part.message : undefined;
  const [result] = message?.content ?? [];
  if (call?.type !== 'call' || result?.type !== 'tool-result') return [];
  const { type, value } = result.output as { readonly type: string; readonly value: string };
  const failed = type === 'error-text' ? ({ failed: true } as const) : {};
  return [{ call: { name: call.name, input: shortInput(call.input), ...failed }, text: value }];
};

const inputBytesMax = 1_000;
const valueBytesMax = 200;

/** Long values are shortened, such as the content of a file that was written. */
const shortInput = (input: string): string => {
  if (utf8Bytes(input) <= inputBytesMax) return input;
  const short = JSON.stringify(
    Object.fromEntries(Object.entries(callInput(input)).map(([key, value]) => [key, shortValue(value!)])),
  );
  return utf8Bytes(short) <= 2 * inputBytesMax ? short : JSON.stringify({ shortened: shortText(input) });
};

const shortValue = (value: Json): Json => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return utf8Bytes(text) <= valueBytesMax ? value : shortText(text);
};

const shortText = (text: string): string =>
  `${cutBytes(text, valueBytesMax)} … [shortened from ${utf8Bytes(text)} bytes]`;
