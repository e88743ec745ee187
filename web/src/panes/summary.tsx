// What was spent: by room, its own and in all; by model and by tool; and what failed.
import { useState } from 'preact/hooks';
import type { ToolFigures } from '#contracts';
import { count, formatBytes, formatDuration, money, plural } from '#headends/run-view';
import { address } from '../address.ts';
import { toolText } from '../rooms/texts.ts';
import type { RunStore } from '../run-store.ts';
import { Busy, Status } from '../ui/parts.tsx';
import { Refused, RoomButton, Switch, Table } from '../xray/pieces.tsx';

const figures = [
  [false, 'Own'],
  [true, 'With the rooms below'],
] as const;

export const Summary = ({ store }: { readonly store: RunStore }) => {
  const [isTotal, setTotal] = useState(false);
  const facts = store.facts.value;
  const root = facts?.cells[0];
  if (facts === null || root === undefined) return <Busy />;
  const { spent, cells, causes = [] } = facts;
  const { byModel, byTool, byAgent } = root.figures.total;
  const hasWaited = cells.some(({ waitedMs }) => waitedMs > 0);
  return (
    <div class="report-pane">
      <h1 class="pane-sentence">
        {money(spent.usd)} <span class="muted">for</span> {count(spent.inputTokens)} in, {count(spent.outputTokens)} out{' '}
        <span class="muted">
          in {formatDuration(spent.ms)}, {plural(cells.length, 'room')}
        </span>
      </h1>
      <div class="line">
        <h2>Rooms</h2>
        <Switch class="at-end" label="Figures" options={figures} value={isTotal} onChange={setTotal} />
      </div>
      <Table
        titles={['Room', 'Ending', 'Requests', 'Tools', ...usedTitles, 'Time', hasWaited && 'Waited']}
        selected={cells.findIndex(({ cell }) => cell === address.value.cell)}
        rows={cells.map(({ cell, depth, status, waitedMs, ...one }) => {
          const used = isTotal ? one.spent : one.own;
          const { requests, tools } = one.figures[isTotal ? 'total' : 'own'];
          return [
            <span style={{ marginLeft: `${Math.min(depth, 8) * 16}px` }}>
              <RoomButton store={store} cell={cell} />
            </span>,
            <Status status={status ?? 'running'} />,
            callsOf(requests),
            callsOf(tools),
            ...usedOf(used),
            formatDuration(used.ms),
            hasWaited && (waitedMs === 0 ? '' : formatDuration(waitedMs)),
          ];
        })}
      />
      <h2>Models</h2>
      <Table
        titles={['Model', 'Requests', ...usedTitles, 'Latency']}
        rows={byModel.map((one) => [one.model, callsOf(one), ...usedOf(one), meanOf(one)])}
      />
      <Calls title="Tool" calls={byTool} />
      <Calls title="Agent" calls={byAgent} />
      {causes.length === 0 ? null : (
        <section aria-label="What failed">
          <h2>What failed</h2>
          <ul class="rows problems">
            {causes.map(({ cell, path, code, what, name, summary, detail, times, ended }) => (
              <li>
                <RoomButton store={store} cell={cell}>
                  {path.join(' › ')}
                </RoomButton>{' '}
                <Refused>
                  <code>{code}</code>
                </Refused>{' '}
                {what === 'agent' ? '' : `${what} ${name ?? ''}: `}
                {summary} {detail ?? ''}
                {times === 1 ? '' : ` ${count(times)} times.`}
                {ended ? ' It ended the room.' : ''}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
};

const usedTitles = ['In', 'Out', 'Cache', 'Cost'];

type Used = Readonly<Record<'inputTokens' | 'outputTokens' | 'cacheReadTokens', number>> & {
  readonly usd: number | null;
};

const usedOf = ({ inputTokens, outputTokens, cacheReadTokens, usd }: Used): readonly string[] => [
  ...[inputTokens, outputTokens, cacheReadTokens].map(count),
  money(usd),
];

type CallFigures = { readonly calls: number; readonly failed: number };

const callsOf = ({ calls, failed }: CallFigures): string =>
  `${count(calls)}${failed === 0 ? '' : `, ${count(failed)} failed`}`;

const meanOf = ({ ms, calls }: { readonly ms: number; readonly calls: number }): string =>
  calls === 0 ? '' : formatDuration(ms / calls);

const Calls = ({ title, calls }: { readonly title: string; readonly calls: readonly ToolFigures[] }) =>
  calls.length === 0 ? null : (
    <>
      <h2>{title}s</h2>
      <Table
        titles={[title, 'Calls', 'Sent', 'Came back', 'Latency']}
        rows={calls.map((one) => [
          toolText(one.tool),
          callsOf(one),
          formatBytes(one.bytesIn),
          formatBytes(one.bytesOut),
          meanOf(one),
        ])}
      />
    </>
  );
