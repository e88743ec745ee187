// A tool that fails at times, in the ways in which services do.
import type { ToolDefinition, ToolOutput } from '#contracts';
import { FaultChooser, hang } from './choose-fault.ts';
import type { FaultPlan, FaultLog } from './choose-fault.ts';

export type ToolFault =
  /** It throws; the tool is not run. */
  | 'fail'
  /** It throws as a service with this status would make it; the tool is not run. */
  | number
  /** No answer until the call is given up; the tool is not run. */
  | 'hang'
  /** The tool runs, and its answer is lost. */
  | 'lost'
  /** The tool runs, and its answer never comes. */
  | 'lost in silence'
  /** Half of the text. */
  | 'cut'
  /** Something that is neither text nor JSON. */
  | 'malformed'
  | { readonly slowMs: number };

export type FaultyTool = ToolDefinition & { readonly met: FaultLog<ToolFault> };

const known = { words: ['fail', 'hang', 'lost', 'lost in silence', 'cut', 'malformed'] };

export const faultyTool = (tool: ToolDefinition, faults: FaultPlan<ToolFault>): FaultyTool => {
  const chooser = new FaultChooser(faults, known);
  return {
    ...tool,
    met: chooser.met,
    execute: async (args, context) => {
      const fault = chooser.next();
      if (typeof fault === 'object') await chooser.sleep(fault.slowMs);
      if (fault === 'fail') throw new Error(`${tool.name} failed, as it was told to.`);
      if (typeof fault === 'number') throw Object.assign(new Error(`Status ${fault}.`), { statusCode: fault });
      if (fault === 'hang') return hang(context.signal);
      const output = await tool.execute(args, context);
      switch (fault) {
        case 'lost':
          throw new TypeError('fetch failed', { cause: new Error('other side closed') });
        case 'lost in silence':
          return hang(context.signal);
        case 'cut':
          return half(output);
        case 'malformed':
          return malformed;
        default:
          return output;
      }
    },
  };
};

const half = (output: ToolOutput): string => {
  const text = typeof output === 'string' ? output : JSON.stringify(output.value);
  return text.slice(0, Math.floor(text.length / 2));
};

/** No tool should return it, so no type allows it. */
const malformed = (() => undefined) as unknown as ToolOutput;
