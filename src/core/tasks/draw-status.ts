// How each task status looks in a drawing: a word, a symbol and colours. Each of them alone identifies the status.
import type { TaskStatus } from '#contracts';

/** The order in which a summary lists the statuses. */
export const statusOrder = [
  'completed',
  'running',
  'ready',
  'pending',
  'failed',
  'blocked',
  'skipped',
] as const satisfies readonly TaskStatus[];

export type Colours = { readonly fill: string; readonly line: string; readonly text: string };

type StatusStyle = {
  /** An SVG path in a 12 × 12 square. */
  readonly sign: string;
  readonly light: Colours;
  readonly dark: Colours;
  readonly isDashed?: boolean;
};

const ring = 'M6 1.5a4.5 4.5 0 1 0 .01 0z';

export const statusStyles: Readonly<Record<TaskStatus, StatusStyle>> = {
  completed: {
    sign: 'M2 6.5l2.7 2.8L10 3',
    light: { fill: '#ecf7ee', line: '#2f8a43', text: '#1d6b30' },
    dark: { fill: '#12261a', line: '#3c9a55', text: '#74d08c' },
  },
  running: {
    sign: 'M3.5 2L10 6l-6.5 4z',
    light: { fill: '#e7f1fe', line: '#1f6fd1', text: '#12549f' },
    dark: { fill: '#10233d', line: '#4a90e2', text: '#8dbdf7' },
  },
  ready: {
    sign: ring,
    light: { fill: '#f2effc', line: '#7a62cc', text: '#5a41b0' },
    dark: { fill: '#201a36', line: '#8d77dd', text: '#bdaef5' },
  },
  pending: {
    sign: `${ring}M6 3.6v2.6l1.7 1.1`,
    light: { fill: '#f6f7f9', line: '#98a2b0', text: '#56606e' },
    dark: { fill: '#171c23', line: '#5b6675', text: '#a3aebc' },
  },
  failed: {
    sign: 'M2.5 2.5l7 7M9.5 2.5l-7 7',
    light: { fill: '#fdecec', line: '#cc3333', text: '#a81f1f' },
    dark: { fill: '#331416', line: '#df5454', text: '#ff9a9a' },
  },
  blocked: {
    sign: `${ring}M2.8 2.8l6.4 6.4`,
    light: { fill: '#fff5e6', line: '#c47a10', text: '#8a5300' },
    dark: { fill: '#2d210e', line: '#c98a2b', text: '#f0be6f' },
    isDashed: true,
  },
  skipped: {
    sign: 'M2 2.5L5.5 6 2 9.5M6.5 2.5L10 6 6.5 9.5',
    light: { fill: '#f8f8f8', line: '#a9a9ad', text: '#64646a' },
    dark: { fill: '#1a1a1c', line: '#606066', text: '#a8a8ae' },
    isDashed: true,
  },
};

/** The statuses that occur, each with its count. */
export const countStatuses = (
  tasks: readonly { readonly status: TaskStatus }[],
): readonly { readonly status: TaskStatus; readonly count: number }[] => {
  const groups = Map.groupBy(tasks, ({ status }) => status);
  return statusOrder.flatMap((status) => {
    const count = groups.get(status)?.length ?? 0;
    return count === 0 ? [] : [{ status, count }];
  });
};

export const formatTaskCount = (count: number): string => `${withCommas(count)} ${count === 1 ? 'task' : 'tasks'}`;

export const withCommas = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/gu, ',');
