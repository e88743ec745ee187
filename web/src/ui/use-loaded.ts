// What a view reads from the source, once for each `key`.
import { useEffect, useState } from 'preact/hooks';

export type Loaded<T> = { readonly value: T | null; readonly error: Error | null };

const nothing = { value: null, error: null };

export const useLoaded = <T>(load: () => Promise<T>, key: readonly unknown[]): Loaded<T> => {
  const [loaded, setLoaded] = useState<Loaded<T>>(nothing);
  useEffect(() => {
    let isWanted = true;
    setLoaded((before) => ({ value: before.value, error: null }));
    load().then(
      (value) => isWanted && setLoaded({ value, error: null }),
      (error: Error) => isWanted && setLoaded({ value: null, error }),
    );
    return () => {
      isWanted = false;
    };
  }, key);
  return loaded;
};
