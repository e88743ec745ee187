// Warnings about what is written in agent files and has no effect.
import type { Warning } from '#contracts';
import type { Registry } from './registry.ts';
import { withChildren } from './resources-from-code.ts';

export const fileWarnings = ({ linked, agents }: Registry): readonly Warning[] => [
  ...[...linked.values()].flatMap(({ file: { name, ignored } }) =>
    ignored.map(({ file, line, key, message }): Warning => ({
      code: 'key-ignored',
      agent: name,
      message: `${file}${line === null ? '' : `:${line}`} \`${key}\`: ${message}`,
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

/** As template languages write it. A variable of ours is `${NAME}`. */
const templateTag = /\{\{[^{}\n]{1,200}\}\}|\{%[^{}\n]{1,200}%\}/gu;

const shownMax = 3;

const templateWarning = (agent: string, path: string, left: readonly string[]): Warning => ({
  code: 'template-as-text',
  agent,
  message: `${path}: ${left.slice(0, shownMax).join(', ')}${left.length > shownMax ? ', …' : ''} reaches the model as it is written. Variables are written as \`\${DATE}\`, includes as \`\${include:file.md}\`; what changes with each call belongs in the input.`,
});
