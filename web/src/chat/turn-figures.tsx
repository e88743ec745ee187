// Below a turn: what it took, its versions, and what can be done with it.
import { useEffect, useState } from 'preact/hooks';
import type { RunStore } from '../run-store.ts';
import { mayAct, source } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { branchFrom, busy, retryRun, showRun } from './actions.ts';
import { versionsOf } from './turn-items.ts';

type TurnFiguresProps = {
  readonly run: string;
  readonly agent: string;
  /** The shown run; null: another turn of the conversation. */
  readonly store: RunStore | null;
  /** The tries of this turn; undefined: to be found. */
  readonly versions: readonly string[] | undefined;
  readonly words: readonly string[];
  readonly isRetryable: boolean;
};

export const TurnFigures = ({ run, agent, store, versions, words, isRetryable }: TurnFiguresProps) => {
  const canAct = mayAct.value && isRetryable;
  const retry = (): void => void retryRun(run, store);
  const branch = (): void => void branchFrom(run, agent);
  useKeys({ r: { about: 'run again', run: retry }, b: { about: 'branch', run: branch } }, canAct && store !== null);
  const isBusy = busy.value !== null;
  return (
    <div class="turn-figures">
      <span class="muted">{words.join(' · ')}</span>
      <Versions run={run} agent={agent} known={store === null ? (versions ?? []) : versions} />
      <span class="grow" />
      {store === null ? (
        <button type="button" class="button small" onClick={() => showRun(run)}>
          Show
        </button>
      ) : null}
      {canAct ? (
        <>
          <button type="button" class="button small" disabled={isBusy} onClick={retry}>
            {busy.value === `retry ${run}` ? 'Starting…' : 'Retry'}
          </button>
          <button type="button" class="button small" disabled={isBusy} onClick={branch}>
            Branch from here
          </button>
        </>
      ) : null}
    </div>
  );
};

type VersionsProps = {
  readonly run: string;
  readonly agent: string;
  readonly known: readonly string[] | undefined;
};

/** ‹ 1 of 2 ›: the turn was tried more than once, and each try is kept. */
const Versions = ({ run, agent, known }: VersionsProps) => {
  const [found, setFound] = useState<readonly string[]>([]);
  const all = known ?? found;
  useEffect(() => {
    let isWanted = true;
    if (!isKeptFile && known === undefined)
      source.value.runs({ agent, limit: 100 }).then(
        ({ runs }) => isWanted && setFound(versionsOf(run, runs)),
        () => undefined,
      );
    return () => {
      isWanted = false;
    };
  }, [run, known === undefined]);
  const at = all.indexOf(run);
  if (all.length < 2 || at === -1) return null;
  const to = (step: number, label: string, sign: string) => (
    <button
      type="button"
      class="button small"
      aria-label={label}
      disabled={all[at + step] === undefined}
      onClick={() => showRun(all[at + step]!)}
    >
      {sign}
    </button>
  );
  return (
    <span class="turn-versions">
      {to(-1, 'Version before', '‹')} {at + 1} of {all.length} {to(1, 'Version after', '›')}
    </span>
  );
};
