// Formats the trail of a text back to its source, one line per step.
import type { TrailStep } from '#contracts';
import { plural } from './shared/format-numbers.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

/** The trail must be sanitized. */
export const trailLines = (trail: readonly TrailStep[]): readonly string[] =>
  trail.map((step) => sanitizeLine(describeStep(step)));

const describeStep = (step: TrailStep): string => {
  switch (step.type) {
    case 'definition':
      return step.given === true
        ? `client tool sent with the request, for ${step.agent} (${step.path})`
        : `definition of ${step.agent} (${step.path})`;
    case 'operation':
      return `operation ${step.cell}/${step.op} ${step.name}`;
    case 'crossing':
      return `crossing ${step.kind} from ${step.from} under grant "${step.grant}" (${plural(step.bytes, 'byte')}, sha256 ${step.sha256.slice(0, 12)}…${
        step.labels.length === 0 ? '' : `, ${step.labels.join(' ')}`
      })`;
    case 'task':
      return `result of task "${step.title}" (${step.task}, by ${step.assignee ?? 'unknown'})${step.cell === null ? '' : ` in ${step.cell}`}`;
    case 'segment':
      return `segment #${step.id} ${step.rule}`;
  }
};
