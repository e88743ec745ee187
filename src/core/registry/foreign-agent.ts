// Agents of other runtimes (`.claude/agents/*.md`, `*.agent.md`) as frontmatter and prompt of this one. Pure: text in, data out.
import { agentNameFromPath } from '#base';
import type { Json, JsonObject } from '#base';
import type { ImportNote, ParseYaml, YamlDocument } from '#contracts';
import { parseDeniedTools } from './denied-tools.ts';
import type { DeniedTools } from './denied-tools.ts';
import { aliasedModelText, mapModels, unknownModelText } from './foreign-models.ts';
import type { ModelAliases } from './foreign-models.ts';
import { mapTool, splitNames } from './foreign-tools.ts';
import type { ForeignRuntime } from './foreign-tools.ts';
import { readLenientYaml } from './lenient-yaml.ts';
import { splitFile } from './split-file.ts';
import { yamlLines } from './template-yaml.ts';

type ForeignPorts = {
  readonly parseYaml: ParseYaml;
  /** Null: the config was not read, so nobody knows whether a name is one of them. */
  readonly modelAliases: ModelAliases | null;
  /** Whether the operator has this server. Tools of others are left out. */
  hasServer(name: string): boolean;
  /** The name that an agent has here; null: there is none, and it is left out. */
  findAgent(name: string): string | null;
};

type ForeignAgent = {
  /** As an agent file writes them. */
  readonly keys: JsonObject;
  readonly prompt: string;
  readonly notes: readonly ImportNote[];
  /** The line of a key of an agent file in the file that was read. */
  line(key: string): number;
};

/** Null: not the name of such a file. */
const foreignRuntime = (path: string): ForeignRuntime | null => {
  if (/\.(?:agent|chatmode)\.md$/u.test(path)) return 'copilot';
  return path.endsWith('.md') ? 'claude' : null;
};

/** Whether a Markdown file is an agent of another runtime, and not any other text. */
export const isForeignAgent = (path: string, text: string, parseYaml: ParseYaml): boolean => {
  const runtime = foreignRuntime(path);
  if (runtime !== 'claude') return runtime === 'copilot';
  const split = splitFile(text);
  if ('problem' in split || /(?:^|[/\\])SKILL\.md$/u.test(path)) return false;
  const { value } = readKeys(split.frontmatter, parseYaml);
  return typeof value['name'] === 'string' && value['description'] !== undefined;
};

/** The name that others call it by there; null if it has none but that of its file. */
export const foreignDisplayName = (text: string, parseYaml: ParseYaml): string | null => {
  const split = splitFile(text);
  const name = 'problem' in split ? undefined : readKeys(split.frontmatter, parseYaml).value['name'];
  return typeof name === 'string' ? name : null;
};

type ForeignKeys = YamlDocument & { readonly wrong?: string; readonly repeatedKeys?: readonly string[] };

const readKeys = (yaml: string, parseYaml: ParseYaml): ForeignKeys => {
  const document = parseYaml(yaml);
  return 'problem' in document ? { ...readLenientYaml(yaml), wrong: document.problem.message } : document;
};

export const readForeignAgent = (path: string, text: string, ports: ForeignPorts): ForeignAgent => {
  const runtime = foreignRuntime(path) ?? 'claude';
  const split = splitFile(text);
  const hasKeys = !('problem' in split);
  const document = readKeys(hasKeys ? split.frontmatter : '', ports.parseYaml);
  const offset = hasKeys ? split.frontmatterLine - 1 : 0;
  const line = (key: string): number => offset + document.line([key]);
  const reading: Reading = {
    runtime,
    ports,
    given: document.value,
    repeatedKeys: document.repeatedKeys ?? [],
    name: agentNameFromPath(path),
    keys: {},
    notes: [],
    line,
  };
  const prompt = hasKeys ? split.prompt : text.replace(/^\uFEFF/u, '').replaceAll('\r\n', '\n');
  if (document.wrong !== undefined)
    note(reading, 'changed', null, `The keys are not valid YAML, so they were read line by line. ${document.wrong}`);
  readTexts(reading, prompt);
  readModel(reading);
  readTools(reading);
  readOthers(reading);
  if (ourVariable.test(prompt))
    note(
      reading,
      'decide',
      null,
      'The prompt has `${…}` or `{% render … %}` that is filled in here. Check that this is meant.',
    );
  const lineHere = (key: string): number => line(key === 'agents' ? agentsKey(reading) : (keysThere[key] ?? key));
  return { keys: reading.keys, prompt, notes: reading.notes, line: lineHere };
};

