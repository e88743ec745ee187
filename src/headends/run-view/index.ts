export { activityText } from './cell-view.ts';
export type { CellView, ToolCallView, WindowCutView } from './cell-view.ts';
export {
  budgetText,
  clockTime,
  compactNumber,
  count,
  dateTime,
  formatBytes,
  formatDuration,
  money,
  plural,
} from './numbers.ts';
export { applyEvent, cellName, crossingEndName, cutLiveText, newRunView, toolNameOf } from './run-view.ts';
export type { CrossingView, MailView, QuestionView, RunView, TaskView } from './run-view.ts';
export { waitedMsUntil } from './waiting-time.ts';
export { workedMs } from './worked-ms.ts';
