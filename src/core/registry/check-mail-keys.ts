// What the keys of spawning and mail say against one another, and against `tools`.
import { nearestName } from '#base';
import type { JsonObject } from '#base';
import type { FileSpawns, Frontmatter } from '#contracts';
import type { ReportFieldProblem } from './field-values.ts';
import { referredName } from './mail-keys.ts';

export const spawnToolName = 'spawn_agent';

/** `given`: what was written, of which `read` is what could be read. */
export const checkMailKeys = (given: JsonObject, read: Partial<Frontmatter>, report: ReportFieldProblem): void => {
  const { spawns } = read;
  const tools = read.tools?.filter(isText);
  const isGiven = (key: string): boolean => Object.hasOwn(given, key);
  const hasTool = tools?.includes(spawnToolName) ?? false;
  if (isGiven('spawns') && !hasTool && (tools !== undefined || !isGiven('tools')))
    report(['spawns'], 'It needs the tool that starts them: expected `spawn_agent` in `tools`.');
  if (hasTool && !isGiven('spawns'))
    report(['tools'], '`spawn_agent` needs somebody to start: expected agents or templates in `spawns`.');
  if (spawns === undefined) return;
  checkNames(spawns, report);
  checkTemplateTools(spawns, tools ?? [], report);
};

/** What could not be read of a list leaves a gap in it. */
const isText = (item: string | undefined): item is string => item !== undefined;

const checkNames = ({ agents = [], pool = {} }: FileSpawns, report: ReportFieldProblem): void => {
  const named = agents.filter(isText);
  // The same reference twice is told where it stands.
  const names = [...new Set(named)].map(referredName);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) report(['spawns'], `Two of them are called "${twice}": a model could not tell which.`);
  for (const name of Object.keys(pool))
    if (!names.includes(name))
      report(['spawns', 'pool', name], `${JSON.stringify(name)} is none of those in \`spawns.agents\`.`, () =>
        nearestName(name, names),
      );
};

const checkTemplateTools = ({ templates }: FileSpawns, tools: readonly string[], report: ReportFieldProblem): void => {
  const named = typeof templates === 'object' ? (templates.tools ?? []) : [];
  for (const [index, tool] of named.entries())
    if (isText(tool) && !tools.includes(tool))
      report(['spawns', 'templates', 'tools', index], `${JSON.stringify(tool)} is none of its own \`tools\`.`, () =>
        nearestName(tool, tools),
      );
};
