// The audit of the run: every check in words, and what does not hold.
import { useState } from 'preact/hooks';
import type { AuditReport } from '#contracts';
import { plural } from '#headends/run-view';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { Button, CopyButton, Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { checkChain } from '../xray/hashes.ts';
import { cellOf } from '../xray/inspected.ts';
import { Refused, RoomButton } from '../xray/pieces.tsx';
import { auditChecks, chainsCheck, placeOf } from './audit-words.ts';

type Props = { readonly store: RunStore };

export const Audit = ({ store }: Props) => {
  const [times, setTimes] = useState(0);
  const key = [store.run, store.state.value, times];
  const { value, error } = useLoaded(() => source.value.audit(store.run), key);
  // Computed in this browser, from the entries as they were sent.
  const chains = useLoaded(async () => {
    const checks = [];
    for (const ledger of await source.value.ledger(store.run)) checks.push(await checkChain(ledger));
    return chainsCheck(checks);
  }, key);
  if (error !== null) return <Problem error={error} />;
  if (value === null) return <p class="pane-empty">Checking every record of the run…</p>;
  const { recordedBy, problems } = value;
  return (
    <div class="report-pane">
      <div class="line">
        <h1 class="pane-sentence">{verdict(value)}</h1>
        <span class="at-end">
          <Button onClick={() => setTimes(times + 1)}>Check again</Button>{' '}
          <CopyButton label="Copy as JSON" text={() => JSON.stringify(value, null, 2)} />
        </span>
      </div>
      {store.state.value === 'live' ? <p class="muted">The run goes on; this is what was recorded so far.</p> : null}
      <ul class="rows">
        {[...auditChecks(value), ...(chains.value ?? [])].map(({ name, ok, words }) => (
          <li key={name} class={`check hue-${ok ? 'result' : 'stop'}`}>
            <strong class="hue-text">{ok ? '✓' : '✗'}</strong>
            <strong>{name}</strong>
            <span>{words}</span>
          </li>
        ))}
      </ul>
      {problems.length === 0 ? null : <Problems store={store} problems={problems} />}
      <p class="small muted">
        Recorded by {recordedBy?.build ?? 'an unknown build'}, format {recordedBy?.format ?? 'unknown'}. The same on the
        command line: <code>cloister audit {store.run}</code>
      </p>
    </div>
  );
};

const verdict = ({ ok, problems, unattributedBytes }: AuditReport): string => {
  if (ok) return 'Everything that is recorded holds.';
  if (unattributedBytes > 0) return `${plural(unattributedBytes, 'byte')} of prompts have no origin.`;
  return `${plural(problems.length, 'problem')} found.`;
};

const problemsMax = 200;

const Problems = ({ store, problems }: Props & Pick<AuditReport, 'problems'>) => (
  <section aria-label="Problems">
    <h2>{plural(problems.length, 'problem')}</h2>
    <ul class="rows problems">
      {problems.slice(0, problemsMax).map(({ code, where, message }) => {
        const { cell, op } = placeOf(where);
        const known = cellOf(store, cell);
        return (
          <li>
            <Refused>
              <code>{code}</code>
            </Refused>{' '}
            {known === undefined ? where : <RoomButton store={store} cell={known.cell} op={op} />} {message}
          </li>
        );
      })}
    </ul>
  </section>
);
