// What fills each window, and where it was made smaller.
import type { CellWindow, WindowChange } from '#contracts';
import { count, formatBytes, plural } from '#headends/run-view';
import { address } from '../address.ts';
import { toolText } from '../rooms/texts.ts';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { Empty, Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { timeIn } from '../xray/inspected.ts';
import { RoomButton } from '../xray/pieces.tsx';

const categories = [
  ['SYSTEM', 'file', 'prompt and tools'],
  ['CONTEXT', 'mail', 'context'],
  ['DIALOG', 'goal', 'goal and dialog'],
  ['TOOLS', 'tool', 'outputs'],
] as const;

const limits: Readonly<Record<string, string>> = {
  model: 'the window of the model',
  given: 'as set by the agent file',
  group: 'the smallest window of its group',
  default: 'no limit is known',
};

export const Windows = ({ store }: { readonly store: RunStore }) => {
  void store.version.value;
  const requests = [...store.view.cells.values()].reduce((sum, cell) => sum + cell.requests.length, 0);
  // Of a live run, not for every request: the whole log is read each time.
  const { value, error } = useLoaded(
    () => source.value.windows(store.run),
    [store.run, store.state.value, Math.floor(Math.log2(requests + 1))],
  );
  if (error !== null) return <Problem error={error} />;
  const asked = value?.filter(({ model }) => model !== null) ?? [];
  if (value !== null && asked.length === 0) return <Empty title="No model has been asked yet." />;
  const time = timeIn(store);
  return (
    <div class="windows-pane">
      <h1 class="unseen">Windows</h1>
      <div class="legends">
        {categories.map(([category, hue, words]) => (
          <span key={category} class={`legend hue-${hue}`}>
            {words}
          </span>
        ))}
      </div>
      <ul class="rows windows">
        {asked.map((window) => (
          <li key={window.cell} class={`card ${address.value.cell === window.cell ? 'is-selected' : ''}`}>
            <div class="line">
              <RoomButton store={store} cell={window.cell} />
              <span class="muted small">{window.model}</span>
            </div>
            <WindowBar window={window} />
            {window.happened.map((change) => (
              <p key={`${change.at} ${change.op}`} class="hue-text hue-tool">
                <span class="muted">{time(change.at)}</span> {describeChange(change)}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </div>
  );
};

export const WindowBar = ({ window }: { readonly window: CellWindow }) => {
  const { total, categories: parts, limit } = window;
  const all = Math.max(limit?.tokens ?? 0, total.tokens, 1);
  const filled = categories
    .filter(([category]) => parts[category].messages > 0)
    .map(([category, , words]) => `${words} ${formatBytes(parts[category].bytes)}`)
    .join(', ');
  return (
    <>
      <div class="bar" role="img" aria-label={`${count(total.tokens)} of ${count(all)} tokens`}>
        {categories.map(([category, hue]) => (
          <i key={category} class={`hue-${hue}`} style={{ width: `${(parts[category].tokens / all) * 100}%` }} />
        ))}
      </div>
      <p class="small muted">
        {count(total.tokens)} of {plural(limit?.tokens ?? 0, 'token')}, {limits[limit?.by ?? 'default']}.{' '}
        {filled.slice(0, 1).toUpperCase() + filled.slice(1)}.
      </p>
    </>
  );
};

const describeChange = (change: WindowChange): string => {
  switch (change.what) {
    case 'clamped':
      return `Window ${change.was === null ? '' : `${count(change.was)} → `}${count(change.window.tokens)} tokens, ${limits[change.window.by]}.`;
    case 'offloaded':
      return `Output of ${toolText(change.tool)} was too long: ${formatBytes(change.bytes)} kept as ${change.output}.`;
    case 'compacted':
    case 'shortened':
    case 'dropped':
      return `${plural(change.messages, 'message')} ${change.what}, ${formatBytes(change.bytesBefore)} → ${formatBytes(change.bytesAfter)}.`;
  }
};
