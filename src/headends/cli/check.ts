// `check`: validates agent files, before a token is spent: problems first, then the agents with their worst case and reach.
import type {
  ApprovalMark,
  CheckReport,
  KeepLimits,
  Problem,
  AgentReach,
  SpawnReach,
  TopologyNode,
  Warning,
  WorstCase,
} from '#contracts';
import { count, formatBytes, money, plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { describeToolNames } from './shared/format.ts';
import { exitCode } from './shared/errors.ts';
import { configOption, createAgentsHint, flagOption, pathsArgument } from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { truncateColumns, sanitizeLine, width, wrapText } from './shared/sanitize-text.ts';
import { inTreeOrder } from './shared/tree.ts';

/** Warnings alone do not fail. */
export default defineCommand({
  about: 'validate agent files; show their worst-case cost and what they can reach',
  examples: ['cloister check', 'cloister check lead.ai agents/ --json'],
  arguments: pathsArgument,
  options: {
    syntaxOnly: flagOption('check each file on its own; do not resolve sub-agents or config'),
    connect: flagOption('also connect to the tool servers the agents use'),
    ...configOption,
  },
  run: async ({ paths, syntaxOnly, connect, config, json }, { runtime, output }) => {
    const report = await runtime.check({ paths, syntaxOnly, connect, config });
    output.result(json, report, (printer) => checkLines(report, !syntaxOnly, printer));
    return report.ok ? exitCode.completed : exitCode.config;
  },
});

const problemsMax = 200;
const nodesMax = 200;
const cyclesMax = 20;
const reachMax = 50;
const warningsMax = 50;
const limitsMax = 50;
const toolNamesMax = 50;

/** `resolved`: sub-agents were resolved, not only parsed. */
export const checkLines = (report: CheckReport, resolved: boolean, screen: Screen): readonly string[] => {
  const sections = [
    problemLines(report.problems, screen),
    ...(resolved && report.agents.length > 0 ? topologySections(report, screen) : []),
    slackLines(report.slack, screen),
    keepLines(report.keep),
    warningLines(report.warnings, screen),
    verdictLines(report, resolved, screen),
  ];
  return sections.filter((lines) => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
};

const slackLines = (needs: CheckReport['slack'], { columns }: Screen): readonly string[] =>
  needs === undefined
    ? []
    : [
        `Slack app (${needs.transport === 'socket' ? 'Socket Mode' : 'HTTP at /slack/events'}; \`cloister slack manifest\` prints its settings)`,
        ...wrapText('  scopes  ', needs.scopes.join(', '), columns),
        ...wrapText('  events  ', needs.events.join(', '), columns),
      ];

const keepLines = (keep: CheckReport['keep']): readonly string[] => {
  if (keep === undefined) return [];
  const { agents = {}, ...common } = keep;
  return [
    'Runs that are kept (`cloister serve` deletes the others; `cloister runs expire --dry-run` lists them)',
    `  all agents  ${describeLimits(common)}`,
    ...Object.entries(agents).map(([agent, limits]) => `  ${sanitizeLine(agent)}  ${describeLimits(limits)}`),
  ];
};

const describeLimits = ({ days, runs, bytes }: KeepLimits): string => {
  const parts = [
    ...(days === undefined ? [] : [`${count(days)} ${days === 1 ? 'day' : 'days'} after their end`]),
    ...(runs === undefined ? [] : [`the newest ${count(runs)}`]),
    ...(bytes === undefined ? [] : [`at most ${formatBytes(bytes)}`]),
  ];
  return parts.length === 0 ? 'until they are deleted' : parts.join(', ');
};

const topologySections = (report: CheckReport, screen: Screen): readonly (readonly string[])[] => [
  treeLines(report.tree, screen),
  toolNameLines(report.agents, screen),
  limitLines(report.tree, screen),
  cycleLines(report.cycles, screen),
  worstCaseLines(report.worstCase, screen),
  reachLines(report.reach, screen),
];

/** Grouped by file, each like `lead.ai:7  limits.maxRetry: unknown key; did you mean "maxRetries"?` */
const problemLines = (problems: readonly Problem[], screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const byFile = [...Map.groupBy(problems, ({ file }) => file).values()].flat();
  const lines = byFile.slice(0, problemsMax).flatMap((problem) => {
    const place = sanitizeLine(problem.line === null ? problem.file : `${problem.file}:${problem.line}`);
    return paintTitle(place, (plain) => paint('red', plain), wrapText(`${place}  `, describeProblem(problem), columns));
  });
  return withMore(lines, { more: byFile.length - problemsMax, what: 'problem' }, screen);
};

const describeProblem = ({ key, message, nearest }: Problem): string => {
  const words = key === null ? message : `${key}: ${message}`;
  if (nearest === null || words.includes('did you mean')) return words;
  return `${words.replace(/\.$/u, '')}; did you mean "${nearest}"?`;
};

const treeLines = (tree: readonly TopologyNode[], screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const nodes = inTreeOrder(tree, ({ agents }) => agents);
  const expandedFiles = new Set(nodes.flatMap(({ node }) => (node.agents.length > 0 ? [node.file] : [])));
  const lines = nodes.slice(0, nodesMax).map(({ node, branch }) => {
    const spawned = node.spawned === true ? ' (spawned)' : '';
    const again = node.agents.length === 0 && expandedFiles.has(node.file) ? ' (see above)' : '';
    const name = truncateColumns(`  ${branch}${sanitizeLine(node.name)}${spawned}${again}`, columns);
    const file = truncateColumns(`  ${sanitizeLine(node.file)}`, columns - width(name)).trimEnd();
    return file === '' ? name : `${name}${paint('dim', file)}`;
  });
  return [paint('bold', 'Agents'), ...withMore(lines, { more: nodes.length - nodesMax, what: 'agent' }, screen)];
};

/** Only the names that models see differently. */
const toolNameLines = (agents: CheckReport['agents'], screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const shown = agents.filter(({ toolName, modelToolName }) => toolName !== modelToolName);
  if (shown.length === 0) return [];
  const lines = shown
    .slice(0, toolNamesMax)
    .flatMap((agent) => wrapText(`  ${sanitizeLine(agent.name)}: `, describeToolNames(agent), columns, 4));
  return [
    paint('bold', 'Tool names'),
    ...withMore(lines, { more: shown.length - toolNamesMax, what: 'agent' }, screen),
  ];
};

/** Where defaults do not apply: set in the file or the config, inherited, or adapted to another limit. */
const limitLines = (tree: readonly TopologyNode[], screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const shown = inTreeOrder(tree, ({ agents }) => agents).flatMap(({ node: { name, spawned, limits } }) => {
    const values = limits?.changed.map((key) => `${key} ${limits.values[key]}`) ?? [];
    const title = `  ${sanitizeLine(name)}${spawned === true ? ' (spawned)' : ''}: `;
    return values.length === 0 ? [] : [wrapText(title, values.join(', '), columns, 4)];
  });
  if (shown.length === 0) return [];
  return [
    paint('bold', 'Limits in effect, if not the default'),
    ...withMore(shown.slice(0, limitsMax).flat(), { more: shown.length - limitsMax, what: 'agent' }, screen),
  ];
};

const cycleLines = (cycles: CheckReport['cycles'], screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  if (cycles.length === 0) return [];
  const lines = cycles.slice(0, cyclesMax).flatMap((cycle) => wrapText('  ', shortenCycle(cycle).join(' → '), columns));
  return [
    paint('bold', 'Cycles'),
    ...withMore(lines, { more: cycles.length - cyclesMax, what: 'cycle' }, screen),
    ...wrapText('  ', 'An agent cannot call itself or one of its callers; such calls are refused.', columns),
  ];
};

const cycleNamesMax = 20;

const shortenCycle = (names: readonly string[]): readonly string[] => {
  const left = names.length - cycleNamesMax;
  return left <= 0 ? names : [...names.slice(0, cycleNamesMax - 1), `… ${count(left)} more …`, ...names.slice(-1)];
};

const worstCaseLines = ({ agents, depth, tokens, usd }: WorstCase, { paint, columns }: Screen): readonly string[] => {
  const title = 'Worst case';
  const levels = depth === 0 ? 'no sub-agents' : `up to ${plural(depth, 'level')} of sub-agents`;
  const row = (name: string, words: string): readonly string[] => wrapText(`  ${name.padEnd(8)}`, words, columns, 10);
  return [
    ...paintTitle(
      title,
      (plain) => paint('bold', plain),
      wrapText('', `${title} for one run, if every model uses all it is allowed to use`, columns),
    ),
    ...row('agents', `${agents === null ? noKnownLimit : count(agents)}, ${levels}`),
    ...row('tokens', tokens === null ? noKnownLimit : count(tokens)),
    ...row('cost', usd === null ? noKnownLimit : money(usd)),
  ];
};

const noKnownLimit = 'no known limit';

const reachLines = (reach: CheckReport['reach'], screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const agents = Object.entries(reach);
  const lines = agents.slice(0, reachMax).flatMap(([name, one]) => {
    const rows = reachRows(one).flatMap(([title, names]) =>
      names.length === 0 ? [] : wrapText(`    ${title.padEnd(20)}`, names.join(', '), columns, 24),
    );
    return [truncateColumns(`  ${sanitizeLine(name)}`, columns), ...(rows.length === 0 ? ['    nothing'] : rows)];
  });
  return [
    paint('bold', 'What each agent can reach'),
    ...withMore(lines, { more: agents.length - reachMax, what: 'agent' }, screen),
  ];
};

const reachRows = (reach: AgentReach): readonly (readonly [string, readonly string[]])[] => {
  const { env, servers, tools, through, spawns, skills = [], approve = {}, asks = false } = reach;
  return [
    ['env', env],
    ['servers', servers],
    ['tools', tools],
    ['skills', skills],
    ['asks before', Object.entries(approve).map(describeMark)],
    ['asks', asks ? ['a person'] : []],
    ['spawns', spawns === undefined ? [] : describeSpawns(spawns)],
    ['sub-agents’ env', through.env],
    ['sub-agents’ servers', through.servers],
    ['sub-agents’ tools', through.tools],
  ];
};

/** `mail/send (2 of ops, sec; not the asker)`. */
const describeMark = ([name, { by, need, not, when }]: [string, ApprovalMark]): string => {
  const who =
    by === undefined
      ? need === undefined
        ? []
        : [`${count(need)} people`]
      : [`${count(need ?? 1)} of ${by.join(', ')}`];
  const rule = [
    ...who,
    ...(not === undefined ? [] : ['not the asker']),
    ...(when === undefined ? [] : ['by its arguments']),
  ];
  return rule.length === 0 ? name : `${name} (${rule.join('; ')})`;
};

/** `fighter, self, agents it defines itself; 4 at a time, 5 per minute, 3 levels`. */
const describeSpawns = ({ agents, templates, children, perMinute, depth }: SpawnReach): readonly string[] => {
  const who = [...agents, ...(templates === null ? [] : ['agents it defines itself'])].join(', ');
  return [`${who}; ${count(children)} at a time, ${count(perMinute)} per minute, ${plural(depth, 'level')}`];
};

const warningLines = (warnings: readonly Warning[], screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  if (warnings.length === 0) return [];
  const lines = warnings.slice(0, warningsMax).flatMap(({ code, message }) => {
    const title = `  ${sanitizeLine(code)}`;
    return paintTitle(title, (plain) => paint('yellow', plain), wrapText(`${title}: `, message, columns));
  });
  return [
    paint('bold', 'Warnings'),
    ...withMore(lines, { more: warnings.length - warningsMax, what: 'warning' }, screen),
  ];
};

/** Paints the beginning of lines that were measured without colour. */
const paintTitle = (title: string, paint: (plain: string) => string, lines: readonly string[]): readonly string[] => {
  const [first = '', ...rest] = lines;
  return first.startsWith(title) ? [paint(title) + first.slice(title.length), ...rest] : lines;
};

const withMore = (
  lines: readonly string[],
  { more, what }: { readonly more: number; readonly what: string },
  { columns }: Screen,
): readonly string[] =>
  more > 0
    ? [...lines, ...wrapText('  ', `… and ${plural(more, `more ${what}`)}: use --json for all`, columns)]
    : lines;

const verdictLines = (
  { ok, agents, problems, warnings }: CheckReport,
  resolved: boolean,
  { paint, columns }: Screen,
): readonly string[] => {
  const files = new Set(problems.map(({ file }) => file)).size;
  const found = ok
    ? 'No problems'
    : `${plural(Math.max(1, problems.length), 'problem')} in ${plural(Math.max(1, files), 'file')}`;
  const warned = warnings.length === 0 ? '' : `, ${plural(warnings.length, 'warning')}`;
  const words = `${found}${warned} · ${plural(agents.length, 'agent')}${resolved ? '' : ', syntax only'}`;
  const isEmpty = ok && agents.length === 0 && warnings.length === 0;
  return [
    ...paintTitle(found, (plain) => paint(ok ? 'green' : 'red', plain), wrapText('', words, columns)),
    ...(isEmpty ? [createAgentsHint] : []),
  ];
};
