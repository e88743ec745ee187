#!/usr/bin/env node
// The command. Kept to syntax that old Nodes read, so that they can say what is missing.
import module from 'node:module';
import fs from 'node:fs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 16)) {
  console.error('cloister needs Node 24.16 or newer; this is Node ' + process.versions.node + '.');
  console.error('try: ' + withNewNode(process.argv[1], process.argv.slice(2)));
  process.exit(1);
}

// The same command on a Node that npx brings along. Read only on an old Node.
function withNewNode(file, args) {
  const isClone = fs.existsSync(new URL('../src/app/main.ts', import.meta.url));
  const isFetched = /[\\/]_npx[\\/]/.test(file);
  const words = isClone ? ['node', file] : isFetched ? ['-p', 'cloister', 'cloister'] : ['cloister'];
  const quoted = words.concat(args).map((word) => (/^[\w./@%+=:,-]+$/.test(word) ? word : JSON.stringify(word)));
  return 'npx -y -p node@24 ' + quoted.join(' ');
}

// A clone runs its TypeScript source; the published package carries only dist/.
const here = new URL('../', import.meta.url);
if (fs.existsSync(new URL('src/app/main.ts', here))) {
  module.registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, { ...context, conditions: [...context.conditions, 'cloister-source'] }),
  });
}
module.enableCompileCache?.();
const { main } = await import('#app/main');
await main(process.argv.slice(2));
