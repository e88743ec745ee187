// The tasks of a team: a graph and a list, and what the selected task saw.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TaskReport } from '#contracts';
import { count, formatBytes, formatDuration, money, workedMs } from '#headends/run-view';
import { address, select } from '../address.ts';
import type { PaneProps } from '../shell/workbench.tsx';
import { announcement, source } from '../state.ts';
import { nearest, useKeys } from '../ui/keys.ts';
import { Busy, Empty, Status, StatusMark, statusLooks } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { useRunNow } from '../ui/use-now.ts';
import { useNarrow, useWidth } from '../ui/use-size.ts';
import { GraphDrawing } from './graph-drawing.tsx';
import { layOutGraph } from './graph-layout.ts';
import type { GraphSizes } from './graph-layout.ts';
import { nodeInDirection } from './graph-moves.ts';
import { TaskDetail } from './task-detail.tsx';
import { nodeFigures, taskGraphOf, taskSentence, taskWords } from './task-graph.ts';
import type { TaskGraph, TaskNode } from './task-graph.ts';

export const Tasks = ({ store }: PaneProps) => {
  void store.version.value;
  const { view, run } = store;
  const [isList, setList] = useState(false);
  const [chosen, setChosen] = useState<string | null>(null);
  const states = [...view.tasks.values()].map(({ id, status }) => `${id} ${status}`).join();
  const reports = useLoaded(async () => (view.tasks.size === 0 ? [] : source.value.tasks(run)), [run, states]);
  const now = useRunNow(store);
  useEffect(() => {
    if (view.tasks.size > 0) announcement.value = taskSentence(view.tasks.values());
  }, [states]);
  if (view.tasks.size === 0)
    return store.state.value === 'loading' ? (
      <Busy />
    ) : (
      <Empty title="Only a team has tasks.">
        <p>A team file names its agents, and a coordinator that plans for them. docs/TEAMS.md says how.</p>
      </Empty>
    );
  const graph = taskGraphOf(view, reports.value ?? []);
  const selected = selectedNode(graph, chosen, address.value.cell);
  const onSelect = (id: string): void => {
    setChosen(id);
    select({ cell: graph.nodes.find((node) => node.id === id)?.cell?.cell, op: undefined, crossing: undefined });
  };
  return (
    <div class="split">
      <div class="split-main">
        <div class="sentence">
          <h1>{taskSentence(view.tasks.values())}</h1> <span>Each saw its own text and what it depends on.</span>
        </div>
        <TaskViews {...{ graph, selected, onSelect, isList, now }} onToggle={() => setList(!isList)} />
      </div>
      <TaskDetail graph={graph} node={selected} report={reportOf(reports.value, selected)} view={view} />
    </div>
  );
};

const reportOf = (reports: readonly TaskReport[] | null, node: TaskNode): TaskReport | undefined =>
  reports?.find(({ id }) => node.id === `task ${id}`);

/** What was clicked, or what the address names; else the first task. */
const selectedNode = ({ nodes }: TaskGraph, chosen: string | null, cell: string | undefined): TaskNode =>
  nodes.find((node) => node.id === chosen && (cell === undefined || node.cell === null || node.cell.cell === cell)) ??
  nodes.find((node) => cell !== undefined && node.cell?.cell === cell) ??
  nodes.find(({ kind }) => kind === 'task')!;

type TaskViewsProps = {
  readonly graph: TaskGraph;
  readonly selected: TaskNode;
  readonly isList: boolean;
  readonly now: number;
  readonly onSelect: (id: string) => void;
  readonly onToggle: () => void;
};

const arrows = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'] as const;

const TaskViews = ({ graph, selected, isList, now, onSelect, onToggle }: TaskViewsProps) => {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const isNarrow = useNarrow();
  const shown = isNarrow ? withoutTeam(graph) : graph;
  const layout = fittedLayout(shown, width, isNarrow);
  const move = (key: (typeof arrows)[number]): void => {
    const next = isList ? nextInList(graph, selected.id, key) : nodeInDirection(layout.nodes, selected.id, key);
    if (next !== undefined) onSelect(next);
  };
  const moves = arrows.map((key) => [key, { about: 'task', hint: true, run: () => move(key) }]);
  useKeys({
    ...Object.fromEntries(moves),
    Enter: { about: 'open room', hint: true, run: () => select({ pane: 'rooms' }) },
    g: { about: 'graph or list', hint: true, run: onToggle },
  });
  const dimmed = unseenBy(graph, selected);
  return (
    <>
      <div class={`graph-scroll ${isList ? 'is-hidden' : ''}`} ref={box}>
        <GraphDrawing
          layout={layout}
          label="Tasks"
          columns={isNarrow ? [] : graph.columns}
          onSelect={onSelect}
          edgeLook={({ id }) => {
            const { kind, crossing, from, to } = graph.edges.find((edge) => edge.id === id)!;
            return {
              colour: kind === 'goal' ? 'goal' : 'mail',
              isDim: from !== selected.id && to !== selected.id,
              isPlanned: crossing === null,
              ...(crossing === null || isNarrow ? {} : { label: formatBytes(crossing.bytes) }),
            };
          }}
          nodeLook={({ id }) => {
            const node = graph.nodes.find((one) => one.id === id)!;
            return {
              isSelected: node === selected,
              isDim: dimmed.has(id),
              body: <TaskBox node={node} now={now} />,
            };
          }}
        />
        <p class="graph-note muted">
          Arrows show whose content it is. Every hop goes through {graph.nodes[0]!.title} and is in the ledger.
        </p>
      </div>
      <TaskTable {...{ graph, selected, onSelect, now }} />
    </>
  );
};

