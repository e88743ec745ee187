// Warnings about what is written in agent files and has no effect.
import { resolve } from 'node:path';
import type { Problem, Warning } from '#contracts';
import { isAgentFile, listForeignAgents, pathKind } from './find-files.ts';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import type { Registry } from './registry.ts';
import { withChildren } from './resources-from-code.ts';

export const fileWarnings = ({ linked, agents, configs }: Registry): readonly Warning[] => [
  ...configs.notes.map((one): Warning => ({
    code: one.kind === 'dropped' ? 'key-ignored' : 'not-as-written',
    agent: '',
    message: messageOf(one),
  })),
  ...[...linked.values()].flatMap(({ file: { name, ignored } }) =>
    ignored.map((one): Warning => ({
      code: isAgentFile(one.file) ? 'key-ignored' : 'not-as-written',
      agent: name,
      message: messageOf(one),
    })),
  ),
  ...[...new Map([...withChildren(agents)].map((agent) => [agent.file, agent])).values()].flatMap(
    ({ file, name, prompt }) => {
      const path = linked.get(file ?? '')?.file.path;
      const left = path === undefined ? [] : [...new Set(prompt.match(templateTag))];
      return left.length === 0 ? [] : [templateWarning(name, path!, left)];
    },
  ),
];

const messageOf = ({ file, line, key, message }: Problem): string =>
  `${file}${line === null ? '' : `:${line}`}${key === null ? ':' : ` \`${key}\`:`} ${message}`;

/** As template languages write it. A variable of ours is `${NAME}`. */
const templateTag = /\{\{[^{}\n]{1,200}\}\}|\{%[^{}\n]{1,200}%\}/gu;

const shownMax = 3;

const templateWarning = (agent: string, path: string, left: readonly string[]): Warning => ({
  code: 'template-as-text',
  agent,
  message: `${path}: the model is shown this as it is written: ${left.slice(0, shownMax).join(', ')}${left.length > shownMax ? ', …' : ''}. Variables are written as \`\${DATE}\`, includes as \`\${include:file.md}\`; what changes with each call belongs in the input.`,
});

/** Agents of other runtimes in these folders. */
export const notLoadedWarnings = (paths: readonly string[], launch: LaunchEnvironment): readonly Warning[] =>
  paths.flatMap((given) => {
    const folder = resolve(launch.cwd, given);
    const files = pathKind(folder) === 'folder' ? listForeignAgents(folder) : [];
    if (files.length === 0) return [];
    const shown = files.slice(0, shownMax).map((file) => displayPath(file, launch));
    const more = files.length > shownMax ? ` and ${files.length - shownMax} more` : '';
    return [
      {
        code: 'agents-not-loaded',
        agent: '',
        message: `${given}: agents of other runtimes are not loaded with their folder: ${shown.join(', ')}${more}. Name a file to use it as it is, or write agent files with \`cloister import ${given}\`.`,
      },
    ];
  });
