// `init`: creates a starter folder with agents.
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { shellWord } from './shared/next-commands.ts';
import { defaultedArgument } from './shared/options.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

/** Never overwrites a file: `runtime.init` throws instead. */
export default defineCommand({
  about: 'create a folder with two agents you can run straight away, offline',
  examples: ['cloister init team'],
  arguments: { folder: defaultedArgument('target folder', '.') },
  run: async ({ folder, json }, { runtime, output }) => {
    const made = await runtime.init(folder);
    output.result(json, made, () => nextStepLines(made, folder));
    return exitCode.completed;
  },
});

const nextStepLines = (
  made: { readonly folder: string; readonly files: readonly string[] },
  given: string,
): readonly string[] => {
  const agents = made.files.filter((file) => file.endsWith('.ai'));
  const first = agents.find((file) => /(?:^|[/\\])lead\.ai$/u.test(file)) ?? agents[0];
  return [
    `Created in ${sanitizeLine(made.folder)}:`,
    ...made.files.map((file) => `  ${sanitizeLine(file)}`),
    '',
    'Next steps:',
    ...(given === '.' ? [] : [`  cd ${shellWord(given)}`]),
    '  npx cloister check',
    ...(first === undefined
      ? []
      : [
          `  npx cloister ${shellWord(first)} "What should we find out?"`,
          `  npx cloister ${shellWord(first)} --help`,
          '  npx cloister studio',
          `  npx cloister serve --agent ${shellWord(first)}`,
        ]),
  ];
};
