// The size of an element, as it changes.
import { useEffect, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

export const useWidth = (element: RefObject<HTMLElement | null>): number => {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return undefined;
    const watched = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    watched.observe(element.current);
    return () => watched.disconnect();
  }, []);
  return width;
};

/** Whether the screen is as narrow as a phone. */
export const useNarrow = (most = 700): boolean => {
  const query = `(max-width: ${most}px)`;
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const look = (): void => setNarrow(media.matches);
    media.addEventListener('change', look);
    return () => media.removeEventListener('change', look);
  }, [query]);
  return isNarrow;
};
