// `run`: starts a run of an agent and shows it. After an agent file, --help prints that agent's help: what it does, how to
// call it, and every key its file can have.
import { InvalidArgumentError } from 'commander';
import { isAgentPath } from '#base';
import type { Json, JsonObject } from '#base';
import type { Attachment, ToolNames } from '#contracts';
import type { AgentHelp, CliFiles } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import { describeToolNames } from './shared/format.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import { followRun } from './shared/follow-run.ts';
import { shellText, shellWord } from './shared/next-commands.ts';
import {
  agentArgument,
  agentsOptions,
  budgetOf,
  budgetOptions,
  conversationOption,
  runOutputOptions,
  isPath,
  listOption,
  optionalArgument,
  valueOption,
  workspaceOption,
  agentOrDefault,
  readInput,
} from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { formatConversation, fullConversation } from './shared/find-and-open.ts';
import { readOrExplain } from './shared/given-file.ts';
import { sanitizeBlock, sanitizeLine, wrapText } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'run an agent: progress on stderr, the answer on stdout',
  examples: [
    'cloister run lead.ai "Compare SQLite and DuckDB" --budget-usd 0.50',
    'cloister run lead --agents ./agents < question.txt',
    'cloister run lead.ai --conversation trip --context notes.md "And by train?"',
    'cloister run reader.ai --attach invoice.pdf "What is due, and when?"',
  ],
  usage: '[options] [agent] [input]',
  arguments: { ...agentArgument, input: optionalArgument('the task; - or omitted: read it from stdin') },
  options: {
    schema: valueOption('<file|json>', 'answer in JSON that matches this JSON Schema', (text) => schemaText(text)),
    ...conversationOption('continue this conversation'),
    context: listOption('<file>', 'file with extra context for the agent; repeatable'),
    attach: listOption('<file>', 'image, PDF or text to send along; repeatable'),
    ...agentsOptions,
    ...workspaceOption,
    ...runOutputOptions,
    ...budgetOptions,
  },
  ownHelp: {
    about: 'print this help; after an .ai file, that agent’s help',
    wanted: ({ agent }) => agent !== null && isPath(agent),
  },
  run: async (given, context) => {
    const { runtime, terminal, files, output } = context;
    const { conversation, workspace, config } = given;
    if (given.help && given.agent !== null) {
      const path = given.agent;
      const help = await runtime.agentHelp(path, config);
      output.result(given.json, help, (printer) => helpLines(help, path, printer));
      return exitCode.completed;
    }
    const isInputOnly = given.agent !== null && given.input === null && isInput(given.agent);
    const [named, asked] = isInputOnly ? [null, given.agent] : [given.agent, given.input];
    const { agent, agents } = await agentOrDefault(
      { ...given, agent: named },
      'cloister run <agent> "<input>"',
      runtime,
    );
    const input = asked === null || asked === '-' ? await readInput(terminal) : asked;
    const options = {
      budget: budgetOf(given),
      ...(given.schema === null ? {} : { schema: await readSchema(given.schema, files) }),
      ...(given.context.length === 0 ? {} : { context: await readContext(given.context, files) }),
      ...(given.attach.length === 0 ? {} : { attachments: await readAttached(given.attach, files) }),
    };
    const inFull = conversation === null ? null : fullConversation(conversation, agent);
    return followRun(
      {
        request: given,
        open: () => runtime.open({ workspace, agents, agent, config }),
        begin: (cloister) =>
          conversation === null
            ? cloister.run(agent, input, options)
            : cloister.runTurn(agent, input, { ...options, conversation }),
        ...(inFull === null
          ? {}
          : {
              extraJson: () => ({ conversation: inFull }),
              nextCommands: () => [`conversations show ${shellWord(formatConversation(inFull))}`],
            }),
      },
      context,
    );
  },
});

/** A text that cannot be an agent name is input for the default agent. */
const isInput = (given: string): boolean => given === '-' || (/\s/u.test(given) && !isAgentPath(given));

/** A text that starts with `{` must be JSON; anything else is a file name. */
const schemaText = (text: string): string => {
  if (!text.trimStart().startsWith('{')) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new InvalidArgumentError('Not valid JSON: pass one quoted object, or a file.');
  }
};

/** `given`: the schema itself, or its file. */
const readSchema = async (given: string, files: CliFiles): Promise<JsonObject> => {
  const isInline = given.trimStart().startsWith('{');
  const where = isInline ? '--schema' : `the schema in ${given}`;
  const text = isInline
    ? given
    : await readOrExplain(given, () => files.readText(given), { what: 'the schema in', option: '--schema' });
  const value = parseJson(text);
  if (value === undefined || value === null || typeof value !== 'object' || Array.isArray(value))
    throw new UsageError(`${where} is not a JSON object`, 'pass a JSON Schema such as {"type":"object"}');
  return value as JsonObject;
};

/** In the order of `paths`. */
const readContext = async (paths: readonly string[], files: CliFiles): Promise<readonly string[]> => {
  const texts: string[] = [];
  for (const path of paths) {
    const forWhat = { what: 'the context in', option: '--context' };
    const text = decodeText(await readOrExplain(path, () => files.readBytes(path), forWhat));
    if (text === null)
      throw new UsageError(
        `${path} is not text, so it cannot be context`,
        `send it as a file: --attach ${shellWord(path)}`,
      );
    texts.push(text);
  }
  return texts;
};

/** Null: it is not UTF-8, or has bytes that no text has. */
const decodeText = (bytes: Uint8Array): string | null => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
};

/** The type of a file follows from its name. */
const readAttached = async (paths: readonly string[], files: CliFiles): Promise<readonly Attachment[]> => {
  const attached: Attachment[] = [];
  for (const path of paths) {
    const extension = /\.([A-Za-z0-9]+)$/u.exec(path)?.[1]?.toLowerCase() ?? '';
    const mediaType = mediaTypes[extension] ?? 'text/plain';
    const data = await readOrExplain(path, () => files.readBytes(path), { what: 'the file', option: '--attach' });
    attached.push({ mediaType, data, name: path.slice(path.lastIndexOf('/') + 1) });
  }
  return attached;
};

/** Any other file is taken as text; if it is not, it is refused. */
const mediaTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  json: 'application/json',
  html: 'text/html',
  csv: 'text/csv',
  md: 'text/markdown',
};

const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

const helpLines = (help: AgentHelp, path: string, { paint, columns }: Screen): readonly string[] => [
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
  ...helpOptions,
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

const helpOptions: readonly string[] = [
  '  --json                print one JSON value; --jsonl prints one event per line',
  '  --schema <file|json>  answer in JSON that matches this JSON Schema',
  '  --budget-usd <n>      maximum cost in US dollars; also -tokens and -ms',
  '  --agents <path>       additional agents it can use',
  '  --config <file>       config file that takes precedence over all others',
  '  `cloister run --help` lists all options.',
];
