// The audit of the run: every check in words, and what does not hold.
import { useState } from 'preact/hooks';
import type { AuditReport } from '#contracts';
import { count, plural } from '#headends/run-view';
import { select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { CopyButton, Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { checkChain } from '../xray/hashes.ts';
import type { ChainCheck } from '../xray/hashes.ts';
import { cellOf, namesIn } from '../xray/inspected.ts';
import { auditChecks, placeOf } from './audit-words.ts';

type Props = { readonly store: RunStore };

export const Audit = ({ store }: Props) => {
  const [times, setTimes] = useState(0);
  const key = [store.run, store.state.value, times];
  const { value, error } = useLoaded(() => source.value.audit(store.run), key);
  const chains = useLoaded(async () => {
    const checks: ChainCheck[] = [];
    for (const ledger of await source.value.ledger(store.run)) checks.push(await checkChain(ledger));
    return checks;
  }, key);
  if (error !== null) return <Problem error={error} />;
  if (value === null) return <p class="pane-empty">Checking every record of the run…</p>;
  return (
    <div class="audit-pane">
      <div class="inspector-line">
        <h2 class="pane-sentence">{verdict(value)}</h2>
        <span class="at-end">
          <button type="button" class="button small" onClick={() => setTimes(times + 1)}>
            Check again
          </button>{' '}
          <CopyButton label="Copy as JSON" text={() => JSON.stringify(value, null, 2)} />
        </span>
      </div>
      {store.state.value === 'live' ? <p class="muted">The run goes on; this is what was recorded so far.</p> : null}
      <ul class="checks">
        {auditChecks(value).map(({ name, ok, words }) => (
          <Check key={name} name={name} ok={ok} words={words} />
        ))}
        {chains.value === null ? null : <ChainsCheck checks={chains.value} />}
      </ul>
      {value.problems.length === 0 ? null : <Problems store={store} report={value} />}
      <p class="small muted">
        Recorded by {value.recordedBy?.build ?? 'an unknown build'}, format {value.recordedBy?.format ?? 'unknown'}. The
        same on the command line: <code>cloister audit {store.run}</code>
      </p>
    </div>
  );
};

const verdict = ({ ok, problems, unattributedBytes }: AuditReport): string => {
  if (ok) return 'Everything that is recorded holds.';
  if (unattributedBytes > 0) return `${plural(unattributedBytes, 'byte')} of prompts have no origin.`;
  return `${plural(problems.length, 'problem')} found.`;
};

const Check = ({ name, ok, words }: { readonly name: string; readonly ok: boolean; readonly words: string }) => (
  <li class={`check hue-${ok ? 'result' : 'stop'}`}>
    <strong class="hue-text">{ok ? '✓' : '✗'}</strong>
    <strong>{name}</strong>
    <span>{words}</span>
  </li>
);

/** Computed in this browser, from the entries as they were sent. */
const ChainsCheck = ({ checks }: { readonly checks: readonly ChainCheck[] }) => {
  const links = checks.reduce((sum, one) => sum + one.links, 0);
  const broken = checks.filter((one) => one.broken !== null).length;
  const words = checks.some(({ unchecked }) => unchecked)
    ? 'This browser computes hashes only over https or on this machine.'
    : broken === 0
      ? `${plural(links, 'link')} of ${plural(checks.length, 'ledger')}, computed again in this browser: chain ok.`
      : `${plural(broken, 'ledger')} of ${count(checks.length)} broken, computed again in this browser.`;
  return <Check name="Hash chains, here" ok={broken === 0} words={words} />;
};

const problemsMax = 200;

const Problems = ({ store, report }: Props & { readonly report: AuditReport }) => {
  void store.version.value;
  const names = namesIn(store.view);
  return (
    <section aria-label="Problems">
      <h3>{plural(report.problems.length, 'problem')}</h3>
      <ul class="rows problems">
        {report.problems.slice(0, problemsMax).map(({ code, where, message }, at) => {
          const { cell, op } = placeOf(where);
          const known = cellOf(store, cell);
          return (
            <li key={at}>
              <code class="hue-text hue-stop">{code}</code>{' '}
              {known === undefined ? (
                where
              ) : (
                <button
                  type="button"
                  class="stop-title"
                  onClick={() => select({ cell, op, crossing: undefined, part: undefined })}
                >
                  {names(known.cell)}
                  {op === undefined ? '' : `, operation ${op}`}
                </button>
              )}{' '}
              {message}
            </li>
          );
        })}
      </ul>
    </section>
  );
};
