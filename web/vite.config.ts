// How the page is built: once in parts for servers, once whole for `cloister show --html`.
import { fileURLToPath } from 'node:url';
import type { InlineConfig, Plugin } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));
const runView = fileURLToPath(new URL('../src/headends/run-view/index.ts', import.meta.url));

/** Two files, the page and all that it loads later, compress better than many. */
const groups = [{ name: 'page', tags: ['$initial' as const] }];

/** All styles come with the page, and every other file needs only the page: `import()` has nothing to load before. */
const plainImport: Plugin = {
  name: 'plain-import',
  enforce: 'pre',
  load: {
    filter: { id: /preload-helper/u },
    handler: () => 'export const __vitePreload = (load) => load();',
  },
};

/** `whole`: one script, for a file of its own. */
export const pageConfig = (outDir: string, whole: boolean): InlineConfig => ({
  root,
  configFile: false,
  logLevel: 'warn',
  base: '/',
  resolve: { alias: { '#headends/run-view': runView } },
  // The same page whatever `NODE_ENV` says: for tests, each element would also name its place in the sources.
  mode: 'production',
  // Shorter than calls of the automatic runtime, by a kilobyte in all.
  oxc: {
    jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment', development: false },
    jsxInject: "import { h, Fragment } from 'preact'",
  },
  define: { isKeptFile: String(whole) },
  plugins: [plainImport],
  build: {
    outDir,
    emptyOutDir: !whole,
    target: 'es2023',
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: whole ? false : { groups, includeDependenciesRecursively: false } } },
  },
});
