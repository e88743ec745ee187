// Draws text from standard input as a terminal, in its colours. `FORCE_COLOR` colours only a terminal, so that it is recorded in one:
// `script -qefc "stty cols 80; node bin/cloister.js demo" /dev/null | node tools/terminal-picture.ts "cloister demo" > docs/terminal.svg`
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

const [, , command = 'cloister demo'] = process.argv;
/** Folders of this machine are nobody else's. */
const own = new RegExp(`${process.cwd()}/`, 'gu');
const lines = [`\u001B[32m$ npx ${command}\u001B[39m`, '', ...readFileSync(0, 'utf8').trimEnd().split(/\r?\n/u)].map(
  (line) => line.replaceAll(own, ''),
);
const [charWidth, lineHeight, margin] = [7.8, 18, 16];
const width = Math.ceil(
  Math.max(...lines.map((line) => stripVTControlCharacters(line).length)) * charWidth + 2 * margin,
);
const height = lines.length * lineHeight + 2 * margin + 8;

const escape = (text: string): string => text.replace(/&/gu, '&amp;').replace(/</gu, '&lt;').replace(/>/gu, '&gt;');

/** What each code of a colour adds; the others end something. */
const styles: Readonly<Record<string, readonly [kind: 'weight' | 'fill', value: string]>> = {
  1: ['weight', 'font-weight="bold"'],
  2: ['fill', 'fill="#8b949e"'],
  31: ['fill', 'fill="#ff7b72"'],
  32: ['fill', 'fill="#7ee787"'],
  33: ['fill', 'fill="#e3b341"'],
  36: ['fill', 'fill="#79c0ff"'],
};

const colourCode = new RegExp(String.raw`${'\u001B'}\[([\d;]*)m`, 'u');

const drawLine = (line: string): string => {
  const active = new Map<string, string>();
  return line
    .split(colourCode)
    .map((part, at) => {
      if (at % 2 === 0) return part === '' ? '' : `<tspan ${[...active.values()].join(' ')}>${escape(part)}</tspan>`;
      for (const code of part.split(';')) {
        const [kind, value] = styles[code] ?? [];
        if (kind !== undefined && value !== undefined) active.set(kind, value);
        else if (code === '22') active.delete('weight');
        if (code === '39' || code === '22') active.delete('fill');
      }
      return '';
    })
    .join('');
};

const rows = lines.map(
  (line, index) =>
    `<text x="${margin}" y="${margin + (index + 1) * lineHeight}" xml:space="preserve">${drawLine(line)}</text>`,
);

console.log(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(command)} in a terminal">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g fill="#e6edf3" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">
${rows.join('\n')}
</g>
</svg>`);
