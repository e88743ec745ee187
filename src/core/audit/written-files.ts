// Determines from the log alone which files a cell's own writes left in its folder.
//
//   written-files-from-replies. A file's content comes from the arguments of a settled `write_file`, which are in the recorded
//       reply that called it.
//   written-files-uncertain-apart. Writes that may or may not be on disk are listed separately: a write that was in flight,
//       failed, or overlapped the write that settled last. A refused write leaves nothing.
//   written-files-never-throw. Whatever the log contains; and nothing is guessed: an undeterminable write is a problem.
import { sha256, utf8Bytes } from '#base';
import type { CellId, Hash, Json, JsonObject } from '#base';
import type { Birth, Frame, RecordOf, ModelReply, ReplyPart, ToolSchema } from '#contracts';

export type WrittenFile = {
  /** The operation that wrote it. */
  readonly op: number;
  readonly content: string;
  readonly bytes: number;
  readonly sha256: Hash;
};

export type CellFiles = {
  /** Whether its agent has a tool that reads, writes or lists files. For any other agent, the folder does not exist. */
  readonly hasFileTools: boolean;
  /** By path, ordered by when the newest write of each path settled. */
  readonly files: ReadonlyMap<string, WrittenFile>;
  /** Other contents that a path may have. If the path has no entry in `files`, the file may also not exist. */
  readonly possible: ReadonlyMap<string, readonly WrittenFile[]>;
  /** All contents that were written to a path, at any time. */
  written(path: string): readonly WrittenFile[];
  /** Offloaded outputs, which are created from the log and stored beside the cell's own files: the hash of each, by name. */
  readonly outputs: ReadonlyMap<string, string>;
  /** Descriptions of writes whose content the log does not contain. */
  readonly problems: readonly string[];
};

/** `frames`: one run, or its beginning, in log order. The result has an entry for every cell. */
export const writtenFiles = (frames: Iterable<Frame>): ReadonlyMap<CellId, CellFiles> => {
  const fold = followWrittenFiles();
  for (const frame of frames) fold.next(frame);
  return fold.cells();
};

/** The same, frame by frame. */
export const followWrittenFiles = (): {
  readonly next: (frame: Frame) => void;
  readonly cells: () => ReadonlyMap<CellId, CellFiles>;
} => {
  const run: RunState = { cells: new Map(), definitions: new Map() };
  let count = 0;
  return {
    next(frame) {
      const frameIndex = count++;
      try {
        readFrame(run, frame, frameIndex);
      } catch (error) {
        const message = error instanceof Error ? error.message : 'it cannot be read';
        const id = (frame as Frame | null)?.cell as CellId;
        const cell = run.cells.get(id);
        if (cell !== undefined) openState(run, id, cell).problems.push(`frame ${frameIndex}: ${message}`);
      }
    },
    cells: () => new Map([...run.cells].map(([cell, state]) => [cell, cellFiles(state)])),
  };
};

type Call = Extract<ReplyPart, { type: 'call' }>;
type Begin = RecordOf<'begin'>;
type Settle = RecordOf<'settle'>;

type Write = {
  readonly op: number;
  /** Undefined if the call has no usable arguments, so that nothing can have been written. */
  readonly args: { readonly path: string; readonly content: string } | undefined;
  readonly begunAt: number;
  /** Undefined while it is in flight. */
  end: { readonly at: number; readonly how: 'done' | 'refused' | 'unsure' } | undefined;
};

type CellState = FileTools & {
  /** Those that have not settled, of cells that may write. */
  readonly attempts: Set<number>;
  readonly writes: Map<number, Write>;
  /** In order of settling. */
  readonly done: Write[];
  readonly outputs: Map<string, string>;
  readonly problems: string[];
  /** The `write_file` calls of the newest reply, and how many of them have begun. */
  calls: readonly Call[];
  begun: number;
};

type FileTools = {
  readonly hasFileTools: boolean;
  /** Whether `write_file` is the runtime's own tool; an agent may define its own tool of that name. */
  readonly isWriter: boolean;
};

/** A long run has very many cells. Of those that have no file, all of one agent share an entry. */
type RunState = { readonly cells: Map<CellId, FileTools | CellState>; readonly definitions: Map<Hash, FileTools> };

const isState = (cell: FileTools | CellState): cell is CellState => 'writes' in cell;

/** What is known of a cell, to be changed. */
const openState = ({ cells }: RunState, id: CellId, cell: FileTools | CellState): CellState => {
  if (isState(cell)) return cell;
  const state: CellState = {
    ...cell,
    attempts: new Set(),
    writes: new Map(),
    done: [],
    outputs: new Map(),
    problems: [],
    calls: [],
    begun: 0,
  };
  cells.set(id, state);
  return state;
};

const readFrame = (run: RunState, frame: Frame, frameIndex: number): void => {
  const { cells, definitions } = run;
  for (const { digest, definition } of frame.definitions ?? [])
    definitions.set(digest, readFileTools(definition.tools));
  const { record } = frame;
  if (record.type === 'open') addCell(cells, record.birth, definitions);
  if (record.type === 'begin' && record.birth !== undefined) addCell(cells, record.birth, definitions);
  const cell = cells.get(frame.cell);
  if (cell === undefined) return;
  if (record.type === 'begin' && cell.isWriter)
    readBegin(openState(run, frame.cell, cell), frame, { record, place: frameIndex });
  if (record.type === 'settle' && (isState(cell) || namesOutput(record.value)))
    readSettle(openState(run, frame.cell, cell), record, frameIndex);
};

const fileTools: readonly string[] = ['read_file', 'write_file', 'list_files'];

