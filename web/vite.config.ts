// How the page is built: once in parts for servers, once whole for `cloister show --html`.
import { fileURLToPath } from 'node:url';
import type { InlineConfig } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));
const runView = fileURLToPath(new URL('../src/headends/run-view/index.ts', import.meta.url));

/** Views that are often opened one after the other are one file: together they compress better. */
const groups = [
  {
    name: 'inspect',
    test: /src\/(?:xray\/(?!inspected|hues)|what-if\/|panes\/(?:audit|summary|transcript|windows))/u,
  },
  { name: 'lists', test: /src\/(?:runs\/|agents\/|panes\/(?:tree|task|mail|graph|write))/u },
];

/** `whole`: one script, for a file of its own. */
export const pageConfig = (outDir: string, whole: boolean): InlineConfig => ({
  root,
  configFile: false,
  logLevel: 'warn',
  base: '/',
  resolve: { alias: { '#headends/run-view': runView } },
  oxc: { jsx: { importSource: 'preact' } },
  build: {
    outDir,
    emptyOutDir: !whole,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: whole ? false : { groups, includeDependenciesRecursively: false } } },
  },
});
