// Keys: each view says which it takes while it is shown; the newest one wins. Letters act outside text fields only.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** `hint`: what the bar at the bottom says; without one, only the list of all keys has it, under `about`. */
export type KeyBinding = { readonly about: string; readonly hint?: boolean; run(event: KeyboardEvent): void };

/** By `KeyboardEvent.key`, letters in lower case. `show`: the keys as they are shown, if several share one entry. */
export type KeyBindings = Readonly<Record<string, KeyBinding>>;

export const shownKeys = signal<readonly KeyBindings[]>([]);

export const useKeys = (bindings: KeyBindings, isActive = true): void => {
  // A view that is drawn sixty times a second binds its keys once, as long as they say the same.
  const newest = useRef(bindings);
  newest.current = bindings;
  const said = Object.entries(bindings).map(([key, { about, hint }]) => `${key} ${about} ${hint}`);
  // Bound with the view, not a frame later: a key that is pressed in between would be lost.
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    const bound = Object.fromEntries(
      Object.entries(newest.current).map(([key, binding]) => [
        key,
        { ...binding, run: (event: KeyboardEvent) => newest.current[key]?.run(event) },
      ]),
    );
    shownKeys.value = [...shownKeys.peek(), bound];
    return () => {
      shownKeys.value = shownKeys.peek().filter((one) => one !== bound);
    };
  }, [isActive, said.join()]);
};

export const followKeys = (): void => {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    const isTyping = target.matches('input, textarea, select, [contenteditable]');
    if (isTyping && event.key !== 'Escape') return;
    if (target.matches('button, a, summary') && (event.key === 'Enter' || event.key === ' ')) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const found = shownKeys.peek().findLast((bindings) => key in bindings)?.[key];
    if (found === undefined) return;
    event.preventDefault();
    found.run(event);
  });
};

/** The element at an index, or the first or last one if it is beyond them. */
export const nearest = <T>(all: readonly T[], at: number): T | undefined =>
  all[Math.min(all.length - 1, Math.max(0, at))];
