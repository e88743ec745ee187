// Draws text from standard input as a terminal: `… | node tools/terminal-picture.ts > docs/terminal.svg`.
import { readFileSync } from 'node:fs';

const lines = readFileSync(0, 'utf8').replace(/\s+$/u, '').split('\n');
const [charWidth, lineHeight, margin] = [7.8, 18, 16];
const width = Math.max(...lines.map((line) => line.length)) * charWidth + 2 * margin;
const height = lines.length * lineHeight + 2 * margin + 8;

const escape = (text: string): string => text.replace(/&/gu, '&amp;').replace(/</gu, '&lt;').replace(/>/gu, '&gt;');

const colour = (line: string): string => {
  if (line.startsWith('$')) return '#7ee787';
  if (/^(?:Summary|Audit|Workspace|Next steps)/u.test(line)) return '#79c0ff';
  if (/^(?:agent|\s+cell)\s/u.test(line)) return '#8b949e';
  return line.startsWith('●') ? '#e3b341' : '#e6edf3';
};

const rows = lines.map((line, index) => {
  const y = margin + (index + 1) * lineHeight;
  return `<text x="${margin}" y="${y}" fill="${colour(line)}" xml:space="preserve">${escape(line)}</text>`;
});

console.log(`<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${height}" viewBox="0 0 ${Math.ceil(width)} ${height}" role="img" aria-label="cloister demo in a terminal">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">
${rows.join('\n')}
</g>
</svg>`);
