// What a cell's own writes left in its workspace, told by the log alone.
//
//   A9.  A file is what the arguments of a settled `write_file` say; they are in the recorded reply that asked for it.
//   A10. What a write may have left, or may leave yet, is told apart: it was in flight, did not end well, or overlapped the
//        one that settled last. A refused one leaves nothing.
//   A11. Never throws for what the log holds, and guesses nothing: a write that cannot be told is a problem.
import { sha256, utf8Bytes } from '#base';
import type { CellId, Hash, Json, JsonObject } from '#base';
import type { Birth, Frame, FrameRecord, ModelReply, ReplyPart, ToolSchema } from '#contracts';

export type WrittenFile = {
  /** The operation that wrote it. */
  readonly op: number;
  readonly content: string;
  readonly bytes: number;
  readonly sha256: Hash;
};

export type CellFiles = {
  /** Whether its agent has a tool that reads, writes or lists files: to any other, its folder does not exist. */
  readonly inSight: boolean;
  /** By path, in the order in which the newest write of each settled. */
  readonly files: ReadonlyMap<string, WrittenFile>;
  /** What else may lie under a path; without an entry in `files`, nothing may lie there too. */
  readonly maybe: ReadonlyMap<string, readonly WrittenFile[]>;
  /** Names of offloaded outputs, which are made from the log and lie beside the cell's own files. */
  readonly outputs: ReadonlySet<string>;
  /** Writes of which the log does not tell what they wrote, in words. */
  readonly problems: readonly string[];
};

/** `frames` is one run, or the beginning of one, in the order of its log. Every cell that was born has its entry. */
export const writtenFiles = (frames: readonly Frame[]): ReadonlyMap<CellId, CellFiles> => {
  const run: RunState = { cells: new Map(), definitions: new Map() };
  for (const [place, frame] of frames.entries())
    try {
      readFrame(run, frame, place);
    } catch (error) {
      const words = error instanceof Error ? error.message : 'it cannot be read';
      run.cells.get((frame as Frame | null)?.cell as CellId)?.problems.push(`frame ${place}: ${words}`);
    }
  return new Map([...run.cells].map(([cell, state]) => [cell, filesOf(state)]));
};

type Call = Extract<ReplyPart, { type: 'call' }>;
type Begin = Extract<FrameRecord, { type: 'begin' }>;
type Settle = Extract<FrameRecord, { type: 'settle' }>;

type Write = {
  readonly op: number;
  /** Undefined when the call has no usable arguments: then nothing can have been written. */
  readonly args: { readonly path: string; readonly content: string } | undefined;
  readonly begunAt: number;
  /** Undefined while it is in flight. */
  end: { readonly at: number; readonly how: 'done' | 'refused' | 'unsure' } | undefined;
};

type CellState = FileTools & {
  readonly attempts: Set<number>;
  readonly writes: Map<number, Write>;
  /** In the order in which they settled. */
  readonly done: Write[];
  readonly outputs: Set<string>;
  readonly problems: string[];
  /** The `write_file` calls of the newest reply, and how many of them have begun. */
  calls: readonly Call[];
  begun: number;
};

type FileTools = {
  readonly inSight: boolean;
  /** Whether `write_file` is the runtime's own here: an agent may have a tool of that name. */
  readonly isWriter: boolean;
};

type RunState = { readonly cells: Map<CellId, CellState>; readonly definitions: Map<Hash, FileTools> };

const readFrame = ({ cells, definitions }: RunState, frame: Frame, place: number): void => {
  for (const { digest, definition } of frame.definitions ?? []) definitions.set(digest, fileToolsOf(definition.tools));
  const { record } = frame;
  if (record.type === 'open') bear(cells, record.birth, definitions);
  if (record.type === 'begin' && record.birth !== undefined) bear(cells, record.birth, definitions);
  const cell = cells.get(frame.cell);
  if (cell === undefined) return;
  if (record.type === 'begin') begin(cell, frame, { record, place });
  if (record.type === 'settle') settle(cell, record, place);
};

const fileTools: readonly string[] = ['read_file', 'write_file', 'list_files'];

const fileToolsOf = (tools: readonly ToolSchema[]): FileTools => ({
  inSight: tools.some(({ name }) => fileTools.includes(name)),
  isWriter: tools.some(isRuntimesOwn),
});

/** As the runtime describes it to models. */
const isRuntimesOwn = ({ name, description }: ToolSchema): boolean =>
  name === 'write_file' && description === 'Writes a file of your own, replacing it if it is there.';

