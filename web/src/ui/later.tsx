// A view whose code is loaded when it is first shown.
import { useEffect, useState } from 'preact/hooks';
import type { ComponentType } from 'preact';
import { Busy } from './parts.tsx';

type PropsOf<V> = V extends ComponentType<infer P> ? P & object : never;

/** `Meanwhile`: what is shown until then. */
export const later = <M, N extends keyof M>(
  load: () => Promise<M>,
  name: N,
  Meanwhile: ComponentType<PropsOf<M[N]>> = Busy,
): ComponentType<PropsOf<M[N]>> => {
  type View = ComponentType<PropsOf<M[N]>>;
  let loaded: View | undefined;
  return (props) => {
    const [Loaded, setLoaded] = useState<View | undefined>(() => loaded);
    useEffect(() => {
      const show = async (): Promise<void> => {
        loaded = (await load())[name] as View;
        setLoaded(() => loaded);
      };
      if (Loaded === undefined) void show();
    }, []);
    return Loaded === undefined ? <Meanwhile {...props} /> : <Loaded {...props} />;
  };
};

export const loadRunViews = () => import('../run-views.ts');
export const loadMoreViews = () => import('../more-views.ts');
