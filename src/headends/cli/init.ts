// `init`: creates a starter folder from a template.
import type { InitReport, TemplateSummary } from '#contracts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { shellWord } from './shared/next-commands.ts';
import { defaultedArgument, textOption } from './shared/options.ts';
import type { Paint } from './shared/output.ts';
import { padEnd, sanitizeLine } from './shared/sanitize-text.ts';

/** Never overwrites a file: `runtime.init` throws instead. */
export default defineCommand({
  about: 'create a folder with agents you can run straight away, offline, with tests and a CI file',
  examples: ['cloister init my-team', 'cloister init my-team --template typescript'],
  notes: [
    'Templates:',
    '  start       a lead that asks a researcher (default)',
    '  research    two sub-agents, one of them with an MCP server',
    '  typescript  agents and typed tools in code, with vitest',
    '  desk        long-lived agents that answer each other’s messages',
    '  team        a graph of tasks',
    '  served      REST, OpenAI and MCP clients, tokens, the studio, Slack',
    '  import      agents of Claude Code',
  ],
  arguments: { folder: defaultedArgument('target folder', '.') },
  options: { template: textOption('<name>', 'which template; on a terminal you are asked') },
  run: async ({ folder, template, json }, context) => {
    const { runtime, output } = context;
    const chosen = template ?? (json ? null : await askForTemplate(await runtime.templates(), context));
    const made = await runtime.init(folder, chosen);
    output.result(json, made, ({ paint }) => nextStepLines(made, folder, paint));
    return exitCode.completed;
  },
});

/** By its name or number; null: the default. Asks nobody where nobody can answer. */
const askForTemplate = async (
  templates: readonly TemplateSummary[],
  { terminal, output }: CommandContext,
): Promise<string | null> => {
  if (terminal.stdout.isTTY !== true || terminal.stderr.isTTY !== true) return null;
  const lines = terminal.lines();
  try {
    if (!lines.isTerminal) return null;
    output.err.print(
      'Which template?',
      ...templates.map(({ name, about }, at) => `  ${at + 1}  ${padEnd(name, 11)} ${about}`),
    );
    const typed = (await lines.next(`1–${templates.length}, or a name [${templates[0]?.name ?? ''}]: `))?.trim() ?? '';
    return typed === '' ? null : (templates[Number(typed) - 1]?.name ?? typed);
  } finally {
    lines.close();
  }
};

const nextStepLines = (made: InitReport, given: string, paint: Paint): readonly string[] => [
  `Created in ${sanitizeLine(made.folder)}, from the template ${sanitizeLine(made.template)}:`,
  ...made.files.map((file) => `  ${sanitizeLine(file)}`),
  '',
  paint('bold', 'Next steps:'),
  ...(given === '.' ? [] : [`  cd ${shellWord(given)}`]),
  ...made.next.map((command) => `  ${sanitizeLine(command)}`),
];
