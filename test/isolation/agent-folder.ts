// A team of agents as files: each in a folder of its own, with its own config, variables, included text and tool module.
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { writeFiles } from './temporary-folder.ts';

export const cellNames = ['lead', 'left', 'right', 'left/deep', 'right/deep'] as const;
export type CellName = (typeof cellNames)[number];

/** The folder of each agent: the two named `deep` are below the agents that call them. */
export const folderOf = (cell: CellName): string => cell;

/** Host names identify the sender: a cell's model is at `<host>.model.invalid`, its server at `<host>.mcp.invalid`. */
export const hostOf = (cell: CellName): string => cell.replace('/', '-');

/** The global function that a tool module calls: the tests set it. */
export const moduleHook = Symbol.for('cloister two-run module');

export type AgentText = {
  readonly frontmatter: object;
  readonly prompt: string;
  /** The text of `notes/style.md`, which every prompt includes. */
  readonly included: string;
  /** The text of its skill, which has the same name in every folder. */
  readonly skill: string;
  readonly config: object;
  /** `.ai-agent.env`. */
  readonly sidecar: Readonly<Record<string, string>>;
  readonly module: { readonly tools: readonly ModuleTool[]; readonly secret: unknown };
};

export type ModuleTool = { readonly name: string; readonly description: string };

/** Frontmatter is YAML, and JSON is YAML. */
export const writeAgent = (root: string, cell: CellName, agent: AgentText): void =>
  writeFiles(join(root, folderOf(cell)), {
    [`${cell.split('/').at(-1)}.ai`]: `---\n${JSON.stringify(agent.frontmatter, null, 1)}\n---\n${agent.prompt}\n\${include:notes/style.md}\n`,
    'notes/style.md': agent.included,
    'skills/own/SKILL.md': `---\nname: own\ndescription: Works with ${hash('sha256', agent.skill)}.\n---\n${agent.skill}\n`,
    'skills/own/more.md': `More: ${agent.skill}`,
    '.ai-agent.json': JSON.stringify(agent.config),
    '.ai-agent.env': Object.entries(agent.sidecar)
      .map(([name, value]) => `${name}="${value}"\n`)
      .join(''),
    'kit.mjs': moduleText(cell, agent.module),
  });

const moduleText = (cell: CellName, { tools, secret }: AgentText['module']): string => `
const secret = ${JSON.stringify(secret)};
const tool = ({ name, description }) => ({
  name,
  description,
  inputSchema: { type: 'object' },
  repeat: 'free',
  execute: (args, context) => globalThis[Symbol.for(${JSON.stringify(moduleHook.description)})](${JSON.stringify(cell)}, { tool: name, args, context, secret }),
});
export default ${JSON.stringify(tools)}.map(tool);
`;
