// Tools of the runtime: reading offloaded outputs back, and the cell's own files.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { BuiltinTool, MailTool, RetrySafety, StepOperation, ToolSchema, ToolResultValue } from '#contracts';
import { shownBytesMax } from '#core/cells';
import { cutBytes, dataFrame } from '#core/rules';
import { failingChain, stepAbout, stepChain } from './tool-call-chain.ts';
import type { ToolCall, Session, ToolRunner } from './state.ts';
import { limitPassed } from './limits.ts';
import { mailSchemas } from './mail-schemas.ts';

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
      'Reads a part of an earlier output that was too long to show whole. `from` and `bytes` count UTF-8 bytes.',
    inputSchema: object({ name: text, from: count, bytes: count }, ['name']),
  },
  read_file: {
    name: 'read_file',
    description: 'Reads a file of your own, whole or from a byte on.',
    inputSchema: object({ path: text, from: count, bytes: count }, ['path']),
  },
  write_file: {
    name: 'write_file',
    description: 'Writes a file of your own, replacing it if it is there.',
    inputSchema: object({ path: text, content: text }, ['path', 'content']),
  },
  list_files: {
    name: 'list_files',
    description: 'Lists your own files with their sizes.',
    inputSchema: object({}, []),
  },
  ...mailSchemas,
} as const satisfies Record<BuiltinTool | 'read_output', ToolSchema>;

type OwnTool = Exclude<BuiltinTool, MailTool> | 'read_output';

export const builtinTool = (name: OwnTool): ToolRunner => ({
  schema: builtinSchemas[name],
  chain: chains[name],
});

const chains: Record<OwnTool, ToolRunner['chain']> = {
  read_output: (call, args, session) => {
    const readable = session.cell.output(textArg(args, 'name'));
    if (readable === undefined)
      return failingChain(call, session, 'file_missing', `There is no output "${textArg(args, 'name').slice(0, 80)}".`);
    return step(call, session, async () => {
      if ('ref' in readable) return slice(await session.ports.world.blob(readable.ref), args, session);
      // What crossed stays data, page by page.
      return dataFrame(`From ${textArg(args, 'name')}.`, slice(Buffer.from(readable.text), args, session));
    });
  },
  read_file: (call, args, session) => {
    if (isOutput(textArg(args, 'path'), session))
      return failingChain(call, session, 'file_missing', 'That is an output: read it with read_output.');
    return step(call, session, async () => {
      const from = numberOr(args['from'], 0);
      const { bytes, size } = await session.cell.workspace.read(textArg(args, 'path'), from, lengthOf(args, session));
      return shownSlice(bytes, from, size);
    });
  },
  write_file: (call, args, session) => {
    if (isOutput(textArg(args, 'path'), session))
      return failingChain(call, session, 'file_refused', 'That name is kept for the outputs of a tool.');
    const bytes = Buffer.from(textArg(args, 'content'));
    const counted = session.cell.countFile(textArg(args, 'path'), bytes.length);
    if (typeof counted === 'string') return { stop: limitPassed(counted) };
    const write = step(
      call,
      session,
      async () => {
        await session.cell.workspace.write(textArg(args, 'path'), bytes);
        return `Wrote ${bytes.length} bytes.`;
      },
      // The same file again, but only once the log knows of it.
      'keyed',
    );
    return {
      begin: write.begin,
      after: (place, settled, no) => {
        if (!settled.ok) counted.undo();
        return write.after(place, settled, no);
      },
    };
  },
  list_files: (call, _args, session) =>
    step(call, session, async () => {
      const files = (await session.cell.workspace.list()).filter(({ path }) => !isOutput(path, session));
      return listed(files, shownBytesMax(session.cell.limits));
    }),
};

/** As many as may be shown, and how many there are. */
const listed = (files: readonly { path: string; bytes: number }[], bytesMax: number): string => {
  if (files.length === 0) return 'There are no files.';
  const all = files.map(({ path, bytes }) => `${path} (${bytes} bytes)`).join('\n');
  const shown = cutBytes(all, bytesMax);
  return shown === all ? all : `${shown.slice(0, shown.lastIndexOf('\n') + 1)}[${files.length} files in all]`;
};

/** Offloaded outputs lie in the same folder, written when the log is: their names are not the agent's to use or to see. */
const isOutput = (path: string, { tools }: Session): boolean => {
  const tool = /^(.+)_\d{3,}\.(?:txt|json)$/u.exec(path.split('/')[0] ?? '')?.[1];
  return tool !== undefined && tools.has(tool);
};

const step = (call: ToolCall, session: Session, read: () => Promise<string>, repeat: RetrySafety = 'free') => {
  const operation: StepOperation = {
    do: 'step',
    name: `tool:${call.name}`,
    repeat,
    timeoutMs: session.work.timeoutMs(session.cell.limits.toolTimeout),
    timeoutCode: 'tool_timeout',
    deadline: session.cell.deadline,
    about: stepAbout(session, call),
    work: async (): Promise<Json> => ({ text: await read() }) satisfies ToolResultValue,
  };
  return stepChain(operation);
};

const slice = (bytes: Uint8Array, args: JsonObject, session: Session): string => {
  const size = bytes.length;
  const from = numberOr(args['from'], 0);
  if (from > size) throw new CloisterError('tool_arguments', `"from" is past the end: there are ${size} bytes.`);
  return shownSlice(bytes.subarray(from, from + lengthOf(args, session)), from, size);
};

/** Whole characters only: a character that is cut at either end is left out. */
const shownSlice = (bytes: Uint8Array, from: number, size: number): string => {
  let start = 0;
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++;
  let end = bytes.length;
  if (from + end < size) end -= cutTail(bytes);
  const body = Buffer.from(bytes.buffer, bytes.byteOffset + start, Math.max(0, end - start)).toString('utf8');
  return `${body}\n[bytes ${from + start} to ${from + end} of ${size}]`;
};

/** How many bytes at the end belong to a character that goes on. */
const cutTail = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
};

const lengthOf = (args: JsonObject, session: Session): number =>
  Math.min(numberOr(args['bytes'], Infinity), Math.max(4, shownBytesMax(session.cell.limits) - 100));

const textArg = (args: JsonObject, name: string): string => {
  const value = args[name];
  return typeof value === 'string' ? value : '';
};

const numberOr = (value: Json | undefined, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise;
