// One room on the canvas.
import type { RoomInside } from './inside.ts';
import type { RoomShape } from './layout.ts';
import type { PlacedText } from './texts.ts';
import type { Theme } from './theme.ts';

export type RoomLook = {
  readonly isSelected: boolean;
  /** The selected operation; null: none. */
  readonly op: number | null;
  /** Where idle time passes through it. */
  readonly breaks: readonly number[];
  readonly bg: string;
};

const thinRoom = 6;

export const drawRoom = (context: CanvasRenderingContext2D, theme: Theme, room: RoomShape, look: RoomLook): void => {
  const { left, top, wall } = room;
  const [width, height] = [room.right - left, room.bottom - top];
  const { status } = room.unit.room.cell;
  const ink = look.isSelected ? theme.goal : theme.wall;
  if (width < thinRoom) {
    context.fillStyle = status === null || status === 'completed' ? ink : theme.stop;
    context.fillRect(left, top, Math.max(1, width), height);
    return;
  }
  context.fillStyle = look.isSelected ? theme.selected : theme.surface;
  context.fillRect(left, top, width, height);
  context.strokeStyle = ink;
  context.lineWidth = Math.min(wall, width / 3);
  context.lineJoin = 'round';
  const inset = context.lineWidth / 2;
  const [right, bottom] = [room.right - inset, room.bottom - inset];
  const isMerged = room.unit.rooms.length > 1;
  if (!isMerged && (status === null || status === 'cancelled')) {
    context.beginPath();
    context.moveTo(right, top + inset);
    context.lineTo(left + inset, top + inset);
    context.lineTo(left + inset, bottom);
    context.lineTo(right, bottom);
    context.stroke();
    openWall(context, { x: right, top: top + inset, bottom }, status === null);
  } else context.strokeRect(left + inset, top + inset, width - 2 * inset, height - 2 * inset);
  if (isMerged && height >= 20) {
    context.fillStyle = theme.line;
    context.fillRect(left + 2 * inset + 2, bottom - inset - 3, width - 4 * inset - 4, 1);
  }
  for (const x of look.breaks) drawBreak(context, x, [top + inset, bottom], ink, look.bg);
};

/** Of a room that is not closed: dashed while it works, cut where it was stopped. */
const openWall = (
  context: CanvasRenderingContext2D,
  { x, top, bottom }: { readonly x: number; readonly top: number; readonly bottom: number },
  isLive: boolean,
): void => {
  context.beginPath();
  const middle = (top + bottom) / 2;
  if (isLive) context.setLineDash([6, 5]);
  context.moveTo(x, top);
  if (isLive) context.lineTo(x, bottom);
  else {
    context.lineTo(x, middle - 9);
    context.moveTo(x, middle + 9);
    context.lineTo(x, bottom);
  }
  context.stroke();
  context.setLineDash([]);
};

/** `//`: time left out. */
const drawBreak = (
  context: CanvasRenderingContext2D,
  x: number,
  walls: readonly number[],
  ink: string,
  bg: string,
): void => {
  const before = context.lineWidth;
  for (const y of walls) {
    context.fillStyle = bg;
    context.fillRect(x - 4, y - before / 2 - 0.5, 8, before + 1);
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const side of [-3, 3]) {
      context.moveTo(x + side - 2, y + 5);
      context.lineTo(x + side + 2, y - 5);
    }
    context.stroke();
  }
  context.lineWidth = before;
};

export const drawInside = (
  context: CanvasRenderingContext2D,
  theme: Theme,
  room: RoomShape,
  inside: RoomInside,
  look: RoomLook,
): void => {
  drawBars(context, theme, inside, look.op);
  const { pins, barBottom, pinY, notches, retries, barTop, diamond } = inside;
  for (const { x, ink, op } of pins) {
    context.fillStyle = op === look.op ? theme.goal : theme[ink];
    if (pinY > barBottom + 4) context.fillRect(x - 1, barBottom + 1, 2, pinY - barBottom);
    dot(context, x, pinY, pinY > barBottom + 4 ? 3.5 : 3);
  }
  context.fillStyle = theme.tool;
  for (const x of retries) context.fillRect(x - 3, barTop, 4, barBottom - barTop);
  for (const x of notches) {
    context.beginPath();
    context.moveTo(x - 5, room.bottom);
    context.lineTo(x, room.bottom - room.wall - 5);
    context.lineTo(x + 5, room.bottom);
    context.fill();
  }
  if (diamond !== null) {
    const y = (barTop + barBottom) / 2;
    context.fillStyle = theme.stop;
    context.beginPath();
    for (const [dx, dy] of [
      [0, -6],
      [6, 0],
      [0, 6],
      [-6, 0],
    ] as const)
      context.lineTo(diamond + dx, y + dy);
    context.fill();
  }
  for (const text of inside.texts) drawText(context, theme, text);
};

const drawBars = (
  context: CanvasRenderingContext2D,
  theme: Theme,
  { bars, barTop, barBottom }: RoomInside,
  op: number | null,
): void => {
  const height = barBottom - barTop;
  for (const { what, left, right, isOpen, op: own } of bars) {
    const width = Math.max(1.5, right - left - 1.5);
    const isPicked = own === op;
    if (what === 'tool') {
      if (width < 6) continue;
      context.fillStyle = isPicked ? theme.goal : theme.tool;
      context.fillRect(left, barBottom - 2, width, 2);
      continue;
    }
    context.fillStyle = isPicked ? theme.pickedBar : theme.bar;
    if (what === 'work' || isPicked) {
      context.beginPath();
      context.roundRect(left, barTop, width, height, Math.min(3, width / 2));
      context.fill();
      if (isOpen) {
        context.fillStyle = theme.goal;
        context.fillRect(right - 3, barTop, 3, height);
      }
    }
    if (what === 'wait') hatch(context, theme, { left, top: barTop, width, height });
    if (what === 'question' || isPicked) {
      context.strokeStyle = isPicked ? theme.goal : theme.tool;
      context.lineWidth = 1.5;
      context.beginPath();
      context.roundRect(left + 0.75, barTop + 0.75, Math.max(1, width - 1.5), height - 1.5, 3);
      context.stroke();
    }
  }
};

const hatch = (
  context: CanvasRenderingContext2D,
  theme: Theme,
  { left, top, width, height }: { left: number; top: number; width: number; height: number },
): void => {
  context.strokeStyle = theme.tool;
  context.save();
  context.beginPath();
  context.roundRect(left + 0.5, top + 0.5, Math.max(1, width - 1), height - 1, 3);
  context.globalAlpha *= 0.45;
  context.lineWidth = 1;
  context.stroke();
  context.clip();
  context.beginPath();
  // A wait may be far wider than the canvas: the lines that can be seen are enough.
  const lines = Math.min(400, Math.ceil((width + height) / 6));
  for (let line = 0; line < lines; line++) {
    context.moveTo(left + line * 6, top);
    context.lineTo(left + line * 6 - height, top + height);
  }
  context.stroke();
  context.restore();
};

export const dot = (context: CanvasRenderingContext2D, x: number, y: number, radius: number): void => {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
};

export const drawText = (
  context: CanvasRenderingContext2D,
  theme: Theme,
  { text, font, ink, x, y }: PlacedText,
): void => {
  context.font = theme.fonts[font];
  context.fillStyle = theme[ink];
  context.textBaseline = 'middle';
  context.fillText(text, x, y + 0.5);
};
