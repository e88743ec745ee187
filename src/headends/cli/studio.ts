// `studio`: shows the workspace in a browser, and chats with agents there.
import { plural } from '#headends/run-view';
import type { RunningServer, StudioOptions } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import type { Paint } from './shared/output.ts';
import {
  configOption,
  flagOption,
  listOption,
  portNumber,
  valueOption,
  wholeNumber,
  workspaceOption,
} from './shared/options.ts';
import { runServer, studioLink } from './shared/run-server.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'look at runs and chat with agents in a browser',
  examples: ['cloister studio', 'cloister studio lead.ai', 'cloister studio --no-open --port 9000'],
  notes: [
    'Without paths, the agents are those that `cloister agents` finds by name.',
    'Without any, you can look at all runs of the workspace. The link holds a token',
    'that sees and steers everything: do not pass it on.',
  ],
  jsonLines: 'print one JSON value per line: the server, then each run',
  arguments: {
    paths: {
      about: 'agents to chat with: .ai files, folders, team files, modules or names',
      form: 'list',
      absent: [] as readonly string[],
    },
  },
  options: {
    agent: listOption('<path|name>', 'same as a path; repeatable'),
    port: valueOption('<port>', 'port to listen on (default: 8788, or the next one that is free)', portNumber),
    noOpen: flagOption('print the link only'),
    grace: valueOption(
      '<seconds>',
      'seconds to let runs finish on shutdown (default: 30); Ctrl-C again stops immediately',
      wholeNumber,
    ),
    ...configOption,
    ...workspaceOption,
  },
  run: async ({ paths, agent, port, noOpen, grace, config, workspace, json, verbose }, context) => {
    const { server, output, terminal } = context;
    const options: StudioOptions = { agents: [...agent, ...paths], port, workspace, config };
    return runServer(
      {
        json,
        memory: false,
        workspace,
        graceMs: (grace ?? 30) * 1000,
        start: (log) => server.studio(options, log),
        // The page asks for many small things.
        prints: (line) => verbose || line.type !== 'request' || line.defect !== null,
        started: (service) => {
          const link = studioLink(service.url ?? '', service.token);
          if (json) {
            const { url, token, agents } = service;
            return output.jsonLine({ type: 'serving', url, token, link, agents: agents.map(({ name }) => name) });
          }
          output.out.print(...studioLines(service, { workspace, link }, output.out.paint));
          if (noOpen || terminal.stdout.isTTY !== true) return;
          void showLink(link, context);
        },
      },
      context,
    );
  },
});

const showLink = async (link: string, { system, output }: CommandContext): Promise<void> => {
  if (!(await system.openBrowser(link))) output.err.print('No browser could be started here: open the link yourself.');
};

const studioLines = (
  { agents }: RunningServer,
  { workspace, link }: { readonly workspace: string; readonly link: string },
  paint: Paint,
): readonly string[] => [
  `Studio of ${sanitizeLine(workspace)}: ${agents.length === 0 ? 'no agents, so you can look but not chat' : agentsText(agents)}`,
  ...(agents.length === 0 ? ['  To chat, name agents: cloister studio lead.ai'] : []),
  '',
  `  ${paint('bold', link)}`,
  '',
  'Ctrl-C stops it.',
];

const agentsText = (agents: RunningServer['agents']): string => {
  const names = agents.slice(0, 10).map(({ name }) => sanitizeLine(name));
  const more = agents.length > names.length ? ', …' : '';
  return `${plural(agents.length, 'agent')}: ${names.join(', ')}${more}`;
};
