// `<agent.ai> --help`: what the agent does, how to call it, and every key its file can have.
import type { ToolNames } from '#contracts';
import { describeToolNames } from './check-lines.ts';
import type { AgentHelp } from './shared/cli-world.ts';
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import type { Printer } from './shared/output.ts';
import type { AgentHelpRequest } from './shared/request.ts';
import { shellText, shellWord } from './shared/next-commands.ts';
import { sanitizeBlock, sanitizeLine, wrapText } from './shared/sanitize-text.ts';

export const agentHelpCommand = async (
  request: AgentHelpRequest,
  { world, output }: CommandContext,
): Promise<ExitCode> => {
  const help = await world.agentHelp(request.path, request.config ?? undefined);
  if (request.json) output.json(help);
  else output.out.print(...helpLines(help, request.path, output.out));
  return exitCode.completed;
};

const helpLines = (help: AgentHelp, path: string, { paint, columns }: Printer): readonly string[] => [
  paint('bold', sanitizeLine(help.name)),
  '',
  paint('bold', 'DESCRIPTION'),
  ...sanitizeBlock(help.description)
    .split('\n')
    .flatMap((line) => wrapText('  ', line, columns, 2)),
  '',
  ...toolNameLines(help, columns, (title) => paint('bold', title)),
  paint('bold', 'Usage:'),
  `  cloister ${shellWord(path)} ${shellText(help.usage)}`,
  '',
  paint('bold', 'Options:'),
  ...options,
  '',
  paint('bold', 'Frontmatter:') + ' every key with its effective value; paste it into a new .ai file',
  '',
  sanitizeBlock(help.template).trimEnd(),
];

const toolNameLines = (
  { toolName, modelToolName }: ToolNames,
  columns: number,
  paintTitle: (title: string) => string,
): readonly string[] =>
  toolName === modelToolName
    ? []
    : [paintTitle('Tool name:'), ...wrapText('  ', describeToolNames({ toolName, modelToolName }), columns, 2), ''];

const options: readonly string[] = [
  '  --json                print one JSON value; --jsonl prints one event per line',
  '  --schema <file|json>  answer in JSON that matches this JSON Schema',
  '  --budget-usd <n>      maximum cost in US dollars; also -tokens and -ms',
  '  --agents <path>       additional agents it can use',
  '  --config <file>       config file that takes precedence over all others',
  '  `cloister run --help` lists all options.',
];
