// A view whose code is loaded when it is first shown.
import { useEffect, useState } from 'preact/hooks';
import type { ComponentType } from 'preact';

/** `Meanwhile`: what is shown until then. */
export const later = <P extends object>(
  load: () => Promise<ComponentType<P>>,
  Meanwhile: ComponentType<P> = () => <div class="pane-empty" aria-busy="true" />,
): ComponentType<P> => {
  let loaded: ComponentType<P> | undefined;
  return (props) => {
    const [View, setView] = useState<ComponentType<P> | undefined>(() => loaded);
    useEffect(() => {
      const show = async (): Promise<void> => {
        loaded = await load();
        setView(() => loaded);
      };
      if (View === undefined) void show();
    }, []);
    return View === undefined ? <Meanwhile {...props} /> : <View {...props} />;
  };
};
