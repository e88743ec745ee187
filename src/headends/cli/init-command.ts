// `init`: creates a starter folder with agents.
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import type { InitRequest } from './shared/request.ts';
import { shellWord } from './shared/next-commands.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

/** Never overwrites a file: `world.init` throws instead. */
export const initCommand = async (request: InitRequest, { world, output }: CommandContext): Promise<ExitCode> => {
  const made = await world.init(request.folder);
  const agents = made.files.filter((file) => file.endsWith('.ai'));
  const first = agents.find((file) => /(?:^|[/\\])lead\.ai$/u.test(file)) ?? agents[0];
  if (request.json) output.json(made);
  else
    output.out.print(
      `Created in ${sanitizeLine(made.folder)}:`,
      ...made.files.map((file) => `  ${sanitizeLine(file)}`),
      '',
      'Next steps:',
      ...(request.folder === '.' ? [] : [`  cd ${shellWord(request.folder)}`]),
      '  npx cloister check',
      ...(first === undefined
        ? []
        : [
            `  npx cloister ${shellWord(first)} "What should we find out?"`,
            `  npx cloister ${shellWord(first)} --help`,
            `  npx cloister serve --agent ${shellWord(first)}`,
          ]),
    );
  return exitCode.completed;
};
