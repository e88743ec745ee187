// The files and outputs of a turn's root cell, worked out from its log without code of the runtime.
import { sha256 } from '#base';
import type { Frame, RecordOf, ModelReply, ToolResultValue } from '#contracts';

export type FileFacts = { readonly bytes: number; readonly sha256: string };

/** By path, and the names of the tools' own outputs in order. */
export type FilesLeft = { readonly files: ReadonlyMap<string, FileFacts>; readonly outputs: readonly string[] };

/** A call of a file tool. `path` and `content` are those of its arguments. */
export type FileCall = {
  readonly tool: string;
  readonly path: string;
  readonly content: string;
  readonly beganIn: number;
  settledIn: number;
  settle: RecordOf<'settle'> | undefined;
};

/** What a turn took over, according to its first frame. */
export const filesTakenOver = (frames: readonly Frame[]): FilesLeft => {
  const content = frames[0]?.contents?.find(({ kind }) => kind === 'file')?.content;
  const { files = [], outputs = [] } = JSON.parse(content ?? '{}') as {
    readonly files?: readonly (FileFacts & { readonly path: string })[];
    readonly outputs?: readonly { readonly name: string; readonly framed?: true }[];
  };
  return {
    files: new Map(files.map(({ path, bytes, sha256: hash }) => [path, { bytes, sha256: hash }])),
    // What other agents said is framed; other judges know it.
    outputs: outputs.flatMap(({ name, framed }) => (framed === true ? [] : [name])),
  };
};

export const filesLeftBy = (frames: readonly Frame[]): FilesLeft => {
  const { files, outputs } = filesTakenOver(frames);
  const left = new Map(files);
  const writes = fileCalls(frames).filter(({ tool, settle }) => tool === 'write_file' && settle?.ok === true);
  for (const { path, content } of writes.sort((one, other) => one.settledIn - other.settledIn))
    left.set(path, fileFacts(content));
  return { files: left, outputs: [...outputs, ...storedOutputs(frames)] };
};

export const fileFacts = (content: string): FileFacts => ({
  bytes: Buffer.byteLength(content),
  sha256: sha256(content),
});

/** The names of the outputs that the root's tools stored in this log. */
export const storedOutputs = (frames: readonly Frame[]): readonly string[] => {
  const tools = new Set<number>();
  return frames.flatMap(({ cell, record }) => {
    if (cell !== frames[0]?.cell) return [];
    if (record.type === 'begin' && record.name.startsWith('tool:')) tools.add(record.op);
    if (record.type !== 'settle' || !record.ok || !tools.has(record.op)) return [];
    const name = (record.value as ToolResultValue | null)?.output?.name;
    return name === undefined ? [] : [name];
  });
};

const fileTools: readonly string[] = ['tool:write_file', 'tool:read_file', 'tool:list_files'];

/** The root's calls of file tools, in the order in which they began. The n-th step of a tool belongs to the n-th call of its reply. */
export const fileCalls = (frames: readonly Frame[]): readonly FileCall[] => {
  const attempts = new Set<number>();
  const calls = new Map<number, FileCall>();
  let waiting: { readonly name: string; readonly input: string }[] = [];
  for (const [no, { cell, record, attempt }] of frames.entries()) {
    if (cell !== frames[0]?.cell) continue;
    if (record.type === 'begin') {
      if (attempt !== undefined) attempts.add(record.op);
      const index = waiting.findIndex(({ name }) => `tool:${name}` === record.name);
      const [call] = index < 0 ? [] : waiting.splice(index, 1);
      const tool = record.name.slice('tool:'.length);
      if (fileTools.includes(record.name))
        calls.set(record.op, { tool, ...argsOf(call?.input), beganIn: no, settledIn: Infinity, settle: undefined });
    }
    if (record.type !== 'settle') continue;
    if (record.ok && attempts.has(record.op))
      waiting = (record.value as unknown as ModelReply).parts.filter((part) => part.type === 'call');
    const call = calls.get(record.op);
    if (call === undefined || call.settle !== undefined) continue;
    call.settle = record;
    call.settledIn = no;
  }
  return [...calls.values()];
};

const argsOf = (input = '{}'): Pick<FileCall, 'path' | 'content'> => {
  try {
    const { path = '', content = '' } = JSON.parse(input) as { readonly path?: string; readonly content?: string };
    return { path, content };
  } catch {
    return { path: '', content: '' };
  }
};
