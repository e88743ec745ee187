// Built-in tools: reading offloaded outputs back, and the cell's own files.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { BuiltinTool, MailTool, RetrySafety, StepOperation, ToolSchema, ToolResultValue } from '#contracts';
import { cutBytes, dataFrame } from '#core/rules';
import { failingChain, stepAbout, stepChain } from './tool-call-chain.ts';
import type { ToolCall, Session, ToolRunner } from './state.ts';
import { limitFailure } from './limits.ts';
import { mailSchemas } from './mail-schemas.ts';
import { outputExtensions } from './output-extension.ts';

const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };

export const builtinSchemas = {
  read_output: {
    name: 'read_output',
    description:
      'Read part of an earlier output that was too long to show in full. `from` is an offset and `bytes` a length, both in UTF-8 bytes.',
    inputSchema: object({ name: text, from: count, bytes: count }, ['name']),
  },
  read_file: {
    name: 'read_file',
    description: 'Read one of your files, in full or from a byte offset.',
    inputSchema: object({ path: text, from: count, bytes: count }, ['path']),
  },
  write_file: {
    name: 'write_file',
    description: 'Write one of your files, overwriting it if it exists.',
    inputSchema: object({ path: text, content: text }, ['path', 'content']),
  },
  list_files: {
    name: 'list_files',
    description: 'List your files and their sizes.',
    inputSchema: object({}, []),
  },
  ...mailSchemas,
} as const satisfies Record<BuiltinTool | 'read_output', ToolSchema>;

type FileTool = Exclude<BuiltinTool, MailTool> | 'read_output';

export const builtinTool = (name: FileTool): ToolRunner => ({
  schema: builtinSchemas[name],
  createChain: chainsByTool[name],
});

const chainsByTool: Record<FileTool, ToolRunner['createChain']> = {
  read_output: (call, args, session) => {
    const readable = session.cell.output(textArg(args, 'name'));
    if (readable === undefined)
      return failingChain(call, session, 'file_missing', `No output is named "${textArg(args, 'name').slice(0, 80)}".`);
    return step(call, session, async () => {
      const bytes = 'ref' in readable ? await session.ports.world.readBlob(readable.ref) : Buffer.from(readable.text);
      const page = slice(bytes, args, session);
      // Crossed content stays framed as data, on every page.
      const isFramed = 'text' in readable || readable.framed === true;
      return isFramed ? dataFrame(`From ${textArg(args, 'name')}.`, page) : page;
    });
  },
  read_file: (call, args, session) => {
    if (isToolOutput(textArg(args, 'path'), session))
      return failingChain(call, session, 'file_missing', 'This is a tool output; read it with read_output.');
    return step(call, session, async () => {
      const from = numberOr(args['from'], 0);
      const { bytes, size } = await session.cell.workspace.read(
        textArg(args, 'path'),
        from,
        sliceLength(args, session),
      );
      return shownSlice(bytes, from, size);
    });
  },
  write_file: (call, args, session) => {
    if (isToolOutput(textArg(args, 'path'), session))
      return failingChain(call, session, 'file_refused', 'This name is reserved for tool outputs.');
    const bytes = Buffer.from(textArg(args, 'content'));
    const counted = session.cell.countFile(textArg(args, 'path'), bytes.length);
    if (typeof counted === 'string') return { stop: limitFailure(counted) };
    const write = step(
      call,
      session,
      async () => {
        await session.cell.workspace.write(textArg(args, 'path'), bytes);
        return `Wrote ${bytes.length} bytes.`;
      },
      // Writing the file again is safe, but only after the log knows about it.
      'keyed',
    );
    return {
      begin: write.begin,
      onSettled: (index, settled, no) => {
        if (!settled.ok) counted.undo();
        return write.onSettled(index, settled, no);
      },
    };
  },
  list_files: (call, _args, session) =>
    step(call, session, async () => {
      const files = (await session.cell.workspace.list()).filter(({ path }) => !isToolOutput(path, session));
      return formatFileList(files, session.cell.shownBytesMax);
    }),
};

/** As many files as may be shown, and the total number. */
const formatFileList = (files: readonly { path: string; bytes: number }[], bytesMax: number): string => {
  if (files.length === 0) return 'No files.';
  const all = files.map(({ path, bytes }) => `${path} (${bytes} bytes)`).join('\n');
  const shown = cutBytes(all, bytesMax);
  return shown === all ? all : `${shown.slice(0, shown.lastIndexOf('\n') + 1)}[${files.length} files in total]`;
};

/** Offloaded outputs are stored in the same folder. The agent can neither use nor see their names. */
const isToolOutput = (path: string, { tools }: Session): boolean => {
  const tool = outputShape.exec(path.split('/')[0] ?? '')?.[1];
  return tool !== undefined && tools.has(tool);
};

const outputShape = new RegExp(`^(.+)_\\d{3,}\\.(?:${outputExtensions.join('|')})$`, 'u');

const step = (call: ToolCall, session: Session, read: () => Promise<string>, repeat: RetrySafety = 'free') => {
  const operation: StepOperation = {
    do: 'step',
    name: `tool:${call.name}`,
    repeat,
    timeoutMs: session.workClock.timeoutMs(session.cell.limits.toolTimeout),
    timeoutCode: 'tool_timeout',
    deadline: session.cell.runtime.deadline,
    about: stepAbout(session, call),
    work: async (): Promise<Json> => ({ text: await read() }) satisfies ToolResultValue,
  };
  return stepChain(operation);
};

const slice = (bytes: Uint8Array, args: JsonObject, session: Session): string => {
  const size = bytes.length;
  const from = numberOr(args['from'], 0);
  if (from > size) throw new CloisterError('tool_arguments', `"from" is past the end; the size is ${size} bytes.`);
  return shownSlice(bytes.subarray(from, from + sliceLength(args, session)), from, size);
};

/** Whole characters only: a partial character at either end is left out. */
const shownSlice = (bytes: Uint8Array, from: number, size: number): string => {
  let start = 0;
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++;
  let end = bytes.length;
  if (from + end < size) end -= partialTailBytes(bytes);
  const body = Buffer.from(bytes.buffer, bytes.byteOffset + start, Math.max(0, end - start)).toString('utf8');
  return `${body}\n[bytes ${from + start} to ${from + end} of ${size}]`;
};

/** How many bytes at the end belong to an incomplete character. */
const partialTailBytes = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
};

const sliceLength = (args: JsonObject, session: Session): number =>
  Math.min(numberOr(args['bytes'], Infinity), Math.max(4, session.cell.shownBytesMax - 100));

const textArg = (args: JsonObject, name: string): string => {
  const value = args[name];
  return typeof value === 'string' ? value : '';
};

const numberOr = (value: Json | undefined, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise;