/** What keys of an agent file are called there. */
const keysThere: Readonly<Record<string, string>> = {
  usage: 'argument-hint',
  models: 'model',
  maxToolTurns: 'maxTurns',
  reasoning: 'effort',
};

/** Claude names sub-agents in `tools`. */
const agentsKey = ({ runtime }: Pick<Reading, 'runtime'>): string => (runtime === 'claude' ? 'tools' : 'agents');

/** The text of an agent file. */
export const foreignAgentText = ({ keys, prompt, notes }: Pick<ForeignAgent, 'keys' | 'prompt' | 'notes'>): string =>
  [
    '---',
    ...Object.entries(keys).flatMap(([key, value]) => yamlLines(key, value!, 0)),
    ...notes
      .filter(({ kind }) => kind === 'decide')
      .map(({ message }) => `# ${message.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')}`),
    '---',
    prompt,
  ].join('\n');

type Reading = {
  readonly runtime: ForeignRuntime;
  readonly ports: ForeignPorts;
  readonly given: JsonObject;
  /** Keys that are written twice, and left out. */
  readonly repeatedKeys: readonly string[];
  readonly name: string;
  readonly keys: Record<string, Json>;
  readonly notes: ImportNote[];
  line(key: string): number;
};

const ourVariable =
  /\$\{(?:FORMAT|MAX_TURNS|MAX_TOOLS|DATETIME|DATE|DAY|TIMESTAMP|include:[^}\n]*)\}|\{%-?\s{0,20}render\s/u;

const note = (reading: Reading, kind: ImportNote['kind'], key: string | null, message: string): void => {
  const isWritten = key !== null && reading.given[key] !== undefined;
  reading.notes.push({ kind, line: isWritten ? reading.line(key) : null, key, message });
};

const readTexts = (reading: Reading, prompt: string): void => {
  const { given, keys, name } = reading;
  const { description, 'argument-hint': hint } = given;
  if (typeof description === 'string' && description.trim() !== '') keys['description'] = description;
  else {
    keys['description'] = firstLine(prompt) ?? name;
    note(
      reading,
      'decide',
      'description',
      'There is no description, so the first line of the prompt is used. Say when to call the agent.',
    );
  }
  if (typeof hint === 'string' && hint.trim() !== '') keys['usage'] = hint;
  if (typeof given['name'] === 'string' && given['name'] !== name)
    note(reading, 'changed', 'name', `The agent is named after its file: ${name}.`);
};

const firstLine = (text: string): string | undefined =>
  text
    .split('\n', 200)
    .map((line) =>
      line
        .replace(/^[#\s>*-]+/u, '')
        .trim()
        .slice(0, 200),
    )
    .find((line) => line !== '');

const readModel = (reading: Reading): void => {
  const { given, keys, runtime, ports } = reading;
  const aliases = ports.modelAliases;
  const mapped = mapModels(splitNames(given['model']), runtime, aliases ?? {});
  const { models, aliased, unknown } = mapped;
  if (models.length > 0) keys['models'] = models;
  if (aliased.length > 0) note(reading, 'changed', 'model', aliasedModelText(aliased));
  if (unknown.length > 0 && aliases !== null) note(reading, 'decide', 'model', unknownModelText(mapped, aliases));
};

const readTools = (reading: Reading): void => {
  const { given, runtime, keys, ports } = reading;
  const mapped = splitNames(given['tools']).map((name) => ({ name, to: mapTool(name, runtime) }));
  const denied = parseDeniedTools(given['disallowedTools'], !reading.repeatedKeys.includes('disallowedTools'));
  if (denied.problem !== null) note(reading, 'decide', 'disallowedTools', denied.problem);
  const tools = new Set<string>();
  const agents = new Set<string>();
  const missing: string[] = [];
  const servers: string[] = [];
  let canCall = false;
  for (const { name, to } of mapped) {
    const written =
      to.is === 'tool'
        ? to.tool
        : to.is === 'server'
          ? to.tool === null
            ? to.server
            : `${to.server}/${to.tool}`
          : null;
    if (denied.denies(to)) note(reading, 'dropped', 'tools', `${name} is in \`disallowedTools\`, in whole or in part.`);
    else if (to.is === 'agents') addAgents(reading, to.agents, denied, agents);
    else if (to.is === 'calling') canCall = true;
    else if (written === null) missing.push(name);
    else if (to.is === 'server' && !ports.hasServer(to.server)) servers.push(written);
    else tools.add(written);
  }
  readSubAgents(reading, canCall, denied, agents);
  if (canCall && agents.size === 0)
    note(reading, 'decide', 'tools', 'It may call any agent there. List in `agents` those that it may call here.');
  keys['tools'] = [...tools];
  if (agents.size > 0) keys['agents'] = [...agents];
  noteTools(reading, { isUnnamed: given['tools'] === undefined || given['tools'] === null, tools, missing, servers });
};

const addAgents = (reading: Reading, names: readonly string[], denied: DeniedTools, agents: Set<string>): void => {
  for (const name of names) {
    const found = reading.ports.findAgent(name);
    if (denied.deniesAgent(name)) note(reading, 'dropped', agentsKey(reading), `${name} is in \`disallowedTools\`.`);
    else if (found === null)
      note(
        reading,
        'decide',
        agentsKey(reading),
        `The agent ${name} was left out, because it was not found. Import it too, and name it in \`agents\`.`,
      );
    else if (found !== reading.name) agents.add(found);
  }
};

/** In Copilot, `agents` has an effect only with the tool that calls them. */
const readSubAgents = (reading: Reading, canCall: boolean, denied: DeniedTools, agents: Set<string>): void => {
  const { given, runtime } = reading;
  if (runtime !== 'copilot') return;
  const named = splitNames(given['agents']);
  if (named.length === 0) return;
  if (!canCall)
    note(reading, 'dropped', 'agents', 'The file names no tool that calls agents, so they have no effect there.');
  else if (named.includes('*'))
    note(reading, 'decide', 'agents', 'All agents are not called here: list in `agents` those that it may call.');
  else addAgents(reading, named, denied, agents);
};

type ToolFindings = {
  readonly isUnnamed: boolean;
  readonly tools: ReadonlySet<string>;
  readonly missing: readonly string[];
  readonly servers: readonly string[];
};

const noteTools = (reading: Reading, { isUnnamed, tools, missing, servers }: ToolFindings): void => {
  if (isUnnamed)
    note(
      reading,
      'decide',
      'tools',
      `The file names no tools, which means all of them in ${runtimeNames[reading.runtime]} and none here. To give it some, write for example: tools: [read_file, write_file, list_files]`,
    );
  if ([...tools].some((tool) => fileTools.includes(tool)))
    note(
      reading,
      'changed',
      'tools',
      'read_file, write_file and list_files see the files of the agent’s own cell, not those of a project. For a project, name the tools of a file server.',
    );
  if (missing.length > 0)
    note(
      reading,
      'decide',
      'tools',
      `Left out, because nothing here does the same: ${missing.join(', ')}. A tool server may: define it in \`mcpServers\` of .ai-agent.json and name it in \`tools\`.`,
    );
  if (servers.length > 0)
    note(
      reading,
      'decide',
      'tools',
      `Left out, because .ai-agent.json has no such server: ${servers.join(', ')}. Define it in \`mcpServers\`, and name it in \`tools\`.`,
    );
};

const runtimeNames = { claude: 'Claude Code', copilot: 'Copilot' };
const fileTools = ['read_file', 'write_file', 'list_files'];

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'];

const readOthers = (reading: Reading): void => {
  const { given, keys } = reading;
  const { maxTurns, effort } = given;
  if (typeof maxTurns === 'number' && Number.isSafeInteger(maxTurns) && maxTurns >= 0) keys['maxToolTurns'] = maxTurns;
  if (typeof effort === 'string' && efforts.includes(effort)) keys['reasoning'] = effort;
  for (const key of Object.keys(given)) {
    if (taken.includes(key)) continue;
    const why = decisions.get(key);
    if (why === undefined) note(reading, 'dropped', key, 'It has no effect here.');
    else note(reading, 'decide', key, `\`${key}\` was left out. ${why}`);
  }
};

const taken = [
  'name',
  'description',
  'argument-hint',
  'model',
  'tools',
  'disallowedTools',
  'agents',
  'maxTurns',
  'effort',
];

/** Keys that change what an agent does there. */
const decisions: ReadonlyMap<string, string> = new Map([
  ['hooks', 'The runtime runs no commands for an agent.'],
  ['permissionMode', '`tools` is what it may use. List in `approve` the tools that a person must allow each time.'],
  ['skills', 'Put their folders beside the agent file, and name these in `skills`.'],
  ...['mcpServers', 'mcp-servers'].map(
    (key) => [key, 'Define the servers in `mcpServers` of .ai-agent.json, and name them in `tools`.'] as const,
  ),
  ['memory', 'An agent starts with nothing of its earlier runs; a conversation keeps its messages.'],
  ['handoffs', 'A conversation is not handed over: list the agent in `agents`, or write a team file.'],
  ['isolation', 'Every agent works in its own cell; it has no copy of a repository.'],
  ['initialPrompt', 'What it is asked comes from its caller.'],
]);
