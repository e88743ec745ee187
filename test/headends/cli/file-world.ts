// The part of the fake world that knows agent files: a team of two, or what a test provides instead.
import type { CheckReport, Problem, ToolNames } from '#contracts';
import type { CliFiles, CliRuntime, CliTasks, CliWorld } from '#headends/cli';

/** Everything flat, so that a test provides what it needs. */
export type FileWorld = Pick<CliRuntime, 'check' | 'import' | 'init' | 'templates' | 'migrate' | 'agentHelp'> &
  Pick<CliWorld['terminal'], 'stdin'> &
  CliFiles & {
    readonly readTasks: CliTasks['read'];
    readonly teamTasks: CliTasks['ofTeam'];
    readonly drawGraph: CliTasks['draw'];
  };

export const problem = (over: Partial<Problem> = {}): Problem => ({
  file: 'lead.ai',
  line: 7,
  key: 'limits.maxRetry',
  message: 'unknown key',
  nearest: 'maxRetries',
  ...over,
});

/** `seen`: the name that models see. */
export const toolNames = (toolName: string, seen = toolName): ToolNames => ({ toolName, modelToolName: seen });

export const checkReport = (over: Partial<CheckReport> = {}): CheckReport => ({
  ok: true,
  agents: [
    { name: 'lead', file: 'lead.ai', description: 'Leads the research.', ...toolNames('lead') },
    { name: 'scout', file: 'agents/scout.ai', description: 'Looks things up on the web.', ...toolNames('scout') },
  ],
  problems: [],
  cycles: [],
  worstCase: { agents: 501, depth: 1, tokens: 2_251_662_336, usd: 12.5 },
  reach: {
    lead: {
      env: ['OPENAI_API_KEY'],
      servers: [],
      tools: [],
      through: { env: ['WEB_KEY'], servers: ['web'], tools: ['web/search'] },
    },
    scout: {
      env: ['OPENAI_API_KEY', 'WEB_KEY'],
      servers: ['web'],
      tools: ['web/search'],
      through: { env: [], servers: [], tools: [] },
    },
  },
  warnings: [],
  tree: [{ name: 'lead', file: 'lead.ai', agents: [{ name: 'scout', file: 'agents/scout.ai', agents: [] }] }],
  ...over,
});

export const template = '---\ndescription: Leads the research.\nmaxRetries: 2 # built in\n---';

export const fileWorld = (over: Partial<FileWorld> = {}): FileWorld => ({
  check: async () => checkReport(),
  import: async ({ to }) => ({ ok: true, to, files: [] }),
  init: async (folder, chosen) => ({
    folder: `/work/${folder}`,
    template: chosen ?? 'start',
    files: ['lead.ai', 'scout.ai', '.ai-agent.json'],
    next: ['npx cloister check', 'npx cloister lead.ai "What about backups?"'],
  }),
  templates: async () => [
    { name: 'start', about: 'a lead and a scout' },
    { name: 'team', about: 'a graph of tasks' },
  ],
  migrate: async () => ({ from: 3, to: 3, writtenBy: null, copy: null }),
  agentHelp: async () => ({
    name: 'lead',
    description: 'Leads the research.',
    usage: 'Compare two databases',
    ...toolNames('lead'),
    template,
  }),
  stdin: async () => null,
  readText: async (path) => {
    throw new Error(`no such file: ${path}`);
  },
  readBytes: async (path) => {
    throw new Error(`no such file: ${path}`);
  },
  writeText: async () => undefined,
  writeBytes: async () => undefined,
  appendText: async () => undefined,
  whyNotWritable: async () => null,
  readTasks: async (path) => {
    throw new Error(`no such file: ${path}`);
  },
  teamTasks: async () => null,
  drawGraph: async (form, tasks) => `${form} of ${tasks.map(({ id, status }) => `${id} ${status}`).join(', ')}\n`,
  ...over,
});