const TaskBox = ({ node, now }: { readonly node: TaskNode; readonly now: number }) => {
  const { look, word } = taskWords[node.status];
  return (
    <>
      <b>{node.title}</b>
      <span class="muted">{node.who}</span>
      <span class="unseen">{word}</span>
      <span class={`task-figures status-${statusLooks(look).mark}`}>
        <StatusMark status={look} /> {nodeFigures(node, now)}
      </span>
    </>
  );
};

/** On a phone only the tasks are drawn. */
const withoutTeam = ({ nodes, edges, columns }: TaskGraph): TaskGraph => ({
  nodes: nodes.filter(({ kind }) => kind === 'task').map((node) => ({ ...node, column: node.column - 1 })),
  edges: edges.filter(({ kind, to }) => kind === 'dependency' && to !== 'answer'),
  columns,
});

const roomy = { width: 178, height: 102, rowGap: 32, label: 54, margin: 34 };
const tight = { ...roomy, label: 44, margin: 18 };
const narrow = { width: 150, height: 86, rowGap: 20, label: 0, margin: 16 };

/** Wider gaps where there is room for them, narrower boxes where there is none. */
const fittedLayout = ({ nodes, edges }: TaskGraph, width: number, isNarrow: boolean) => {
  const layOut = (sizes: GraphSizes) => layOutGraph(nodes, edges, sizes);
  const layout = layOut(isNarrow ? narrow : roomy);
  const gaps = Math.max(0, ...nodes.map(({ column }) => column));
  const spare = width - layout.width;
  if (gaps === 0 || isNarrow || width === 0) return layout;
  if (spare >= 0) return layOut({ ...roomy, label: roomy.label + Math.min(56, Math.floor(spare / gaps)) });
  const missing = layOut(tight).width - width;
  return layOut({ ...tight, width: Math.max(130, tight.width - Math.max(0, Math.ceil(missing / (gaps + 1)))) });
};

const nextInList = ({ nodes }: TaskGraph, id: string, key: string): string | undefined => {
  const tasks = nodes.filter(({ kind }) => kind === 'task');
  const at = tasks.findIndex((node) => node.id === id);
  const step = key === 'ArrowUp' || key === 'ArrowLeft' ? -1 : 1;
  return nearest(tasks, at + step)?.id;
};

/** Everything whose content the selected one never got. */
const unseenBy = ({ nodes, edges }: TaskGraph, { id, kind }: TaskNode): ReadonlySet<string> => {
  if (kind === 'team') return new Set();
  const seen = new Set(edges.filter(({ to, kind: of }) => to === id && of === 'dependency').map(({ from }) => from));
  return new Set(nodes.map((node) => node.id).filter((one) => one !== id && !seen.has(one)));
};

type TaskTableProps = Pick<TaskViewsProps, 'graph' | 'selected' | 'onSelect' | 'now'>;

const TaskTable = ({ graph, selected, onSelect, now }: TaskTableProps) => (
  <div class="table-scroll">
    <table class="list-table">
      <thead>
        <tr>
          <th>Task</th>
          <th>Who</th>
          <th class="wide-only">Sees</th>
          <th class="number wide-only">Requests</th>
          <th class="number wide-only">In, out</th>
          <th class="number">Cost</th>
          <th class="number">Took</th>
          <th>State</th>
        </tr>
      </thead>
      <tbody>
        {graph.nodes
          .filter(({ kind }) => kind === 'task')
          .map((node) => (
            <TaskRow key={node.id} {...{ node, graph, onSelect, now }} isSelected={node === selected} />
          ))}
      </tbody>
    </table>
  </div>
);

type TaskRowProps = Pick<TaskTableProps, 'graph' | 'onSelect' | 'now'> & {
  readonly node: TaskNode;
  readonly isSelected: boolean;
};

const TaskRow = ({ node, graph, isSelected, onSelect, now }: TaskRowProps) => {
  const { cell, status } = node;
  const sees = graph.edges
    .filter(({ to, kind }) => to === node.id && kind === 'dependency')
    .map(({ from }) => graph.nodes.find(({ id }) => id === from)?.title ?? '');
  const { word, look } = taskWords[status];
  return (
    <tr class={isSelected ? 'is-selected' : ''} onClick={() => onSelect(node.id)}>
      <td>
        <button type="button" class="plain strong" onClick={() => onSelect(node.id)}>
          {node.title}
        </button>
      </td>
      <td>{node.who}</td>
      <td class="muted wide-only">{['its text', ...sees].join(', ')}</td>
      <td class="number wide-only">{cell === null ? '' : count(cell.requests.length)}</td>
      <td class="number wide-only">{cell === null ? '' : `${count(cell.inputTokens)}, ${count(cell.outputTokens)}`}</td>
      <td class="number">{cell === null ? '' : money(cell.usd)}</td>
      <td class="number">{cell === null ? '' : formatDuration(workedMs(cell, now))}</td>
      <td>
        <Status status={look} words={word} />
      </td>
    </tr>
  );
};
