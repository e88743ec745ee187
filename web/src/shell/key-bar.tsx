// The bar of key hints, and the list of all keys behind `?`.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { shownKeys, useKeys } from '../ui/keys.ts';
import type { KeyBinding } from '../ui/keys.ts';

const isListShown = signal(false);

const openList = { '?': { about: 'all keys', run: () => void (isListShown.value = true) } };

export const KeyBar = () => {
  useKeys(openList);
  return (
    <footer class="key-bar">
      {entries(shownKeys.value.flatMap((bindings) => Object.entries(bindings)))
        .filter(({ binding }) => binding.hint === true)
        .map(({ keys, binding }) => (
          <span key={keys.join()} class="key-hint">
            {keys.map((key) => (
              <kbd key={key}>{keyLabel(key)}</kbd>
            ))}{' '}
            {binding.about}
          </span>
        ))}
      <span class="grow" />
      <button type="button" class="key-hint" onClick={() => void (isListShown.value = true)}>
        <kbd>?</kbd> All keys
      </button>
      {isListShown.value ? <KeyList /> : null}
    </footer>
  );
};

const KeyList = () => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="key-list" onClose={() => void (isListShown.value = false)} aria-label="All keys">
      <h2>Keys</h2>
      <dl>
        {entries(shownKeys.value.flatMap((bindings) => Object.entries(bindings))).map(({ keys, binding }) => (
          <div key={keys.join()}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{keyLabel(key)}</kbd>
              ))}
            </dt>
            <dd>{binding.about}</dd>
          </div>
        ))}
      </dl>
      <button type="button" class="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
};

/** Keys that do the same, such as ↑ and ↓, are one entry. */
const entries = (all: readonly (readonly [string, KeyBinding])[]) => {
  const byAbout = Map.groupBy(new Map(all), ([, { about }]) => about);
  return [...byAbout.values()].map((same) => ({ keys: same.map(([key]) => key), binding: same[0]![1] }));
};

const labels: Readonly<Record<string, string>> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  ' ': 'Space',
};

const keyLabel = (key: string): string => labels[key] ?? (key.length === 1 ? key.toUpperCase() : key);
