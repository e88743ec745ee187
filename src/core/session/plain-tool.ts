// Runs an ordinary tool as one step: calls it, converts its result to text, and offloads text that is too long to show.
import { CloisterError, isObject, utf8Bytes } from '#base';
import type { Json } from '#base';
import type { CallableTool, Settlement, StepContext, ToolOutput, ToolResultValue } from '#contracts';
import { outputName, preview, previewBytesMax } from '#core/rules';
import { textExtension } from './output-extension.ts';
import type { OutputExtension } from './output-extension.ts';
import { stepAbout, stepChain } from './tool-call-chain.ts';
import type { Session, ToolRunner } from './state.ts';

/** The maximum size of one result. A larger result is refused, not truncated. */
const outputBytesMax = 16_000_000;

export const plainTool = (tool: CallableTool): ToolRunner => ({
  schema: { name: tool.name, description: tool.description, inputSchema: tool.inputSchema },
  createChain: (call, args, session) => {
    const { cell, workClock } = session;
    const nth = cell.nextOutputNumber(tool.name);
    return stepChain(
      {
        do: 'step',
        name: `tool:${tool.name}`,
        repeat: tool.repeat ?? 'never',
        timeoutMs: workClock.timeoutMs(tool.timeoutMs ?? cell.limits.toolTimeout),
        timeoutCode: 'tool_timeout',
        deadline: cell.runtime.deadline,
        lane: 'tools',
        about: stepAbout(session, call),
        work: async (world) => {
          const output = await tool.execute(args, { signal: world.signal, key: world.key });
          const { text, extension } = outputText(output);
          // Megabytes take some time in each of these steps, so other cells may work in between.
          if (checkSize(text) > pieceBytes) await world.yieldToOthers();
          const safe = await world.redactInPieces(text);
          return toolValue(/* probe: tool-text */ safe, {
            world,
            shownMax: cell.shownBytesMax,
            name: outputName(tool.name, nth, extension),
          });
        },
      },
      (settled) => storeOffloaded(session, settled),
    );
  },
});

/** `name`: of the file that holds the text if it is too long to show. */
type Offload = { readonly world: StepContext; readonly shownMax: number; readonly name: string };

/** The text itself if it is short; otherwise a preview, with the full text stored by reference. */
export const toolValue = async (text: string, offload: Offload): Promise<Json> => {
  const bytes = checkSize(text);
  if (bytes <= offload.shownMax) return { text } satisfies ToolResultValue;
  const { world } = offload;
  if (bytes > pieceBytes) await world.yieldToOthers();
  const encoded = Buffer.from(text);
  if (bytes > pieceBytes) await world.yieldToOthers();
  const ref = await world.storeBlob(encoded);
  const shown = Math.min(previewBytesMax, offload.shownMax);
  const output = { name: offload.name, ref, bytes, chars: text.length, shown };
  return { text: preview(text, output.name, output.shown), output } satisfies ToolResultValue;
};

const pieceBytes = 1_000_000;

/** Before any work on it, and again after: redacting can make a text longer. */
const checkSize = (text: string): number => {
  const bytes = utf8Bytes(text);
  if (bytes <= outputBytesMax) return bytes;
  throw new CloisterError('tool_too_large', `The output is ${bytes} bytes; the maximum is ${outputBytesMax}.`);
};

export const storeOffloaded = ({ cell }: Session, settled: Settlement<Json>): void => {
  const output = settled.ok ? (settled.value as ToolResultValue).output : undefined;
  if (output !== undefined) cell.storeOutput(output.name, { ref: output.ref });
};

/** The text and its file extension. A result that is neither text nor JSON is the tool's error. */
const outputText = (output: ToolOutput): { text: string; extension: string } => {
  if (typeof output === 'string') return withExtension(output, undefined);
  const value: unknown = isTyped(output) ? output.value : output;
  if (isTyped(output) && output.type === 'text' && typeof value === 'string')
    return withExtension(value, output.mediaType);
  const json = stringify(value);
  if (json === undefined)
    throw new CloisterError('tool_output', `It returned ${value === null ? 'null' : typeof value}.`);
  return { text: json, extension: 'json' };
};

const withExtension = (value: string, mediaType: unknown): { text: string; extension: OutputExtension } => {
  const text = value.toWellFormed();
  return { text, extension: textExtension(text, typeof mediaType === 'string' ? mediaType : undefined) };
};

const isTyped = (output: ToolOutput): output is TypedOutput =>
  isObject(output) && (output['type'] === 'text' || output['type'] === 'json') && 'value' in output;

type TypedOutput = Extract<ToolOutput, { readonly type: 'text' | 'json' }>;

const stringify = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new CloisterError('tool_output', error instanceof Error ? error.message.split('\n')[0] : undefined, {
      cause: error,
    });
  }
};
