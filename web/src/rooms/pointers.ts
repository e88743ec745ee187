// Hover, click, drag, wheel and pinch. A finger that taps sees what a mouse sees by hovering.
import type { Signal } from '@preact/signals';
import type { Hit, Place } from './hit.ts';
import type { Stage } from './stage.ts';

const dragFrom = 5;

const reachOf = ({ pointerType }: PointerEvent): number => (pointerType === 'touch' ? 16 : 6);

const placeIn = (event: MouseEvent): { x: number; y: number } => {
  const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
};

export const pointerHandlers = (stage: Stage, isHeld: Signal<boolean>, choose: (place: Place) => void) => {
  const fingers = new Map<number, PointerEvent>();
  let pressed: PointerEvent | null = null;
  let hasMoved = false;
  const apart = (): number => {
    const [a, b] = [...fingers.values()];
    return a === undefined || b === undefined ? 0 : Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  };
  const hover = (hit: Hit | null): void => {
    const before = stage.hover.peek();
    const next = hit === null || (hit.room === null && hit.crossing === null) ? null : hit;
    if (before?.room?.unit !== next?.room?.unit || before?.crossing !== next?.crossing) stage.hover.value = next;
  };
  const pinch = (event: PointerEvent): void => {
    const before = apart();
    fingers.set(event.pointerId, event);
    if (before === 0) return;
    stage.zoomTo(stage.zoom.value * (apart() / before), placeIn(event));
    hasMoved = true;
  };
  const release = (event: PointerEvent): void => {
    pressed = null;
    fingers.delete(event.pointerId);
  };
  return {
    onPointerDown: (event: PointerEvent): void => {
      if (event.pointerType === 'touch') fingers.set(event.pointerId, event);
      else pressed = event;
      hasMoved = false;
    },
    onPointerMove: (event: PointerEvent): void => {
      if (fingers.has(event.pointerId)) return pinch(event);
      const box = event.currentTarget as HTMLElement;
      const { clientX: x, clientY: y } = event;
      if (pressed !== null && (hasMoved || Math.hypot(x - pressed.clientX, y - pressed.clientY) > dragFrom)) {
        hasMoved = true;
        box.scrollBy(-event.movementX, -event.movementY);
        return;
      }
      if (!isHeld.value) hover(stage.hitAt(x, y, reachOf(event)));
      box.style.cursor = stage.hover.peek() === null ? '' : 'pointer';
    },
    onPointerUp: release,
    onPointerCancel: release,
    onPointerLeave: (event: PointerEvent): void => {
      release(event);
      if (!isHeld.value && event.pointerType !== 'touch') hover(null);
    },
    onClick: (event: MouseEvent): void => {
      const pointer = event as PointerEvent;
      if (hasMoved) return;
      const hit = stage.hitAt(event.clientX, event.clientY, reachOf(pointer));
      if (pointer.pointerType === 'touch') hover(hit);
      if (hit?.crossing != null) choose({ crossing: hit.crossing });
      else if (hit?.room != null) choose({ cell: hit.room.unit.room.cell.cell, op: hit.op ?? undefined });
    },
    onWheel: (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      stage.zoomTo(stage.zoom.value * Math.exp(-event.deltaY / 300), placeIn(event));
    },
  };
};