const bear = (cells: Map<CellId, CellState>, birth: Birth, definitions: ReadonlyMap<Hash, FileTools>): void => {
  if (cells.has(birth.cell)) return;
  cells.set(birth.cell, {
    ...(definitions.get(birth.digest) ?? { inSight: false, isWriter: false }),
    attempts: new Set(),
    writes: new Map(),
    done: [],
    outputs: new Set(),
    problems: [],
    calls: [],
    begun: 0,
  });
};

const begin = (
  cell: CellState,
  { attempt }: Frame,
  { record, place }: { readonly record: Begin; readonly place: number },
): void => {
  const { op, name, about } = record;
  if (attempt !== undefined) cell.attempts.add(op);
  if (!cell.isWriter || name !== 'tool:write_file' || cell.writes.has(op)) return;
  // Calls begin in the order of the reply, each as one step: the n-th step of that name is the n-th such call.
  const call = cell.calls[cell.begun++];
  const fits = call !== undefined && isCallOf(call, about);
  if (!fits) cell.problems.push(`operation ${op} writes a file, but the call for it is not in the log`);
  cell.writes.set(op, { op, args: fits ? argsOf(call.input) : undefined, begunAt: place, end: undefined });
};

/** What the step says of its call: all of its arguments, or how they begin and how long they are. */
const isCallOf = ({ input }: Call, about: JsonObject | undefined): boolean => {
  const said = about?.['args'];
  if (typeof said !== 'string') return false;
  if (about?.['argsChars'] === undefined) return said === input;
  return about['argsChars'] === input.length && said.endsWith('…') && input.startsWith(said.slice(0, -1));
};

/** As the tool takes them; undefined for what its schema refuses. */
const argsOf = (input: string): Write['args'] => {
  try {
    const { path, content } = JSON.parse(input) as { path?: Json; content?: Json };
    return typeof path === 'string' && typeof content === 'string' ? { path, content } : undefined;
  } catch {
    return undefined;
  }
};

/** A stop from outside while the work goes on, or a disk that failed midway: whether the file was written is not known. */
const unsure: readonly string[] = ['tool_timeout', 'deadline_passed', 'cancelled', 'indeterminate', 'store_failed'];

const settle = (cell: CellState, { op, ok, value, failure }: Settle, place: number): void => {
  if (ok && cell.attempts.has(op)) {
    cell.begun = 0;
    cell.calls = [];
    cell.calls = (value as unknown as ModelReply).parts.filter(isWriteCall);
    return;
  }
  const write = cell.writes.get(op);
  if (write === undefined) return keepOutput(cell, value);
  if (write.end !== undefined) return;
  write.end = { at: place, how: ok ? 'done' : unsure.includes(failure?.code ?? '') ? 'unsure' : 'refused' };
  if (!ok) return;
  if (write.args !== undefined) cell.done.push(write);
  else cell.problems.push(`operation ${op} wrote a file, but the log does not say which`);
};

const isWriteCall = (part: ReplyPart): part is Call => part.type === 'call' && part.name === 'write_file';

const keepOutput = (cell: CellState, value: Json | undefined): void => {
  const { output } = (value ?? {}) as { output?: { name?: Json } | null };
  if (typeof output?.name === 'string') cell.outputs.add(output.name);
};

const filesOf = ({ inSight, writes, done, outputs, problems }: CellState): CellFiles => {
  const newest = new Map<string, Write>();
  for (const write of done) {
    newest.delete(write.args!.path);
    newest.set(write.args!.path, write);
  }
  const maybe = new Map<string, WrittenFile[]>();
  for (const write of writes.values()) {
    if (write.args === undefined || !mayLieThere(write, newest.get(write.args.path))) continue;
    maybe.set(write.args.path, [...(maybe.get(write.args.path) ?? []), fileOf(write)]);
  }
  const files = new Map([...newest].map(([path, write]) => [path, fileOf(write)]));
  return { inSight, files, maybe, outputs, problems };
};

/** Two writes that overlap may reach the disk in another order than they settle. */
const mayLieThere = (write: Write, newest: Write | undefined): boolean => {
  if (write === newest || write.end?.how === 'refused') return false;
  if (write.end === undefined || write.end.how === 'unsure' || newest === undefined) return true;
  return write.end.at > newest.begunAt;
};

const fileOf = ({ op, args }: Write): WrittenFile => {
  const { content } = args!;
  return { op, content, bytes: utf8Bytes(content), sha256: sha256(content) };
};
