// A tool that sometimes fails, in the ways that services fail.
import { isObject } from '#base';
import type { ToolDefinition, ToolOutput } from '#contracts';
import { FaultChooser, hang } from './choose-fault.ts';
import type { FaultPlan, FaultLog } from './choose-fault.ts';

/** How one call of a tool fails. */
export type ToolFault =
  /** It throws; the tool is not run. */
  | 'fail'
  /** It throws an error with this HTTP status; the tool is not run. */
  | number
  /** No result until the caller gives up; the tool is not run. */
  | 'hang'
  /** The tool runs, but its result is lost. */
  | 'lost'
  /** The tool runs, but its result never arrives. */
  | 'lost in silence'
  /** Half of the text. */
  | 'cut'
  /** A result that is neither text nor JSON. */
  | 'malformed'
  /** The tool runs, this much later. */
  | { readonly slowMs: number };

/** A tool that fails as planned; `met`: the faults so far, by call number. */
export type FaultyTool = ToolDefinition & { readonly met: FaultLog<ToolFault> };

const faultNames = { names: ['fail', 'hang', 'lost', 'lost in silence', 'cut', 'malformed'] };

/** Wraps a tool so that some of its calls fail, to test what your agents do then. */
export const faultyTool = (tool: ToolDefinition, faults: FaultPlan<ToolFault>): FaultyTool => {
  const chooser = new FaultChooser(faults, faultNames);
  return {
    ...tool,
    met: chooser.met,
    execute: async (args, context) => {
      const fault = chooser.next();
      if (typeof fault === 'object') await chooser.sleep(fault.slowMs);
      if (fault === 'fail') throw new Error(`${tool.name} failed as instructed.`);
      if (typeof fault === 'number') throw Object.assign(new Error(`Status ${fault}.`), { statusCode: fault });
      if (fault === 'hang') return hang(context.signal);
      const output = await tool.execute(args, context);
      switch (fault) {
        case 'lost':
          throw new TypeError('fetch failed', { cause: new Error('other side closed') });
        case 'lost in silence':
          return hang(context.signal);
        case 'cut':
          return firstHalf(output);
        case 'malformed':
          return malformedOutput;
        default:
          return output;
      }
    },
  };
};

const firstHalf = (output: ToolOutput): string => {
  const value = isObject(output) && 'value' in output ? output['value'] : output;
  const text = typeof value === 'string' && value === output ? value : JSON.stringify(value ?? null);
  return text.slice(0, Math.floor(text.length / 2));
};

/** No tool may return this, so no type allows it. */
const malformedOutput = (() => undefined) as unknown as ToolOutput;
