// What was spent: by room, its own and in all; by model and by tool; and what failed.
import { useState } from 'preact/hooks';
import type { Cause, CellReport, Figures, ToolFigures } from '#contracts';
import { count, formatBytes, formatDuration, money, plural } from '#headends/run-view';
import { address, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { Status } from '../ui/parts.tsx';
import { namesIn } from '../xray/inspected.ts';
import { toolTitle } from '../xray/hues.ts';

type Props = { readonly store: RunStore };

export const Summary = ({ store }: Props) => {
  const [isTotal, setTotal] = useState(false);
  void store.version.value;
  const facts = store.facts.value;
  const root = facts?.cells[0];
  if (facts === null || root === undefined) return <p class="pane-empty" aria-busy="true" />;
  const { spent, cells, causes = [] } = facts;
  return (
    <div class="summary-pane">
      <h2 class="pane-sentence">
        {money(spent.usd)} <span class="muted">for</span> {count(spent.inputTokens)} in, {count(spent.outputTokens)} out{' '}
        <span class="muted">
          in {formatDuration(spent.ms)}, {plural(cells.length, 'room')}
        </span>
      </h2>
      <div class="inspector-line">
        <h3>Rooms</h3>
        <span class="switch at-end" role="group" aria-label="Figures">
          <button type="button" aria-pressed={!isTotal} onClick={() => setTotal(false)}>
            Own
          </button>
          <button type="button" aria-pressed={isTotal} onClick={() => setTotal(true)}>
            With the rooms below
          </button>
        </span>
      </div>
      <RoomsTable store={store} cells={cells} isTotal={isTotal} />
      <ModelsTable figures={root.figures.total} />
      <ToolsTable title="Tools" tools={root.figures.total.byTool} />
      <ToolsTable title="Agents" tools={root.figures.total.byAgent} />
      {causes.length === 0 ? null : <Failures causes={causes} />}
    </div>
  );
};

type TableProps = { readonly titles: readonly string[]; readonly children: preact.ComponentChildren };

const Table = ({ titles, children }: TableProps) => (
  <div class="figures-scroll" tabIndex={0} role="region" aria-label={`By ${titles[0]!.toLowerCase()}`}>
    <table class="figures">
      <thead>
        <tr>
          {titles.map((title) => (
            <th key={title} scope="col" class={title === 'Ending' ? 'is-left' : ''}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

type RoomsProps = Props & { readonly cells: readonly CellReport[]; readonly isTotal: boolean };

const RoomsTable = ({ store, cells, isTotal }: RoomsProps) => {
  void store.version.value;
  const names = namesIn(store.view);
  const hasWaited = cells.some(({ waitedMs }) => waitedMs > 0);
  const titles = ['Room', 'Ending', 'Requests', 'Tools', 'In', 'Out', 'Cache', 'Cost', 'Time'];
  return (
    <Table titles={hasWaited ? [...titles, 'Waited'] : titles}>
      {cells.map(({ cell, depth, status, spent, own, figures, waitedMs }) => {
        const used = isTotal ? spent : own;
        const { requests, tools } = isTotal ? figures.total : figures.own;
        return (
          <tr key={cell} class={address.value.cell === cell ? 'is-selected' : ''}>
            <th scope="row" style={{ paddingLeft: `${8 + Math.min(depth, 8) * 16}px` }}>
              <button
                type="button"
                class="stop-title"
                onClick={() => select({ cell, op: undefined, crossing: undefined, part: undefined })}
              >
                {names(cell)}
              </button>
            </th>
            <td>
              <Status status={status ?? 'running'} />
            </td>
            <td>{failedOf(requests.calls, requests.failed)}</td>
            <td>{failedOf(tools.calls, tools.failed)}</td>
            <td>{count(used.inputTokens)}</td>
            <td>{count(used.outputTokens)}</td>
            <td>{count(used.cacheReadTokens)}</td>
            <td>{money(used.usd)}</td>
            <td>{formatDuration(used.ms)}</td>
            {hasWaited ? <td>{waitedMs === 0 ? '' : formatDuration(waitedMs)}</td> : null}
          </tr>
        );
      })}
    </Table>
  );
};

const failedOf = (calls: number, failed: number): string =>
  failed === 0 ? count(calls) : `${count(calls)}, ${count(failed)} failed`;

const mean = (ms: number, calls: number): string => (calls === 0 ? '' : formatDuration(ms / calls));

const ModelsTable = ({ figures }: { readonly figures: Figures }) => (
  <>
    <h3>Models</h3>
    <Table titles={['Model', 'Requests', 'In', 'Out', 'Cache', 'Cost', 'Latency']}>
      {figures.byModel.map(({ model, calls, failed, inputTokens, outputTokens, cacheReadTokens, usd, ms }) => (
        <tr key={model}>
          <th scope="row">{model}</th>
          <td>{failedOf(calls, failed)}</td>
          <td>{count(inputTokens)}</td>
          <td>{count(outputTokens)}</td>
          <td>{count(cacheReadTokens)}</td>
          <td>{money(usd)}</td>
          <td>{mean(ms, calls)}</td>
        </tr>
      ))}
    </Table>
  </>
);

const ToolsTable = ({ title, tools }: { readonly title: string; readonly tools: readonly ToolFigures[] }) =>
  tools.length === 0 ? null : (
    <>
      <h3>{title}</h3>
      <Table titles={[title.slice(0, -1), 'Calls', 'Sent', 'Came back', 'Latency']}>
        {tools.map(({ tool, calls, failed, bytesIn, bytesOut, ms }) => (
          <tr key={tool}>
            <th scope="row">{toolTitle(tool)}</th>
            <td>{failedOf(calls, failed)}</td>
            <td>{formatBytes(bytesIn)}</td>
            <td>{formatBytes(bytesOut)}</td>
            <td>{mean(ms, calls)}</td>
          </tr>
        ))}
      </Table>
    </>
  );

const Failures = ({ causes }: { readonly causes: readonly Cause[] }) => (
  <section aria-label="What failed">
    <h3>What failed</h3>
    <ul class="rows problems">
      {causes.map(({ cell, path, code, what, name, summary, detail, times, ended }, at) => (
        <li key={at}>
          <button type="button" class="stop-title" onClick={() => select({ cell, op: undefined, crossing: undefined })}>
            {path.join(' › ')}
          </button>{' '}
          <code class="hue-text hue-stop">{code}</code> {what === 'agent' ? '' : `${what} ${name ?? ''}: `}
          {summary} {detail ?? ''}
          {times === 1 ? '' : ` ${count(times)} times.`}
          {ended ? ' It ended the room.' : ''}
        </li>
      ))}
    </ul>
  </section>
);
