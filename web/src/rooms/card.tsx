// What a room saw of all that crossed, and what it never saw.
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Sighting } from './words.ts';

type Box = { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };
type Size = { readonly width: number; readonly height: number };

const margin = 12;

/** Beside the lit rooms, never over them; null: there is no place in sight. */
export const placeCard = (
  lit: Box,
  sight: Size,
  card: Size,
): { readonly left: number; readonly top: number } | null => {
  const inside = (at: number, size: number, all: number): number => Math.max(8, Math.min(at, all - size - 8));
  const [left, top] = [inside(lit.left, card.width, sight.width), inside(lit.top, card.height, sight.height)];
  const right = sight.width - card.width - margin;
  if (right >= lit.right + margin && sight.height >= card.height + 16)
    return { left: Math.min(lit.right + 96, right), top };
  if (lit.left >= card.width + 2 * margin && sight.height >= card.height + 16)
    return { left: lit.left - card.width - margin, top };
  if (sight.height - lit.bottom >= card.height + 16) return { left, top: lit.bottom + 10 };
  return lit.top >= card.height + 32 ? { left, top: lit.top - card.height - 24 } : null;
};

type CardProps = {
  readonly sighting: Sighting;
  /** Where the lit rooms are in sight; null: the card stands at the edge of the page. */
  readonly lit: Box | null;
  readonly sight: Size;
  readonly isHeld: boolean;
};

export const Card = ({ sighting, lit, sight, isHeld }: CardProps) => {
  const card = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = card.current!;
    const size = { width: element.offsetWidth, height: element.offsetHeight };
    const place = lit === null ? null : placeCard(lit, sight, size);
    element.classList.toggle('is-docked', place === null);
    element.style.left = place === null ? '' : `${place.left}px`;
    element.style.top = place === null ? '' : `${place.top}px`;
  });
  return (
    <aside ref={card} class="rooms-card" aria-hidden="true">
      <h3>{sighting.title}</h3>
      {sighting.seen.map(({ id, ink, kind, way, terms }) => (
        <p key={id} class="rooms-card-row">
          <i class={`legend-mark ink-${ink}`} />
          <span class={`ink-${ink}`}>{kind}</span>
          <span class="rooms-card-way">{way}</span>
          <span class={ink === 'stop' ? 'ink-stop' : 'muted'}>{terms}</span>
        </p>
      ))}
      {sighting.more === 0 ? null : <p class="muted">and {sighting.more} more</p>}
      <p class="rooms-card-never muted">
        {sighting.never}
        {isHeld ? ' Held: H lets go.' : ''}
      </p>
    </aside>
  );
};
