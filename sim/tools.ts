// Simulated tools and tool servers: they take time, have effects, fail, and sometimes never respond.
import type { JsonObject } from '#base';
import type { ListedTools, ToolDefinition, ToolOutput, NamedSource } from '#contracts';
import { never } from './never.ts';
import type { SourcePlan, ToolPlan } from './plan.ts';
import type { Process } from './process.ts';
import { Random } from './random.ts';
import type { ToolCall } from './history.ts';

type Execute = ToolDefinition['execute'];

export const simulatedTool = (process: Process, plan: ToolPlan): Execute => {
  return (args, context) => {
    const { world } = process;
    const { key } = context;
    if (!process.touch('tool')) return never();
    const call: ToolCall = {
      at: world.now,
      nth: world.nextNth(),
      process: process.no,
      tool: plan.name,
      repeat: plan.repeat,
      key,
      args: JSON.stringify(args),
      onDisk: world.onDisk(),
      effects: 0,
    };
    world.toolCalls.push(call);
    const fault = world.faults.draw(world.faults.plan.tool, 'tool', {
      throws: 3,
      hangs: 2,
      slow: 2,
      'answer lost': 3,
      nonsense: 1,
    });
    world.trace.note(`tool ${plan.name} called by ${process.no}: ${key} ${call.args} ${fault ?? ''}`);
    if (fault !== 'throws' || world.random.chance(0.5)) takeEffect(process, plan, call);
    if (!process.touch('tool answer')) return never();
    const latencyMs = world.random.log(1, plan.msMax) * (fault === 'slow' ? 100 : 1);
    if (fault === 'hangs' || fault === 'answer lost') return hangUntilAborted(context, process);
    if (fault === 'throws' || args['fail'] === true) return process.pause(latencyMs, 'tool').then(throwFailure);
    const output = fault === 'nonsense' ? (undefined as unknown as ToolOutput) : drawOutput(world.seed, plan, args);
    if (world.random.chance(0.1)) return output;
    return process.pause(latencyMs, 'tool').then(() => output);
  };
};

/** A service that accepts an idempotency key acts once for each key. */
const takeEffect = (process: Process, { repeat }: ToolPlan, call: ToolCall): void => {
  const { completedKeys } = process.world;
  if (repeat === 'free' || (repeat === 'keyed' && completedKeys.has(call.key))) return;
  completedKeys.add(call.key);
  call.effects++;
};

/** Rejects when it is aborted, or never settles at all. */
const hangUntilAborted = (context: { readonly signal: AbortSignal }, process: Process): Promise<never> =>
  new Promise((_resolve, reject) => {
    if (process.world.random.chance(0.5))
      context.signal.addEventListener(
        'abort',
        () => void process.later(1, 'abort', () => reject(new Error('stopped'))),
      );
  });

const throwFailure = (): never => {
  throw new Error('the tool has failed');
};

const drawOutput = (seed: number, { name, longOutput }: ToolPlan, args: JsonObject): ToolOutput => {
  const random = new Random(`${seed}/${name}/${JSON.stringify(args)}`);
  if (longOutput && random.chance(0.7)) return `${random.hex()}\n`.repeat(random.log(20, 400));
  if (random.chance(0.3)) return { type: 'json', value: { [name]: random.int(0, 99), of: random.hex() } };
  return `${name} saw ${random.hex()}`;
};

/** A tool server; each listing opens a connection of its own. */
export const simulatedSource = (process: Process, plan: SourcePlan): NamedSource => ({
  name: plan.name,
  list: (context) => {
    const { world } = process;
    if (!process.touch('list tools')) return never();
    const fault = world.faults.draw(world.faults.plan.source, 'server', {
      'listing fails': 2,
      'listing hangs': 1,
      // After a crash, a server is opened at its first call, which may then time out.
      'listing slow': process.no === 1 ? 2 : 12,
      'tool gone': 1,
      'tool new': 1,
      'tool nameless': 0.5,
      'closing hangs': 1,
    });
    world.trace.note(`server ${plan.name} listed by ${process.no} ${fault ?? ''}`);
    if (fault === 'listing hangs') return hangUntilAborted(context, process);
    const latencyMs = world.random.log(1, 80) * (fault === 'listing slow' ? 200 : 1);
    return process.pause(latencyMs, 'listing').then(() => {
      if (fault === 'listing fails') throw new Error('the server has ended');
      process.life.serversOpen++;
      return createListing(process, applyListingFault(fault, plan), fault === 'closing hangs');
    });
  },
});

const applyListingFault = (fault: string | null, { name, tools }: SourcePlan): readonly ToolPlan[] => {
  if (fault === 'tool gone') return tools.slice(1);
  if (fault === 'tool new') return [...tools, { ...tools[0]!, name: `${name}_more` }];
  if (fault === 'tool nameless') return [{ ...tools[0]!, name: undefined as unknown as string }];
  return tools;
};

const createListing = (process: Process, tools: readonly ToolPlan[], hangs: boolean): ListedTools => ({
  tools: tools.map((plan) => ({
    name: plan.name,
    description: `does ${plan.name}`,
    inputSchema: plan.inputSchema,
    repeat: plan.repeat,
    execute: simulatedTool(process, plan),
  })),
  close: () => {
    if (!process.touch('close server')) return never();
    process.life.serversOpen--;
    return hangs ? never() : process.pause(2, 'closing');
  },
});
