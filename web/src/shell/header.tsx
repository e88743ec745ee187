// The header: where one is, and how the shown run stands.
import { count, formatDuration, money } from '#headends/run-view';
import { address, pages } from '../address.ts';
import type { Page } from '../address.ts';
import { ChatCrumbs } from '../chat/crumbs.tsx';
import { me, questions, run } from '../state.ts';
import { Status, statusLooks } from '../ui/parts.tsx';
import { newestRuns } from './newest-runs.ts';

const titles: Readonly<Record<Page, string>> = { chat: 'Chat', runs: 'Runs', agents: 'Agents', questions: 'Questions' };

export const Header = () => (
  <header class={`header on-${address.value.page}`}>
    <a class="logo" href="#/chat" aria-label="Cloister, first page">
      <Logo /> <span>cloister</span>
    </a>
    <nav class="header-nav" aria-label="Pages">
      {(me.value !== null && isKeptFile ? [] : pages).map((page) => (
        <a
          key={page}
          href={`#/${page}`}
          class={`header-link ${page === 'questions' && questions.value.length > 0 ? 'is-urgent' : ''}`}
          aria-current={address.value.page === page ? 'page' : undefined}
        >
          <span>{titles[page]}</span>
          {page === 'questions' && questions.value.length > 0 ? <b class="count">{questions.value.length}</b> : null}
        </a>
      ))}
    </nav>
    <Crumbs />
    <span class="grow" />
    <RunStatus />
  </header>
);

const Logo = () => (
  <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
    <path d="M6 14V12H2V2h12v10h-4v2" fill="none" stroke="currentColor" stroke-width="2" />
    <path d="M8 14V7M5.800 9 8 6.600 10.200 9" fill="none" stroke="var(--goal)" stroke-width="1.800" />
  </svg>
);

/** Where one is: the agent, the conversation and the run, or the workspace. */
const Crumbs = () => {
  const { page, agent } = address.value;
  const isFirstVisit = agent === undefined && run.value === null && newestRuns.value?.length === 0;
  return page !== 'chat' || me.value === null || isFirstVisit ? <Workspace /> : <ChatCrumbs />;
};

const Workspace = () =>
  me.value?.workspace == null ? null : (
    <div class="crumbs">
      Workspace <strong>{me.value.workspace}</strong>
    </div>
  );

const RunStatus = () => {
  const shown = run.value;
  if (address.value.page !== 'chat') return null;
  if (shown === null) return newestRuns.value?.length === 0 ? <span class="muted small">no runs yet</span> : null;
  void shown.version.value;
  const { view, facts } = shown;
  const cells = [...view.cells.values()];
  const root = cells[0];
  if (root === undefined) return null;
  const waits = [...view.questions.values()].some(({ state }) => state === null);
  const said = facts.value?.status === 'interrupted' ? 'interrupted' : root.idle ? 'idle' : 'running';
  const status = root.status ?? (waits ? 'waiting' : said);
  const took = root.spentMs;
  const usd = cells.reduce<number | null>((sum, { usd: one }) => (sum === null || one === null ? null : sum + one), 0);
  const cap = facts.value?.budget?.usd;
  const [input, output] = (['inputTokens', 'outputTokens'] as const).map((key) =>
    cells.reduce((sum, cell) => sum + cell[key], 0),
  );
  const { words } = statusLooks(status);
  return (
    <div class="run-status">
      <Status status={status} words={words}>
        {took === null ? null : <span class="run-status-took">in {formatDuration(took)}</span>}
      </Status>
      <span class="run-status-tokens muted">
        {count(input ?? 0)} in, {count(output ?? 0)} out
      </span>
      <strong>{money(usd)}</strong>
      {cap === undefined ? null : (
        <>
          <span class="muted">of ${cap}</span>
          <progress max={cap} value={usd ?? 0} aria-label="Spent of the budget" />
        </>
      )}
    </div>
  );
};
