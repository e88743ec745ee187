// The agents: what each may use, whom it calls and writes to, what it may cost; and who may call them.
import { plural } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import { GraphDrawing } from '../panes/graph-drawing.tsx';
import { layOutGraph } from '../panes/graph-layout.ts';
import type { GraphLayout } from '../panes/graph-layout.ts';
import { nodeInDirection } from '../panes/graph-moves.ts';
import { agents as knownAgents, mayAct, me, source } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Busy, Empty } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { useNarrow } from '../ui/use-size.ts';
import { AgentDetail } from './agent-detail.tsx';
import { agentGraphs, isCall, warningTexts, worstCaseText } from './agent-facts.ts';
import type { AgentDetails, AgentGraph, AgentsReply } from './agent-facts.ts';
import { Callers } from './callers.tsx';

export const Agents = () => {
  const loaded = useLoaded(() => source.value.get<AgentsReply>('/agents'), []);
  // A server that has no such page still names its agents.
  const reply = loaded.value ?? { agents: knownAgents.value };
  if (loaded.value === null && loaded.error === null) return <Busy />;
  if (reply.agents.length === 0)
    return (
      <Empty title="Looking only.">
        <p>
          {me.value?.watchOnly === true
            ? 'This link may look only, so it has no agents.'
            : 'Give studio an agent file, and it is here with what it can reach: npx cloister studio lead.ai'}
        </p>
      </Empty>
    );
  return <AgentsPage reply={reply} />;
};

const arrows = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'] as const;
const wideSizes = { width: 156, height: 58, rowGap: 14, label: 30, margin: 18 };
const narrowSizes = { ...wideSizes, width: 144, label: 0, margin: 12 };

const AgentsPage = ({ reply }: { readonly reply: AgentsReply }) => {
  const sizes = useNarrow() ? narrowSizes : wideSizes;
  const graphs = agentGraphs(reply).map((graph) => ({ graph, layout: layOutGraph(graph.nodes, graph.edges, sizes) }));
  const names = graphs.flatMap(({ graph }) => graph.nodes.map(({ id }) => id));
  const selected = names.find((name) => name === address.value.agent) ?? reply.agents[0]!.name;
  const details = new Map(reply.agents.map((agent) => [agent.name, agent]));
  const choose = (agent: string | undefined): void => void (agent !== undefined && select({ agent }));
  // As they stand on the page: one graph below the other.
  let top = 0;
  const placed = graphs.flatMap(({ layout }) => {
    const nodes = layout.nodes.map((node) => ({ ...node, y: node.y + top }));
    top += layout.height;
    return nodes;
  });
  useKeys({
    ...Object.fromEntries(
      arrows.map((key) => [
        key,
        { about: 'agent', hint: true, run: () => choose(nodeInDirection(placed, selected, key)) },
      ]),
    ),
    Enter: {
      about: 'chat with it',
      hint: mayAct.value,
      run: () => details.has(selected) && mayAct.value && go({ page: 'chat', agent: selected }),
    },
  });
  const warnings = warningTexts(reply);
  return (
    <div class="split">
      <div class="split-main agents-main">
        <div class="sentence">
          <h1>{plural(names.length, 'agent')}.</h1> <span>{worstCaseText(reply.topology?.worstCase)}</span>
        </div>
        {warnings.length === 0 ? null : <Warnings texts={warnings} />}
        <div class="graph-scroll agents-graph">
          {graphs.map(({ graph, layout }) => (
            <Family key={graph.nodes[0]!.id} {...{ graph, layout, selected, details, choose }} />
          ))}
          <Legend />
        </div>
        {me.value?.operator === true ? <Callers /> : null}
      </div>
      <AgentDetail name={selected} agent={details.get(selected)} edges={graphs.flatMap(({ graph }) => graph.edges)} />
    </div>
  );
};

type FamilyProps = {
  readonly graph: AgentGraph;
  readonly layout: GraphLayout;
  readonly selected: string;
  readonly details: ReadonlyMap<string, AgentDetails>;
  readonly choose: (agent: string) => void;
};

const Family = ({ graph, layout, selected, details, choose }: FamilyProps) => (
  <GraphDrawing
    layout={layout}
    label={`Whom ${graph.nodes[0]!.id} calls`}
    onSelect={choose}
    edgeLook={({ id, from, to }) => {
      const edge = graph.edges.find((one) => one.id === id)!;
      return {
        colour: isCall(edge) ? 'goal' : 'mail',
        isDim: from !== selected && to !== selected,
        isPlanned: /spawn/u.test(edge.kind),
      };
    }}
    nodeLook={({ id }) => ({
      isSelected: id === selected,
      isDim: false,
      body: <AgentBox name={id} agent={details.get(id)} />,
    })}
  />
);

const AgentBox = ({ name, agent }: { readonly name: string; readonly agent: AgentDetails | undefined }) => (
  <>
    <b>{name}</b>
    <span class="muted">{boxWords(agent)}</span>
  </>
);

const boxWords = (agent: AgentDetails | undefined): string => {
  if (agent === undefined) return 'called by others';
  if (agent.team === true) return 'team';
  const tools = agent.tools?.length ?? 0;
  return tools > 0 ? plural(tools, 'tool') : (agent.models?.[0] ?? 'agent');
};

const Legend = () => (
  <p class="graph-note mail-legend">
    <span class="legend hue-goal">calls; dashed: starts, and does not wait</span>
    <span class="legend hue-mail">may write to</span>
  </p>
);

const Warnings = ({ texts }: { readonly texts: readonly string[] }) => (
  <details class="notice warnings" open={texts.length <= 3}>
    <summary>{plural(texts.length, 'warning')}</summary>
    <ul>
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  </details>
);
