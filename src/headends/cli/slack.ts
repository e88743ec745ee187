// `slack`: what the app in Slack needs.
import { InvalidArgumentError } from 'commander';
import { defineCommand, defineGroup } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { configOption, valueOption } from './shared/options.ts';
import { safeJson } from './shared/sanitize-text.ts';

const nameCharsMax = 35;

const readName = (text: string): string => {
  if (text.trim() === '' || text.length > nameCharsMax)
    throw new InvalidArgumentError(`It must have 1 to ${nameCharsMax} characters.`);
  return text;
};

const readUrl = (text: string): string => {
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:')
    throw new InvalidArgumentError('It must be an address such as https://agents.example.com.');
  return text;
};

const manifest = defineCommand({
  about: 'print the manifest of an app for the `slack` block of .ai-agent.json, to paste in Slack',
  examples: ['cloister slack manifest', 'cloister slack manifest --name Desk --url https://agents.example.com'],
  options: {
    name: valueOption('<name>', 'name of the app (default: Cloister)', readName),
    url: valueOption('<url>', 'where Slack reaches this server; needed without `slack.appToken`', readUrl),
    ...configOption,
  },
  run: async ({ name, url, config, json }, { server, output }) => {
    const found = await server.slackManifest({ name: name ?? 'Cloister', url, config });
    output.result(json, found, () => safeJson(found, 2).split('\n'));
    return exitCode.completed;
  },
});

export default defineGroup({
  about: 'set up an app in Slack for `serve --slack`',
  examples: ['cloister slack manifest'],
  commands: { manifest },
});
