// The holders of tokens, for the operator: what each may do and spend, and what it has used.
import type { Budget } from '#contracts';
import { budgetText, count, dateTime, money } from '#headends/run-view';
import type { AllowanceFacts } from '../source.ts';
import { source } from '../state.ts';
import { Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { listText } from './agent-facts.ts';

type CallerFacts = {
  readonly name: string;
  readonly operator?: boolean;
  readonly watchOnly?: boolean;
  readonly agents?: readonly string[] | null;
  readonly budget?: Budget | null;
  readonly allowance?: AllowanceFacts | null;
  readonly requestsPerMinute?: number | null;
  readonly running?: number | null;
  readonly runningNow?: number;
  readonly sees?: string;
  readonly may?: readonly string[] | null;
  readonly expiresAt?: number | null;
};

export const Callers = () => {
  const { value, error } = useLoaded(() => source.value.get<{ callers: readonly CallerFacts[] }>('/callers'), []);
  // A server of one person has no callers to list.
  if (error !== null) return (error as { status?: number }).status === 404 ? null : <Problem error={error} />;
  if (value === null || value.callers.length === 0) return null;
  return (
    <section class="callers">
      <h2>Callers</h2>
      <div class="callers-scroll" role="region" aria-label="Callers" tabIndex={0}>
        <table class="list-table">
          <thead>
            <tr>
              <th>Name</th>
              <th>Agents</th>
              <th>One request</th>
              <th>Allowance</th>
              <th class="number">Runs now</th>
              <th class="number">A minute</th>
              <th>Sees</th>
              <th>Expires</th>
            </tr>
          </thead>
          <tbody>
            {value.callers.map((caller) => (
              <CallerRow key={caller.name} caller={caller} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
};

const CallerRow = ({ caller }: { readonly caller: CallerFacts }) => {
  const { name, operator, watchOnly, agents, budget, running, runningNow, requestsPerMinute, sees, expiresAt } = caller;
  return (
    <tr>
      <td>
        <b>{name}</b>
        {operator === true ? <span class="tag">operator</span> : null}
        {watchOnly === true ? <span class="tag">looks only</span> : null}
      </td>
      <td>{listText(agents) || 'all'}</td>
      <td>{budgetText(budget ?? {}) || 'no limit'}</td>
      <td>
        <Allowance allowance={caller.allowance ?? null} />
      </td>
      <td class="number">
        {[runningNow, running]
          .filter((one) => one != null)
          .map((one) => count(one))
          .join(' of ')}
      </td>
      <td class="number">{requestsPerMinute == null ? 'no limit' : count(requestsPerMinute)}</td>
      <td>{sees ?? ''}</td>
      <td class="muted">{expiresAt == null ? 'never' : dateTime(expiresAt)}</td>
    </tr>
  );
};

/** How much of a period is used, as a bar and in words. */
const Allowance = ({ allowance }: { readonly allowance: AllowanceFacts | null }) => {
  if (allowance === null) return <>no limit</>;
  const { per, tokens, usd, resetsAt } = allowance;
  const parts = [
    ...(tokens === null ? [] : [{ ...tokens, words: `${count(tokens.used)} of ${count(tokens.limit)} tokens` }]),
    ...(usd === null ? [] : [{ ...usd, words: `${money(usd.used)} of $${usd.limit}` }]),
  ];
  return (
    <span class="allowance" title={`The next ${per} begins ${dateTime(resetsAt)}.`}>
      {parts.map(({ limit, used, words }) => (
        <span key={words}>
          <progress max={limit} value={Math.min(limit, used)} aria-label={`Used this ${per}`} /> {words} a {per}
        </span>
      ))}
    </span>
  );
};
