// The extension of the file that keeps a tool's output, so that people and programs can open it.

/** All of them: names with these extensions are reserved for the outputs of tools. */
export const outputExtensions = ['txt', 'json', 'html', 'xml', 'svg', 'md', 'csv'] as const;

export type OutputExtension = (typeof outputExtensions)[number];

/** By the type that the tool gave. Without one, by a beginning that nothing else has: the rest stays `txt`. */
export const textExtension = (text: string, mediaType: string | undefined): OutputExtension => {
  if (mediaType === undefined)
    return beginnings.find(([, shape]) => shape.test(text.slice(0, headChars)))?.[0] ?? 'txt';
  const type = mediaType.split(';', 1)[0]!.trim().toLowerCase();
  if (Object.hasOwn(byType, type)) return byType[type]!;
  if (type.endsWith('+json')) return 'json';
  return type.endsWith('+xml') ? 'xml' : 'txt';
};

const byType: Readonly<Record<string, OutputExtension>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/json': 'json',
  'text/json': 'json',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'application/xml': 'xml',
  'text/xml': 'xml',
  'image/svg+xml': 'svg',
};

const headChars = 200;

const beginnings: readonly (readonly [OutputExtension, RegExp])[] = [
  ['html', /^\uFEFF?\s*<(?:!doctype\s+html|html)[\s>]/iu],
  ['svg', /^\uFEFF?\s*<svg[\s>]/iu],
  ['xml', /^\uFEFF?\s*<\?xml\s/iu],
];
