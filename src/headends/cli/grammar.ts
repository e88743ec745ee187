// What the commands share: their shape, their options, and how an option's text becomes a value.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { defaultWorkspace } from './request.ts';
import type { Common, Request, Told } from './request.ts';

export type Take = (request: Request) => void;

export type Flags = {
  readonly workspace: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly help?: boolean;
  readonly agents?: readonly string[];
  readonly config?: string;
  readonly schema?: string;
  readonly jsonl?: boolean;
  readonly budgetTokens?: number;
  readonly budgetUsd?: number;
  readonly budgetMs?: number;
  readonly find?: string;
  readonly at?: string;
  readonly model?: string;
  readonly withoutGrant?: readonly string[];
  readonly goal?: string;
  readonly pairs?: number;
  readonly seed?: number;
  readonly syntaxOnly?: boolean;
  readonly connect?: boolean;
};

export const command = (program: Command, name: string, description: string, examples: readonly string[]): Command =>
  program
    .command(name)
    .description(description)
    .helpOption('-h, --help', 'print this help')
    .option('--json', 'print one JSON value and nothing else')
    .option('--verbose', 'say more; with errors, the stack')
    .addHelpText(
      'after',
      `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${examples.map((line) => `  $ ${line}`).join('\n')}`,
    );

export const withWorkspace = (one: Command): Command =>
  one.option('--workspace <dir>', 'where runs are kept', defaultWorkspace);

export const told = ({ json = false, verbose = false }: Flags): Told => ({ json, verbose });

export const common = (flags: Flags): Common => ({ workspace: flags.workspace, ...told(flags) });

export const configOf = ({ config }: Flags): { readonly config: string | null } => ({ config: config ?? null });

/** For what shows a run while it goes on. */
export const withEvents = (one: Command): Command =>
  one.addOption(new Option('--jsonl', 'print one event per line, the outcome last').conflicts('json'));

export const withAgents = (one: Command): Command =>
  one
    .option('--agents <path>', 'an .ai file, a folder of them or a module with agents; repeatable', collect)
    .option('--config <file>', 'a config before all others');

export const agentsOf = ({ agents = [] }: Flags): { readonly agents: readonly string[] } => ({ agents });

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

export const wholeNumber = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/u.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be a whole number.');
  return value;
};
