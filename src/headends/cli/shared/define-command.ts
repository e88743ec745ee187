// A command as data and one function: the parser, the help and the suggestions are made from the data.
//
// Each entry of `arguments` and `options` names a value that `run` gets, with its type. An option's key is its name in
// camel case: `budgetTokens` is `--budget-tokens`. Every command also has --json, --verbose and --help.
import { Argument, Option } from 'commander';
import type { Command } from 'commander';
import type { CliWorld } from './cli-world.ts';
import type { ExitCode } from './errors.ts';
import type { Interrupts } from './interrupts.ts';
import type { Output } from './output.ts';

/** What every command gets. */
export type CommandContext = CliWorld & { readonly output: Output; readonly interrupts: Interrupts };

/** How output is printed. */
export type OutputFlags = { readonly json: boolean; readonly verbose: boolean };

/** `absent`: the value if it is not given, unless a default is shown in the help. */
export type ArgumentSpec<T> = {
  readonly about: string;
  readonly form: 'required' | 'optional' | 'list';
  readonly absent: T;
  /** Shown in the help as the default, in place of `absent`. */
  readonly absentAbout?: string;
};

export type OptionSpec<T> = {
  readonly about: string;
  /** For example `<file>`; a flag takes nothing. */
  readonly takes?: string;
  readonly absent: T;
  /** A default that the help shows. */
  readonly initial?: T;
  /** `before`: the value so far, of an option that can be repeated. */
  parse?(text: string, before: T | undefined): T;
  readonly required?: boolean;
  /** Keys of options that cannot be used with it. */
  readonly conflicts?: readonly string[];
  /** Still accepted, but not in the help. */
  readonly isHidden?: boolean;
  /** The key of its former name, which is still accepted. */
  readonly formerly?: string;
};

type Arguments = Readonly<Record<string, ArgumentSpec<unknown>>>;
type Options = Readonly<Record<string, OptionSpec<unknown>>>;
type ValuesOf<S> = { readonly [K in keyof S]: S[K] extends { readonly absent: infer T } ? T : never };

type CommandSpec<A, O> = {
  readonly about: string;
  readonly examples: readonly string[];
  /** Lines of the help after the examples. */
  readonly notes?: readonly string[];
  /** In place of the usage that the arguments give. */
  readonly usage?: string;
  readonly arguments?: A & Arguments;
  readonly options?: O & Options;
  /** Of a command whose --json prints many values, one per line: the help of --json. */
  readonly jsonLines?: string;
  /** With this option stdout belongs to a protocol: no error is printed there. */
  readonly protocolOption?: string;
  /** Commands below it; without the name of one, it runs itself. */
  readonly commands?: Readonly<Record<string, CliCommand>>;
  /** Help of --help, if the command prints help of its own: `run` gets `help` if `wanted`. */
  readonly ownHelp?: { readonly about: string; wanted(given: ValuesOf<A>): boolean };
  run(
    given: ValuesOf<A> & ValuesOf<O> & OutputFlags & { readonly help: boolean },
    context: CommandContext,
  ): Promise<ExitCode>;
};

/** A command line that was understood. */
export type Invocation = OutputFlags & {
  readonly jsonl: boolean;
  /** The value of `--store`. */
  readonly store: string | null;
  run(context: CommandContext): Promise<ExitCode>;
};

export type CliCommand = Pick<CommandSpec<unknown, unknown>, 'about' | 'jsonLines' | 'protocolOption'> & {
  /** Of a group: its subcommands. */
  readonly commands?: Readonly<Record<string, CliCommand>>;
  build(command: Command, take: (invocation: Invocation) => void): void;
};

