// Draws a task graph as Mermaid source.
//
//   mermaid-lines-by-tasks. There is one line per task, then one per dependency, whatever the texts contain: everything except
//       letters, digits, spaces and commas is written as a Mermaid entity, and node names are made from indexes, never from
//       text.
import { listEdges } from '#base';
import type { DrawableTask } from '#contracts';
import { toDrawable } from './lay-out-graph.ts';
import type { DrawableInput } from './lay-out-graph.ts';
import { statusOrder, statusStyles } from './draw-style.ts';
import { plainText, titleText } from './draw-text.ts';

/** Mermaid accepts 50,000 characters in total by default. */
const titleCharsMax = 80;

/** Draws tasks as the source of a Mermaid flowchart, with their states as colours. */
export const drawMermaid = (tasks: readonly DrawableInput[]): string => drawGraph(toDrawable(tasks));

const drawGraph = (tasks: readonly DrawableTask[]): string =>
  [
    'flowchart TD',
    ...tasks.map((task, index) => `  t${index}["${nodeLabel(task)}"]:::${task.status}`),
    ...listEdges(tasks).map(({ from, to }) => `  t${from} --> t${to}`),
    ...statusOrder.map((status) => {
      const { light, isDashed } = statusStyles[status];
      return `  classDef ${status} fill:${light.fill},stroke:${light.line},color:${light.text}${isDashed === true ? ',stroke-dasharray:5 3' : ''}`;
    }),
    '',
  ].join('\n');

const nodeLabel = ({ title, assignee, status }: DrawableTask): string => {
  const about = [...(assignee === null ? [] : [plainText(assignee, titleCharsMax)]), status];
  return `${escaped(titleText(title, titleCharsMax))}<br>${about.map((text) => escaped(text)).join(', ')}`;
};

const escaped = (text: string): string =>
  text.replace(/[^\p{L}\p{M}\p{Nd} ,]/gu, (sign) => `#${sign.codePointAt(0) ?? 0};`);