const readFileTools = (tools: readonly ToolSchema[]): FileTools => ({
  hasFileTools: tools.some(({ name }) => fileTools.includes(name)),
  isWriter: tools.some(isRuntimeTool),
});

/** Recognised by the description that the runtime gives to models. */
const isRuntimeTool = ({ name, description }: ToolSchema): boolean =>
  name === 'write_file' && description === 'Write one of your files, overwriting it if it exists.';

const addCell = (cells: RunState['cells'], birth: Birth, definitions: ReadonlyMap<Hash, FileTools>): void => {
  if (cells.has(birth.cell)) return;
  cells.set(birth.cell, definitions.get(birth.digest) ?? withoutTools);
};

const withoutTools: FileTools = { hasFileTools: false, isWriter: false };

const readBegin = (
  cell: CellState,
  { attempt }: Frame,
  { record, place: frameIndex }: { readonly record: Begin; readonly place: number },
): void => {
  const { op, name, about } = record;
  if (attempt !== undefined) cell.attempts.add(op);
  if (name !== 'tool:write_file' || cell.writes.has(op)) return;
  // Calls begin in the order of the reply, each as one step, so the n-th `write_file` step belongs to the n-th such call.
  const call = cell.calls[cell.begun++];
  const fits = call !== undefined && matchesCall(call, about);
  if (!fits) cell.problems.push(`operation ${op} writes a file, but its call is not in the log`);
  cell.writes.set(op, {
    op,
    args: fits ? parseArgs(call.input) : undefined,
    begunAt: frameIndex,
    end: undefined,
  });
};

/** A step records its call's arguments or, if they are long, their beginning and their length. */
const matchesCall = ({ input }: Call, about: JsonObject | undefined): boolean => {
  const recorded = about?.['args'];
  if (typeof recorded !== 'string') return false;
  if (about?.['argsChars'] === undefined) return recorded === input;
  return about['argsChars'] === input.length && recorded.endsWith('…') && input.startsWith(recorded.slice(0, -1));
};

/** The arguments as the tool reads them; undefined if its schema refuses them. */
const parseArgs = (input: string): Write['args'] => {
  try {
    const { path, content } = JSON.parse(input) as { path?: Json; content?: Json };
    return typeof path === 'string' && typeof content === 'string' ? { path, content } : undefined;
  } catch {
    return undefined;
  }
};

/** After a stop from outside, or a disk failure midway, it is unknown whether the file was written. */
const unsureCodes: readonly string[] = [
  'tool_timeout',
  'deadline_passed',
  'cancelled',
  'indeterminate',
  'store_failed',
];

const readSettle = (cell: CellState, { op, ok, value, failure }: Settle, frameIndex: number): void => {
  if (cell.attempts.delete(op) && ok) {
    cell.begun = 0;
    cell.calls = [];
    cell.calls = (value as unknown as ModelReply).parts.filter(isWriteCall);
    return;
  }
  const write = cell.writes.get(op);
  if (write === undefined) return addOutput(cell, value);
  if (write.end !== undefined) return;
  write.end = { at: frameIndex, how: ok ? 'done' : unsureCodes.includes(failure?.code ?? '') ? 'unsure' : 'refused' };
  if (!ok) return;
  if (write.args !== undefined) cell.done.push(write);
  else cell.problems.push(`operation ${op} wrote a file, but the log does not say which`);
};

const isWriteCall = (part: ReplyPart): part is Call => part.type === 'call' && part.name === 'write_file';

type OutputName = { readonly name: string; readonly ref?: Json };

const namesOutput = (value: Json | undefined): value is { readonly output: OutputName } => {
  const { output } = (value ?? {}) as { output?: { name?: Json } | null };
  return typeof output?.name === 'string';
};

const addOutput = (cell: CellState, value: Json | undefined): void => {
  if (!namesOutput(value)) return;
  const { name, ref } = value.output;
  cell.outputs.set(name, typeof ref === 'string' ? ref : '');
};

const nothing: ReadonlyMap<never, never> = new Map<never, never>();

const noFiles = [false, true].map((hasFileTools): CellFiles => {
  return { hasFileTools, files: nothing, possible: nothing, written: () => [], outputs: nothing, problems: [] };
});

const cellFiles = (cell: FileTools | CellState): CellFiles => {
  const { hasFileTools } = cell;
  if (!isState(cell)) return noFiles[Number(hasFileTools)]!;
  const { writes, done, outputs, problems } = cell;
  const newest = new Map<string, Write>();
  for (const write of done) {
    newest.delete(write.args!.path);
    newest.set(write.args!.path, write);
  }
  const possible = new Map<string, WrittenFile[]>();
  for (const write of writes.values()) {
    if (write.args === undefined || !mayBeOnDisk(write, newest.get(write.args.path))) continue;
    possible.set(write.args.path, [...(possible.get(write.args.path) ?? []), writtenFile(write)]);
  }
  const written = (path: string): readonly WrittenFile[] =>
    [...writes.values()].filter(({ args }) => args?.path === path).map(writtenFile);
  const files = new Map([...newest].map(([path, write]) => [path, writtenFile(write)]));
  return { hasFileTools, files, possible, written, outputs, problems };
};

/** Overlapping writes may reach the disk in a different order than they settle. */
const mayBeOnDisk = (write: Write, newest: Write | undefined): boolean => {
  if (write === newest || write.end?.how === 'refused') return false;
  if (write.end === undefined || write.end.how === 'unsure' || newest === undefined) return true;
  return write.end.at > newest.begunAt;
};

const writtenFile = ({ op, args }: Write): WrittenFile => {
  const { content } = args!;
  return { op, content, bytes: utf8Bytes(content), sha256: sha256(content) };
};
