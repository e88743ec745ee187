// Screenshots in fewer bytes: with a palette of 256 colours, which a page of few colours does not miss.
import { deflateSync, inflateSync, crc32 } from 'node:zlib';

/** The colours of an image without transparency, three bytes each. */
type Pixels = { readonly width: number; readonly height: number; readonly bytes: Uint8Array };

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** The same picture with at most 256 colours; as it is, if that is not smaller. */
export const shrinkPng = (png: Buffer): Buffer => {
  const pixels = readPng(png);
  const small = writePng(pixels, choosePalette(pixels));
  return small.length < png.length ? small : png;
};

/** Reads what browsers write: eight bits, with or without transparency, not interlaced. */
const readPng = (png: Buffer): Pixels => {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const [depth, kind] = [png[24], png[25]];
  if (depth !== 8 || (kind !== 2 && kind !== 6)) throw new Error(`A PNG of kind ${kind} and depth ${depth}.`);
  const parts: Buffer[] = [];
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const step = kind === 6 ? 4 : 3;
  const rows = unfilter(inflateSync(Buffer.concat(parts)), { width, height, step });
  const bytes = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++)
    bytes.set(rows.subarray(pixel * step, pixel * step + 3), pixel * 3);
  return { width, height, bytes };
};

type Grid = { readonly width: number; readonly height: number; readonly step: number };

const unfilter = (data: Uint8Array, { width, height, step }: Grid): Uint8Array => {
  const length = width * step;
  const rows = new Uint8Array(length * height);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (length + 1)]!;
    for (let x = 0; x < length; x++) {
      const at = y * length + x;
      const left = x < step ? 0 : rows[at - step]!;
      const up = y === 0 ? 0 : rows[at - length]!;
      const corner = x < step || y === 0 ? 0 : rows[at - length - step]!;
      rows[at] = data[y * (length + 1) + 1 + x]! + predicted(filter, { left, up, corner });
    }
  }
  return rows;
};

const predicted = (
  filter: number,
  { left, up, corner }: Readonly<Record<'left' | 'up' | 'corner', number>>,
): number => {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return Math.floor((left + up) / 2);
    case 4: {
      const guess = left + up - corner;
      const [byLeft, byUp, byCorner] = [left, up, corner].map((one) => Math.abs(guess - one)) as [
        number,
        number,
        number,
      ];
      return byLeft <= byUp && byLeft <= byCorner ? left : byUp <= byCorner ? up : corner;
    }
    default:
      return 0;
  }
};

const colourAt = (bytes: Uint8Array, pixel: number): number =>
  (bytes[pixel * 3]! << 16) | (bytes[pixel * 3 + 1]! << 8) | bytes[pixel * 3 + 2]!;

/** The most used colours, each unlike those before it: edges of letters have hundreds that nobody can tell apart. */
const choosePalette = ({ width, height, bytes }: Pixels): readonly number[] => {
  const counts = new Map<number, number>();
  for (let pixel = 0; pixel < width * height; pixel++) {
    const colour = colourAt(bytes, pixel);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const all = [...counts].sort(([, one], [, other]) => other - one).map(([colour]) => colour);
  for (let apart = 0; ; apart += 8) {
    const palette: number[] = [];
    for (const colour of all) if (palette.every((one) => distance(one, colour) > apart)) palette.push(colour);
    if (palette.length <= 256) return palette;
  }
};

const distance = (one: number, other: number): number =>
  [16, 8, 0].reduce((sum, shift) => sum + (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0);

const writePng = ({ width, height, bytes }: Pixels, palette: readonly number[]): Buffer => {
  const nearest = new Map<number, number>();
  const indexOf = (colour: number): number => {
    const known = nearest.get(colour);
    if (known !== undefined) return known;
    let best = 0;
    for (const [index, one] of palette.entries())
      if (distance(one, colour) < distance(palette[best]!, colour)) best = index;
    nearest.set(colour, best);
    return best;
  };
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexOf(colourAt(bytes, y * width + x));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};
