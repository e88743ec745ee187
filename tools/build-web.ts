// Builds the page of the studio: its files for servers, and `file.html`, the page in one file for `cloister show --html`.
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { pageConfig } from '../web/vite.config.ts';

/** Where `cloister show --html` puts the run. */
const keptRunElement = '<script type="application/json" id="kept-run"></script>';

export const buildWeb = async (folder: string): Promise<void> => {
  const outDir = resolve(folder);
  await build(pageConfig(outDir, false));
  const whole = mkdtempSync(join(tmpdir(), 'cloister-page-'));
  try {
    await build(pageConfig(whole, true));
    writeFileSync(join(outDir, 'file.html'), inOneFile(whole));
  } finally {
    rmSync(whole, { recursive: true, force: true });
  }
};

const inOneFile = (folder: string): string => {
  const only = (pattern: string): string => readFileSync(join(folder, globSync(pattern, { cwd: folder })[0]!), 'utf8');
  const script = only('assets/*.js').replaceAll('</script', String.raw`<\/script`);
  const styles = only('assets/*.css').replaceAll('</style', String.raw`<\/style`);
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(styles)}; img-src data: blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="content-security-policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Cloister</title>',
    `<style>${styles}</style>`,
    '</head>',
    '<body>',
    '<div id="page"></div>',
    '<noscript>This page needs JavaScript. The run itself is in the element below, as JSON.</noscript>',
    keptRunElement,
    `<script type="module">${script}</script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await buildWeb(process.argv[2] ?? 'dist/web');
