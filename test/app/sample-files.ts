// Files with real headers and no contents: enough for everything that reads only headers.

const bytesOf = (...parts: readonly (string | readonly number[])[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part, 'latin1')] : [...part])));

const big = (value: number, size: number): readonly number[] =>
  Array.from({ length: size }, (_, index) => Math.floor(value / 256 ** (size - 1 - index)) % 256);
const little = (value: number, size: number): readonly number[] => big(value, size).toReversed();

export const pngOf = (width: number, height: number): Uint8Array<ArrayBuffer> =>
  bytesOf([0x89], 'PNG\r\n', [0x1a, 0x0a], big(13, 4), 'IHDR', big(width, 4), big(height, 4), [8, 2, 0, 0, 0]);

export const gifOf = (width: number, height: number): Uint8Array<ArrayBuffer> =>
  bytesOf('GIF89a', little(width, 2), little(height, 2), [0, 0, 0]);

/** With a comment segment before the frame header, as cameras write them. */
export const jpegOf = (width: number, height: number): Uint8Array<ArrayBuffer> =>
  bytesOf(
    [0xff, 0xd8, 0xff, 0xfe],
    big(6, 2),
    'abcd',
    [0xff, 0xff, 0xc2],
    big(17, 2),
    [8],
    big(height, 2),
    big(width, 2),
    [3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1],
  );

export const webpOf = (width: number, height: number): Uint8Array<ArrayBuffer> =>
  bytesOf('RIFF', little(30, 4), 'WEBPVP8X', little(10, 4), [0, 0, 0, 0], little(width - 1, 3), little(height - 1, 3));

export const pdfOf = (pages: number): Uint8Array<ArrayBuffer> =>
  bytesOf(
    '%PDF-1.7\n1 0 obj <</Type /Pages /Count 9>>\n',
    ...Array.from({ length: pages }, (_, nth) => `${nth + 2} 0 obj <</Type /Page /Parent 1 0 R>>\n`),
    '%%EOF',
  );
