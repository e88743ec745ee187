// What the server says of its agents, in words and as a graph: who calls whom, who may write to whom.
import { count, money, plural } from '#headends/run-view';
import type { AgentFacts } from '../source.ts';
import type { GraphEdge, GraphNode } from '../panes/graph-layout.ts';

/** Everything but the name may be missing: what a caller may not see, or an older server does not send. */
export type AgentDetails = Pick<AgentFacts, 'name'> &
  Partial<AgentFacts> & {
    readonly models?: readonly string[] | null;
    readonly tools?: readonly string[] | null;
    readonly agents?: readonly string[] | null;
    readonly team?: boolean;
    readonly topics?: unknown;
    readonly messages?: unknown;
    readonly approve?: unknown;
    readonly budget?: Readonly<Record<string, number | undefined>> | null;
  };

export type TopologyEdge = { readonly from: string; readonly to: string; readonly kind: string };

export type WorstCaseFacts = {
  readonly agents: number | null;
  readonly depth?: number;
  readonly tokens: number | null;
  readonly usd: number | null;
};

type Told = string | { readonly message: string; readonly code?: string };

export type AgentsReply = {
  readonly agents: readonly AgentDetails[];
  readonly topology?: {
    readonly edges?: readonly TopologyEdge[];
    readonly problems?: readonly Told[];
    readonly warnings?: readonly Told[];
    readonly worstCase?: WorstCaseFacts | null;
  } | null;
};

export const warningTexts = ({ topology }: AgentsReply): readonly string[] =>
  [...(topology?.problems ?? []), ...(topology?.warnings ?? [])].map((one) =>
    typeof one === 'string' ? one : one.message,
  );

/** Lines of one kind: a call or a start leads to work, a message does not. */
export const isCall = ({ kind }: TopologyEdge): boolean => !/mess|topic|write|mail/u.test(kind);

/** Without a topology, what each agent's own list says. */
export const edgesOf = ({ agents, topology }: AgentsReply): readonly TopologyEdge[] =>
  topology?.edges ??
  agents.flatMap(({ name, agents: called }) => (called ?? []).map((to) => ({ from: name, to, kind: 'calls' })));

export type AgentGraph = {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly (GraphEdge & TopologyEdge)[];
};

/** Agents that have to do with each other are one graph: those that nobody calls first, each of the others after all that call it. */
export const agentGraphs = (reply: AgentsReply): readonly AgentGraph[] => {
  const all = edgesOf(reply).filter(({ from, to }) => from !== to);
  const names = [...new Set([...reply.agents.map(({ name }) => name), ...all.flatMap(({ from, to }) => [from, to])])];
  const columns = columnsOf(names, all.filter(isCall));
  const unique = new Map(all.map((edge) => [`${edge.kind} ${edge.from} ${edge.to}`, edge]));
  const edges = [...unique].map(([id, edge]) => {
    const bus = isCall(edge) && columns.get(edge.to) === columns.get(edge.from)! + 1;
    return { id, ...edge, bus };
  });
  const families = familiesOf(names, all);
  return [...Map.groupBy(names, (name) => families.get(name)!).values()].map((family) => ({
    nodes: family.map((id) => ({ id, column: columns.get(id)! })),
    edges: edges.filter(({ from }) => family.includes(from)),
  }));
};

/** The first name of each group of agents that are connected. */
const familiesOf = (names: readonly string[], edges: readonly TopologyEdge[]): ReadonlyMap<string, string> => {
  const first = new Map(names.map((name) => [name, name]));
  const find = (name: string): string => {
    const above = first.get(name)!;
    return above === name ? name : find(above);
  };
  for (const { from, to } of edges) {
    const [one, other] = [find(from), find(to)].sort((a, b) => names.indexOf(a) - names.indexOf(b)) as [string, string];
    first.set(other, one);
  }
  return new Map(names.map((name) => [name, find(name)]));
};

/** The longest way from an agent that nobody calls; a circle is cut where it is met. */
const columnsOf = (names: readonly string[], calls: readonly TopologyEdge[]): ReadonlyMap<string, number> => {
  const callers = Map.groupBy(calls, ({ to }) => to);
  const columns = new Map<string, number>();
  const visit = (name: string, above: ReadonlySet<string>): number => {
    const known = columns.get(name);
    if (known !== undefined) return known;
    const before = (callers.get(name) ?? []).filter(({ from }) => !above.has(from));
    const column = Math.max(-1, ...before.map(({ from }) => visit(from, new Set([...above, name])))) + 1;
    columns.set(name, column);
    return column;
  };
  for (const name of names) visit(name, new Set([name]));
  return columns;
};

/** `Worst case for one run: 4 agents, 200,000 tokens, $1.0000.` */
export const worstCaseText = (worst: WorstCaseFacts | null | undefined): string => {
  if (worst == null) return '';
  const { agents, tokens, usd } = worst;
  const parts = [
    agents === null ? 'any number of agents' : plural(agents, 'agent'),
    tokens === null ? 'tokens without a known limit' : `${count(tokens)} tokens`,
    usd === null ? 'cost without a known limit' : money(usd),
  ];
  return `Worst case for one run, if every model uses all it may: ${parts.join(', ')}.`;
};

/** A list, a record of rules, or one word: as text. Empty: nothing to tell. */
export const listText = (value: unknown): string => {
  if (value == null || value === false) return '';
  if (Array.isArray(value))
    return value
      .map(listText)
      .filter((one) => one !== '')
      .join(', ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([key, inner]) => {
        const text = inner === true || (typeof inner === 'object' && !Array.isArray(inner)) ? '' : listText(inner);
        return text === '' ? key : `${key} ${text}`;
      })
      .join(', ');
  return typeof value === 'string' || typeof value === 'number' || value === true ? String(value) : '';
};
