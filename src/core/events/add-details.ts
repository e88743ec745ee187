// Adds contents to events: what was shown, said, called with, returned and crossed.
//
//   details-suffice. The whole transcript of a run follows from its events with details (`transcriptFrom`).
import type { CellId, Json } from '#base';
import { decodeDependency, decodeEnvelope, decodeMail } from '#contracts';
import type {
  CrossingContent,
  EventDetails,
  Frame,
  ReplyPart,
  SaidPart,
  ShownPart,
  StoredOutput,
  ToolResultValue,
} from '#contracts';
import { exceedsPreview, isMadeBy, longTexts, partText } from '#core/rules';
import { applyRequest, RunContents } from './cell-contents.ts';
import type { CellContents, VisiblePart } from './cell-contents.ts';
import { describeOrigin, shownOperation } from './describe-origin.ts';
import type { EventBody } from './event-envelope.ts';

type NameOf = (cell: CellId) => string;

/** A fold over the frames of one run, in order, with the events of each. */
type DetailFold = { next(frame: Frame, events: readonly EventBody[]): readonly EventBody[] };

export const addDetails = (nameOf: NameOf): DetailFold => {
  const run = new RunContents();
  return {
    next: (frame, events) => {
      run.next(frame);
      const crossed = [...(frame.contents ?? [])];
      return events.map((event) => {
        const details = detailsOf(event, { frame, crossed, cell: run.cell(event.cell), nameOf });
        return details === undefined ? event : ({ ...event, details } as EventBody);
      });
    },
  };
};

type Around = {
  readonly frame: Frame;
  /** The contents of the frame that no event of it has shown yet. */
  readonly crossed: CrossingContent[];
  readonly cell: CellContents | undefined;
  readonly nameOf: NameOf;
};

const detailsOf = (event: EventBody, around: Around): EventDetails[keyof EventDetails] | undefined => {
  const { frame, cell, nameOf } = around;
  switch (event.type) {
    case 'model-start':
      return cell && requestDetails(cell, frame, nameOf);
    case 'model-end':
      return event.ok && cell !== undefined ? { said: (cell.replies.get(event.op) ?? []).map(saidPart) } : undefined;
    case 'tool-start':
      return { args: takeArgs(cell, event.tool, event.args) };
    case 'child-start':
      return { args: childArgs(cell, event, frame) };
    case 'tool-end': {
      const settled = cell?.settled.get(event.op);
      return settled?.ok === true ? toolDetails(settled.value as ToolResultValue | null) : undefined;
    }
    case 'child-end': {
      const result = frame.contents?.find((one) => one.kind === 'result' && one.cell === event.cell);
      return result && { result: decodeEnvelope(result.content).output };
    }
    case 'crossing': {
      const { kind, from, to } = event;
      const index = around.crossed.findIndex((one) => one.kind === kind && one.from === from && one.to === to);
      const [found] = index < 0 ? [] : around.crossed.splice(index, 1);
      return found && { content: found.content };
    }
    case 'mail': {
      const text = event.state === 'queued' ? mailText(frame, event.message) : undefined;
      return text === undefined ? undefined : { text };
    }
    case 'session-end': {
      const { record } = frame;
      const outcome = record.type === 'close' ? record.outcome : record.type === 'settle' && record.ended?.outcome;
      return outcome ? { output: outcome.output } : undefined;
    }
    default:
      return undefined;
  }
};

/** None for a request that is sent again after a crash: nothing has changed in it. */
const requestDetails = (
  cell: CellContents,
  { attempt }: Frame,
  nameOf: NameOf,
): EventDetails['model-start'] | undefined => {
  if (attempt === undefined) return undefined;
  const { added, isAppended } = applyRequest(cell, attempt);
  const shown = added.map((visible) => shownPart(visible, cell, nameOf));
  return isAppended ? { shown } : { shown, view: [...cell.view].map(({ id }) => id) };
};

const shownPart = (visible: VisiblePart, cell: CellContents, nameOf: NameOf): ShownPart => {
  const { record, part } = visible;
  const op = shownOperation(record);
  return {
    id: record.id,
    category: record.category,
    origin: describeOrigin(visible, cell, nameOf),
    rule: record.origin.rule,
    ...(op === undefined ? {} : { op }),
    text: part === undefined ? '' : partText(part),
    whole: part !== undefined && isWhole(visible),
  };
};

const isWhole = ({ record: { origin }, sources }: VisiblePart): boolean => {
  const { rule, with: numbers = [] } = origin;
  if (isMadeBy(rule, 'compact', 'recap', 'summary', 'shorten', 'left-out')) return false;
  const [first] = sources;
  if (isMadeBy(rule, 'dependency'))
    return first?.from !== 'crossing' || !exceedsPreview(decodeDependency(first.content).text, numbers[1] ?? 0);
  const settled = sources.find((source) => source.from === 'operation')?.settled;
  const value = settled?.ok === true ? (settled.value as Partial<ToolResultValue> | null) : null;
  if (isMadeBy(rule, 'tool-result')) return value?.output === undefined;
  return longTexts(rule, sources, numbers).length === 0;
};

const saidPart = (part: ReplyPart): SaidPart =>
  part.type === 'call'
    ? { type: 'call', id: part.id, tool: part.name, args: part.input }
    : { type: part.type, text: part.text };

/** The arguments as the model wrote them; what is recorded with the call is cut. */
const takeArgs = (cell: CellContents | undefined, tool: string, recorded: string): string =>
  takeCall(cell, tool, recorded)?.input ?? recorded;

/** An agent that was not called by its name, such as one of a `gather`, has its goal. */
const childArgs = (
  cell: CellContents | undefined,
  { tool, child }: { readonly tool: string; readonly child: CellId },
  { record, contents = [] }: Frame,
): string => {
  const args: Json | undefined = record.type === 'begin' ? record.about?.['args'] : undefined;
  const call = takeCall(cell, tool, typeof args === 'string' ? args : '');
  return call?.input ?? contents.find((one) => one.kind === 'goal' && one.cell === child)?.content ?? '';
};

const takeCall = (cell: CellContents | undefined, tool: string, recorded: string) => {
  const begins = recorded.endsWith('…') ? recorded.slice(0, -1) : recorded;
  const index = cell?.calls.findIndex(({ name, input }) => name === tool && input.startsWith(begins)) ?? -1;
  const call = cell?.calls[index];
  if (cell !== undefined && call !== undefined) cell.calls = cell.calls.toSpliced(index, 1);
  return call;
};

const toolDetails = (value: ToolResultValue | null): EventDetails['tool-end'] => {
  const { text = '', output } = value ?? {};
  return output === undefined ? { result: text } : { result: text, output: storedOutput(output) };
};

/** Without the stored text: whoever reads the events for somebody adds it (`readLongOutputs`). */
const storedOutput = ({ name, bytes, ref }: StoredOutput): EventDetails['tool-end']['output'] => ({
  name,
  bytes,
  ref,
  text: null,
  whole: false,
});

const mailText = ({ record, contents = [] }: Frame, id: string): string | undefined =>
  record.type === 'give'
    ? undefined
    : contents
        .filter(({ kind }) => kind === 'message' || kind === 'broadcast')
        .map(({ content }) => decodeMail(content))
        .find((mail) => mail.id === id)?.text;
