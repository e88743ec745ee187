// docs/CLIENTS.md, made of what `npm run test:clients` has seen.
import { codingTools } from './programs.ts';

export type ClientRow = {
  readonly name: string;
  readonly version: string;
  readonly kind: 'library' | 'coding tool';
  /** By feature: null if it works, else what the client got instead. */
  readonly results: Readonly<Record<string, string | null>>;
};

const libraryFeatures = ['text', 'stream', 'system', 'history', 'json', 'tools', 'tool stream', 'extras'];
const toolFeatures = ['text', 'system', 'tools', 'without --compat'];

export const clientsPage = (rows: readonly ClientRow[], limits: Readonly<Record<string, string>>): string => {
  const known = Object.entries(limits).filter(([key]) => rows.some(({ name }) => key.startsWith(name)));
  const notes = [...new Set(known.map(([, reason]) => reason))];
  const cell = ({ name, results }: ClientRow, feature: string): string => {
    const said = results[feature];
    if (said === undefined) return '';
    if (said === null) return 'yes';
    const reason = limits[`${name} ${feature}`];
    return reason === undefined ? 'no' : `no (${notes.indexOf(reason) + 1})`;
  };
  const table = (kind: ClientRow['kind'], features: readonly string[]): string =>
    [
      `| ${[kind, 'version', ...features.map((name) => (name.includes('--') ? `\`${name}\`` : name))].join(' | ')} |`,
      `| ${[kind, '', ...features].map(() => '---').join(' | ')} |`,
      ...rows
        .filter((row) => row.kind === kind)
        .map((row) => `| ${[row.name, row.version, ...features.map((feature) => cell(row, feature))].join(' | ')} |`),
    ].join('\n');
  return `# Clients

This page is made by \`npm run test:clients\`. It installs these programs from npm and runs them, unchanged, against
\`cloister serve --allow-system --allow-tools --compat\` with a rehearsed model, on a machine without any other network.
[SERVING.md](SERVING.md#openai-and-anthropic-clients) says what the options mean.

${table('library', libraryFeatures)}

- \`text\`, \`stream\`: an answer, whole or in pieces. \`system\`: the client's system prompt is system text of the agent.
  \`history\`: earlier messages.
- \`json\`: an answer that fits a schema, requested as the library does it. \`tools\`: the agent calls a tool of the client, by the
  library's own tool loop where it has one. \`tool stream\`: the same, with the answer in pieces.
- \`extras\`: stop sequences, hosted tools, sampling settings and the like, as far as the library can send them. An
  empty field was not tried.

${table('coding tool', toolFeatures)}

- \`tools\`: the agent's model runs a command with the tool's own shell tool.
- \`without --compat\`: it also answers if the server runs with \`--allow-system --allow-tools\` only.
${notes.length === 0 ? '' : `\n${notes.map((reason, index) => `${index + 1}. ${reason}.`).join('\n')}\n`}
## Connecting coding tools
The agent is called \`guide\` here, and \`clo_…\` stands for the token that the server printed.

${codingTools.map(section).join('\n\n')}
`;
};

const server = { url: 'http://127.0.0.1:8787', token: 'clo_…' };

const section = (tool: (typeof codingTools)[number]): string => {
  const files = Object.entries(tool.files?.(server) ?? {}).map(
    ([name, text]) => `\`${name}\`:\n\`\`\`${name.split('.').at(-1)}\n${text}\`\`\``,
  );
  const variables = Object.entries(tool.env(server)).map(([name, value]) => `${name}=${value}`);
  const args = tool.args('…').map((arg) => (arg === '…' ? '"…"' : arg));
  const shell = `\`\`\`bash\n${[...variables.map((one) => `export ${one}`), `${tool.command} ${args.join(' ')}`].join('\n')}\n\`\`\``;
  return [`### ${tool.name}`, ...files, shell].join('\n\n');
};
