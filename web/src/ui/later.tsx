// A view whose code is loaded when it is first shown.
import { useEffect, useState } from 'preact/hooks';
import type { ComponentType } from 'preact';
import { Busy } from './parts.tsx';

const loadViews = () => import('../views.ts');

type Views = Awaited<ReturnType<typeof loadViews>>;
type View<N extends keyof Views> = Views[N] extends ComponentType<infer P> ? ComponentType<P & object> : never;

/** Until then, it is shown as busy. */
export const later = <N extends keyof Views>(name: N): View<N> => {
  type Loaded = ComponentType<object>;
  let loaded: Loaded | undefined;
  const Later: Loaded = (props) => {
    const [Shown, setShown] = useState<Loaded | undefined>(() => loaded);
    useEffect(() => {
      const show = async (): Promise<void> => {
        loaded = (await loadViews())[name] as Loaded;
        setShown(() => loaded);
      };
      if (Shown === undefined) void show();
    }, []);
    return Shown === undefined ? <Busy /> : <Shown {...props} />;
  };
  return Later as View<N>;
};
