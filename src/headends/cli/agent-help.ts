// `<agent.ai> --help`: what an agent is for, how to ask it, and all that its file can say.
import type { AgentHelp } from './cli-world.ts';
import type { CommandContext } from './command-context.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import type { Page } from './output.ts';
import type { AgentHelpRequest } from './request.ts';
import { shellText, shellWord } from './shell-word.ts';
import { sanitizeBlock, sanitizeLine } from './sanitize-text.ts';
import { wrapText } from './wrap-text.ts';

export const agentHelpCommand = async (
  request: AgentHelpRequest,
  { world, output }: CommandContext,
): Promise<ExitCode> => {
  const help = await world.agentHelp(request.path, request.config ?? undefined);
  if (request.json) output.json(help);
  else output.out.print(...helpLines(help, request.path, output.out));
  return exitCode.completed;
};

const helpLines = (help: AgentHelp, path: string, { paint, columns }: Page): readonly string[] => [
  paint('bold', sanitizeLine(help.name)),
  '',
  paint('bold', 'DESCRIPTION'),
  ...sanitizeBlock(help.description)
    .split('\n')
    .flatMap((line) => wrapText('  ', line, columns, 2)),
  '',
  paint('bold', 'Usage:'),
  `  cloister ${shellWord(path)} ${shellText(help.usage)}`,
  '',
  paint('bold', 'Options:'),
  ...options,
  '',
  paint('bold', 'Frontmatter:') + ' every key with what holds here; the start of a new .ai file',
  '',
  sanitizeBlock(help.template).trimEnd(),
];

const options: readonly string[] = [
  '  --json                one JSON value; --jsonl: one event per line',
  '  --schema <file|json>  answer as JSON that fits this JSON Schema',
  '  --budget-usd <n>      money that may be spent; also -tokens and -ms',
  '  --agents <path>       more agents that it may name',
  '  --config <file>       a config before all others',
  '  `cloister run --help` lists all of them.',
];
