// How the page is built: once in parts for servers, once whole for `cloister show --html`.
import { fileURLToPath } from 'node:url';
import type { InlineConfig, Plugin } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));
const runView = fileURLToPath(new URL('../src/headends/run-view/index.ts', import.meta.url));

/** Few files, each with what is shown together, compress better than many: the page, what shows a run, and the rest. */
const groups = [
  { name: 'page', tags: ['$initial' as const] },
  { name: 'markdown', test: /src\/markdown|marked/u },
  {
    name: 'run',
    test: /src\/(?:rooms|xray|what-if|ui|panes\/(?:audit|crossings|summary|transcript|windows))/u,
  },
  { name: 'more', test: /src/u },
];

/** The page uses the lexer of marked; what makes HTML of it would stay in, since it is set up when it is loaded. */
const lexerOnly: Plugin = {
  name: 'lexer-only',
  transform: {
    filter: { id: /marked\.esm\.js$/u },
    handler: (code) => {
      const cut = code.replace(
        /var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\..*?(\w+) as Lexer.*$/su,
        'export{$2 as Lexer};',
      );
      if (cut === code) throw new Error('marked is built differently now: see web/vite.config.ts');
      return { code: cut, map: null };
    },
  },
};

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
  oxc: { jsx: { importSource: 'preact', development: false } },
  plugins: [lexerOnly, plainImport],
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
