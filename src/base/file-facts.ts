// Facts about a file from its bytes, without decoding it: its type, the size of an image, the pages of a PDF.
//
//   facts-or-none. Damaged and hostile files give undefined, never an error, in time linear in its size.

const ascii = (bytes: Uint8Array, from: number, text: string): boolean =>
  [...text].every((char, index) => bytes[from + index] === char.charCodeAt(0));

const signatures: Readonly<Record<string, (bytes: Uint8Array) => boolean>> = {
  'image/png': (bytes) => bytes[0] === 0x89 && ascii(bytes, 1, 'PNG'),
  'image/jpeg': (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8,
  'image/gif': (bytes) => ascii(bytes, 0, 'GIF8'),
  'image/webp': (bytes) => ascii(bytes, 0, 'RIFF') && ascii(bytes, 8, 'WEBP'),
  // Readers accept some bytes before it.
  'application/pdf': (bytes) => Buffer.from(bytes.subarray(0, 1_024)).includes('%PDF-'),
};

/** Whether the bytes begin like a file of this type. True for types that are not known here. */
export const hasSignature = (mediaType: string, bytes: Uint8Array): boolean => signatures[mediaType]?.(bytes) ?? true;

/** Width times height of an image, if its header says so. */
export const countPixels = (mediaType: string, bytes: Uint8Array): number | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const pixels = sizes[mediaType]?.(view, bytes);
    return pixels === undefined || pixels <= 0 ? undefined : pixels;
  } catch {
    // Shorter than its header says.
    return undefined;
  }
};

const sizes: Readonly<Record<string, (view: DataView, bytes: Uint8Array) => number | undefined>> = {
  'image/png': (view) => view.getUint32(16) * view.getUint32(20),
  'image/gif': (view) => view.getUint16(6, true) * view.getUint16(8, true),
  'image/jpeg': (view) => jpegPixels(view),
  'image/webp': (view, bytes) => webpPixels(view, bytes),
};

/** The frame header is one of the segments, each with its length. */
const jpegPixels = (view: DataView): number | undefined => {
  for (let at = 2; at + 9 < view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return view.getUint16(at + 5) * view.getUint16(at + 7);
    // A marker may be padded; some stand alone; any other segment begins with its own length.
    const isAlone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    at += marker === 0xff ? 1 : isAlone ? 2 : 2 + Math.max(2, view.getUint16(at + 2));
  }
  return undefined;
};

const webpPixels = (view: DataView, bytes: Uint8Array): number | undefined => {
  if (ascii(bytes, 12, 'VP8X')) {
    const side = (at: number): number => view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_00_00 + 1;
    return side(24) * side(27);
  }
  if (ascii(bytes, 12, 'VP8L')) {
    const packed = view.getUint32(21, true);
    return ((packed & 0x3f_ff) + 1) * (((packed >>> 14) & 0x3f_ff) + 1);
  }
  return ascii(bytes, 12, 'VP8 ')
    ? (view.getUint16(26, true) & 0x3f_ff) * (view.getUint16(28, true) & 0x3f_ff)
    : undefined;
};

/** The pages of a PDF. Undefined if some may be in compressed objects, or be named in a way that hides them. */
export const countPages = (mediaType: string, bytes: Uint8Array): number | undefined => {
  if (mediaType !== 'application/pdf') return undefined;
  const text = Buffer.from(bytes).toString('latin1');
  if (/\/(?:ObjStm|[A-Za-z]{0,20}#[0-9A-Fa-f]{2})/u.test(text)) return undefined;
  const pages = text.match(/\/Type\s{0,4}\/Page(?![A-Za-z])/gu)?.length ?? 0;
  return pages === 0 ? undefined : pages;
};
