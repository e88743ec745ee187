// What a room saw of all that crossed, and what it never saw.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { placeCard } from './place-card.ts';
import type { Box, Size } from './place-card.ts';
import type { Sighting } from './words.ts';

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
        <p key={id} class={`rooms-card-row hue-${ink}`}>
          <span class={`legend hue-${ink}`}>{kind}</span>
          <span class="cut grow">{way}</span>
          <span class={ink === 'stop' ? 'hue-text' : 'muted'}>{terms}</span>
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
