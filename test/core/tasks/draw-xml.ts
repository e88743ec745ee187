// An XML reader that accepts only what the drawings may contain, and throws for everything else.

export type Element = {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
};

const forbidden = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
const tag = /^<(\/?)([a-zA-Z][a-zA-Z]*)((?:\s+[a-zA-Z][a-zA-Z:-]*="[^"<]*")*)\s*(\/?)>/u;
const attribute = /\s+([a-zA-Z][a-zA-Z:-]*)="([^"<]*)"/gu;
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const decoded = (text: string): string => {
  if (/&(?!(?:amp|lt|gt|quot|apos|#\d+);)/u.test(text)) throw new Error(`a bare & in ${text}`);
  return text.replace(/&(?:#(\d+)|([a-z]+));/gu, (_, code: string | undefined, name: string) =>
    code === undefined ? named[name]! : String.fromCodePoint(Number(code)),
  );
};

export const readXml = (source: string): Element => {
  const bad = forbidden.exec(source);
  if (bad !== null) throw new Error(`a character that XML forbids, at ${bad.index}`);
  const top: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [top];
  for (let at = 0; at < source.length;) {
    const parent = open.at(-1)!;
    if (source[at] !== '<') {
      const end = source.indexOf('<', at);
      const text = source.slice(at, end === -1 ? source.length : end);
      if (text.includes(']]>')) throw new Error('a bare ]]>');
      parent.text += decoded(text);
      at += text.length;
      continue;
    }
    const found = tag.exec(source.slice(at, at + 4000));
    if (found === null) throw new Error(`no tag: ${source.slice(at, at + 80)}`);
    const [whole, isEnd, name, attributes, isEmpty] = found as unknown as [string, string, string, string, string];
    at += whole.length;
    if (isEnd === '/') {
      if (parent.name !== name) throw new Error(`${name} ends ${parent.name}`);
      open.pop();
      continue;
    }
    const pairs = [...attributes.matchAll(attribute)].map(([, key, value]) => [key!, decoded(value!)] as const);
    if (new Set(pairs.map(([key]) => key)).size < pairs.length) throw new Error(`an attribute twice in ${whole}`);
    const element: Element = { name, attributes: Object.fromEntries(pairs), children: [], text: '' };
    parent.children.push(element);
    if (isEmpty !== '/') open.push(element);
  }
  if (open.length > 1) throw new Error(`${open.at(-1)!.name} does not end`);
  if (top.children.length !== 1 || top.text.trim() !== '') throw new Error('not one element');
  return top.children[0]!;
};

/** All elements, at any depth. */
export const elementsOf = (root: Element): readonly Element[] => {
  const found = [root];
  for (const element of found) found.push(...element.children);
  return found;
};
