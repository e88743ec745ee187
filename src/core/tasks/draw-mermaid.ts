// A graph of tasks in the language of Mermaid.
//
//   M1. A line for each task, then one for each dependency, whatever the texts hold: all but letters, digits, spaces and
//       commas is written as Mermaid's entities, and names are made of places, never of text.
import { drawnOf, linksOf } from './draw-layers.ts';
import type { DrawableInput, DrawableTask } from './draw-layers.ts';
import { drawnStatuses, statusStyles } from './draw-status.ts';
import { plainText, titleText } from './draw-text.ts';

/** Mermaid takes 50,000 characters in all unless its page says otherwise. */
const titleCharsMax = 80;

export const drawMermaid = (tasks: readonly DrawableInput[]): string => mermaidOf(drawnOf(tasks));

const mermaidOf = (tasks: readonly DrawableTask[]): string =>
  [
    'flowchart TD',
    ...tasks.map((task, place) => `  t${place}["${labelOf(task)}"]:::${task.status}`),
    ...linksOf(tasks).map(({ from, to }) => `  t${from} --> t${to}`),
    ...drawnStatuses.map((status) => {
      const { light, isDashed } = statusStyles[status];
      return `  classDef ${status} fill:${light.fill},stroke:${light.line},color:${light.text}${isDashed === true ? ',stroke-dasharray:5 3' : ''}`;
    }),
    '',
  ].join('\n');

const labelOf = ({ title, assignee, status }: DrawableTask): string => {
  const about = [...(assignee === null ? [] : [plainText(assignee, titleCharsMax)]), status];
  return `${escaped(titleText(title, titleCharsMax))}<br>${about.map((text) => escaped(text)).join(', ')}`;
};

const escaped = (text: string): string =>
  text.replace(/[^\p{L}\p{M}\p{Nd} ,]/gu, (sign) => `#${sign.codePointAt(0) ?? 0};`);