export const defineCommand = <A extends object = object, O extends object = object>(
  spec: CommandSpec<A, O>,
): CliCommand => ({
  ...spec,
  build: (command, take) => {
    const { usage, ownHelp } = spec;
    const named = Object.entries<ArgumentSpec<unknown>>(spec.arguments ?? {});
    const options = Object.entries<OptionSpec<unknown>>(spec.options ?? {});
    describe(command, spec);
    command.option('--json', spec.jsonLines ?? 'print one JSON value and nothing else');
    command.option('--verbose', 'print more detail; with errors, the stack trace');
    if (usage !== undefined) command.usage(usage);
    for (const [name, argument] of named) command.addArgument(commanderArgument(name, argument));
    for (const [key, option] of options) {
      command.addOption(commanderOption(key, option));
      if (option.formerly !== undefined)
        command.addOption(commanderOption(option.formerly, { ...option, isHidden: true }));
    }
    // Options after the name of a command below are its own.
    if (spec.commands !== undefined) command.enablePositionalOptions().helpCommand(false);
    for (const [name, below] of Object.entries(spec.commands ?? {})) below.build(command.command(name), take);
    if (ownHelp !== undefined) command.helpOption(false).option('-h, --help', ownHelp.about);
    command.action((...taken: readonly unknown[]) => {
      const flags = withOptionsAbove(taken[named.length + 1] as Command);
      const { json = false, verbose = false, jsonl = false, help = false } = flags as Partial<Record<string, boolean>>;
      const given = {
        ...Object.fromEntries(named.map(([name, { absent }], at) => [name, taken[at] ?? absent])),
        ...Object.fromEntries(
          options.map(([key, { absent, formerly = key }]) => [
            key,
            flags[key] ?? flags[formerly] ?? negatedFlag(flags, key) ?? absent,
          ]),
        ),
        json,
        verbose,
        help,
      } as Parameters<typeof spec.run>[0];
      if (help && ownHelp?.wanted(given) !== true) command.help();
      const { store } = given as { readonly store?: unknown };
      take({
        json,
        verbose,
        jsonl,
        store: typeof store === 'string' ? store : null,
        run: (context) => spec.run(given, context),
      });
    });
  },
});

/** A command with subcommands. */
export const defineGroup = (spec: {
  readonly about: string;
  readonly examples: readonly string[];
  readonly commands: Readonly<Record<string, CliCommand>>;
}): CliCommand => ({
  ...spec,
  build: (command, take) => {
    describe(command, spec).usage('<command>').helpCommand(false);
    for (const [name, below] of Object.entries(spec.commands)) below.build(command.command(name), take);
  },
});

/** `runs --workspace w delete last` means the workspace, too: an option before the name of a command below holds for that. */
const withOptionsAbove = (command: Command): Readonly<Record<string, unknown>> => {
  const flags: Record<string, unknown> = { ...command.opts() };
  const { parent } = command;
  for (const [key, value] of Object.entries(parent?.opts() ?? {}))
    if (parent?.getOptionValueSource(key) === 'cli' && command.getOptionValueSource(key) !== 'cli') flags[key] = value;
  return flags;
};

/** `--no-open` is read as `open: false`. */
const negatedFlag = (flags: Readonly<Record<string, unknown>>, key: string): boolean | undefined => {
  const [, first, rest] = /^no([A-Z])(.*)$/u.exec(key) ?? [];
  return first === undefined ? undefined : flags[`${first.toLowerCase()}${rest}`] === false;
};

const describe = (
  command: Command,
  { about, examples, notes = [] }: Pick<CommandSpec<unknown, unknown>, 'about' | 'examples' | 'notes'>,
): Command =>
  command
    .description(about)
    .helpOption('-h, --help', 'print this help')
    .addHelpText(
      'after',
      `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${examples.map((line) => `  $ ${line}`).join('\n')}${notes.length === 0 ? '' : `\n\n${notes.join('\n')}`}`,
    );

const commanderArgument = (name: string, { form, about, absent, absentAbout }: ArgumentSpec<unknown>): Argument => {
  const written = { required: `<${name}>`, optional: `[${name}]`, list: `[${name}...]` }[form];
  const argument = new Argument(written, about);
  return absentAbout === undefined ? argument : argument.default(absent, absentAbout);
};

const commanderOption = (key: string, spec: OptionSpec<unknown>): Option => {
  const name = key.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
  const option = new Option(`--${name}${spec.takes === undefined ? '' : ` ${spec.takes}`}`, spec.about);
  if (spec.initial !== undefined) option.default(spec.initial);
  if (spec.parse !== undefined) option.argParser((text, before) => spec.parse?.(text, before));
  if (spec.conflicts !== undefined) option.conflicts([...spec.conflicts]);
  return option.makeOptionMandatory(spec.required === true).hideHelp(spec.isHidden === true);
};
