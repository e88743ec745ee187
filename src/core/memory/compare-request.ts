// Compares a request with what its attempt records: the segments in view, which have origins.
//
//   compared-once. A message that was compared with its segment is not compared with it again while both are only added to, so that
//       a long session costs what is new in each request. After a cut, and whenever the view has doubled, all of it is compared.
import type { Attempt, Segment, SegmentRecord, ViewChange } from '#contracts';
import type { ModelRequest } from './segment.ts';

/** How much of the view and of the request has been compared. `whole`: the size of the view when all of it was. */
type ComparedSoFar = {
  readonly segments: number;
  readonly messages: number;
  readonly tools: number;
  readonly whole: number;
};

export const nothingCompared: ComparedSoFar = { segments: 0, messages: 0, tools: 0, whole: 0 };

/** Null if the request or the record differs from the view. */
export const compareRequest = (
  { prompt, tools }: ModelRequest,
  { view, changes }: { readonly view: readonly Segment[] } & Pick<Attempt, 'changes'>,
  before: ComparedSoFar,
): ComparedSoFar | null => {
  if (!areNewest(changes, view)) return null;
  const isAll = view.length >= 2 * before.whole || !changes.every((change) => 'add' in change);
  const from = isAll ? nothingCompared : before;
  let [messageAt, toolAt] = [from.messages, from.tools];
  for (let at = from.segments; at < view.length; at++) {
    const { part } = view[at]!;
    const isSame = 'message' in part ? prompt[messageAt++] === part.message : tools[toolAt++] === part.tool;
    if (!isSame) return null;
  }
  if (messageAt !== prompt.length || toolAt !== tools.length) return null;
  return { segments: view.length, messages: messageAt, tools: toolAt, whole: isAll ? view.length : before.whole };
};

/** Whether the additions that are recorded last are the newest segments in view. */
const areNewest = (changes: readonly ViewChange[], view: readonly Segment[]): boolean => {
  let at = view.length;
  for (const change of changes.toReversed()) {
    if (!('add' in change)) return true;
    for (const record of change.add.toReversed()) if (!isRecordOf(record, view[--at])) return false;
  }
  return true;
};

const isRecordOf = (record: SegmentRecord, segment: Segment | undefined): boolean =>
  record.id === segment?.id && record.origin === segment.origin && record.bytes === segment.bytes;
