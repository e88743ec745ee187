// One task: its text, what it saw and never saw, and its result.
import type { ComponentChildren } from 'preact';
import type { TaskReport } from '#contracts';
import { formatBytes, plural } from '#headends/run-view';
import type { CrossingView, RunView } from '#headends/run-view';
import { go, address, select } from '../address.ts';
import { Button, CopyButton, Status } from '../ui/parts.tsx';
import { taskWords } from './task-graph.ts';
import type { TaskEdge, TaskGraph, TaskNode } from './task-graph.ts';

type TaskDetailProps = {
  readonly graph: TaskGraph;
  readonly node: TaskNode;
  readonly report: TaskReport | undefined;
  readonly view: RunView;
};

export const TaskDetail = ({ graph, node, report, view }: TaskDetailProps) => {
  const { word, look } = taskWords[node.status];
  const task = view.tasks.get(node.id.slice('task '.length));
  const reason = report?.reason ?? task?.reason ?? null;
  return (
    <aside class="split-side detail" aria-label="Selected task">
      <header class="detail-head">
        <h2>{node.title}</h2>
        <span class="muted">{report === undefined ? node.who : `${report.id}, by ${node.who}`}</span>
        <span class="grow" />
        <Status status={look} words={word} />
      </header>
      <div class="detail-body">
        {report === undefined ? null : (
          <Part title="Task">
            <p class="detail-text">{report.description}</p>
          </Part>
        )}
        {reason === null ? null : (
          <Part title={`Why ${word.toLowerCase()}`}>
            <p class="detail-text hue-text hue-stop">{reason.text}</p>
          </Part>
        )}
        {node.kind === 'team' ? null : <Seen graph={graph} node={node} />}
        {report === undefined || report.attempts < 2 ? null : <Attempts report={report} />}
        {report?.result == null ? null : (
          <Part title={`Result, ${formatBytes(node.bytes ?? report.bytes)}`}>
            <p class="detail-text">{report.result}</p>
          </Part>
        )}
        <Actions node={node} report={report} />
      </div>
    </aside>
  );
};

export const Part = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <section class="detail-part">
    <h3>{title}</h3>
    {children}
  </section>
);

const Seen = ({ graph, node }: { readonly graph: TaskGraph; readonly node: TaskNode }) => {
  const titles = new Map(graph.nodes.map(({ id, title }) => [id, title]));
  const into = graph.edges.filter(({ to }) => to === node.id);
  const crossed = into.flatMap((edge) => (edge.crossing === null ? [] : [{ edge, crossing: edge.crossing }]));
  const known = new Set(into.map(({ from }) => from));
  const unseen = graph.nodes.filter(({ id, kind }) => id !== node.id && kind === 'task' && !known.has(id));
  const team = graph.nodes[0]!;
  return (
    <>
      <Part title={node.cell === null ? 'Has not started' : `Saw ${plural(crossed.length, 'crossing')}`}>
        {crossed.length === 0 ? null : (
          <ul class="rows card-list">
            {crossed.map(({ edge, crossing }) => (
              <SeenRow key={crossing.id} {...{ edge, crossing }} from={titles.get(edge.from) ?? ''} />
            ))}
          </ul>
        )}
      </Part>
      {unseen.length === 0 && team.bytes === null ? null : (
        <Part title="Never saw">
          <ul class="rows card-list is-dashed">
            {unseen.map(({ id, title, who, bytes }) => (
              <UnseenRow key={id} {...{ title, who, bytes }} />
            ))}
            {team.bytes === null || node.kind === 'answer' ? null : (
              <UnseenRow title="The plan" who={team.who.replace('plan by ', '')} bytes={team.bytes} />
            )}
          </ul>
        </Part>
      )}
    </>
  );
};

type SeenRowProps = { readonly edge: TaskEdge; readonly crossing: CrossingView; readonly from: string };

const SeenRow = ({ edge, crossing, from }: SeenRowProps) => (
  <li>
    <button type="button" class="line card-row" onClick={() => select({ crossing: crossing.id, pane: 'rooms' })}>
      <span class={`legend hue-${edge.kind === 'goal' ? 'goal' : 'mail'}`}>
        {edge.kind === 'goal' ? 'task' : 'dependency'}
      </span>
      <span class="muted cut grow">{edge.kind === 'goal' ? `from ${from}` : from}</span>
      <span class="muted">
        {formatBytes(crossing.bytes)}, grant {crossing.grant}
      </span>
    </button>
  </li>
);

const UnseenRow = ({ title, who, bytes }: { title: string; who: string; bytes: number | null }) => (
  <li class="line card-row">
    <span>{title}</span>
    <span class="muted cut grow">{who}</span>
    <span class="muted">{bytes === null ? 'no result yet' : formatBytes(bytes)}</span>
  </li>
);

const Attempts = ({ report: { attempts, cells } }: { readonly report: TaskReport }) => (
  <Part title={plural(attempts, 'attempt')}>
    <div class="detail-actions">
      {cells.map((cell, at) => (
        <button key={cell} type="button" class="button small" onClick={() => select({ cell })}>
          Attempt {at + 1}
        </button>
      ))}
    </div>
  </Part>
);

const Actions = ({ node, report }: { readonly node: TaskNode; readonly report: TaskReport | undefined }) => (
  <div class="detail-actions">
    {node.cell === null ? null : (
      <>
        <button
          type="button"
          class="button small"
          onClick={() => go({ page: 'chat', run: address.value.run!, cell: node.cell!.cell, xray: true })}
        >
          X-ray
        </button>
        <Button onClick={() => select({ pane: 'rooms', cell: node.cell!.cell })}>Open room</Button>
      </>
    )}
    {report?.result == null ? null : <CopyButton text={() => report.result ?? ''} label="Copy result" />}
  </div>
);
