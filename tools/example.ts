// npm run example -- <name>: runs examples/<name>/main.ts; without a name, lists them.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const names = readdirSync('examples', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(`examples/${entry.name}/main.ts`))
  .map((entry) => entry.name)
  .sort();

const [name, ...rest] = process.argv.slice(2);
if (name === undefined) {
  console.log('Run an example with `npm run example -- <name>`:\n');
  for (const one of names)
    console.log(`  ${one.padEnd(12)} ${readFileSync(`examples/${one}/README.md`, 'utf8').split('\n')[2] ?? ''}`);
} else if (!names.includes(name)) {
  console.error(`Unknown example "${name}". Available: ${names.join(', ')}.`);
  process.exitCode = 4;
} else {
  const { status } = spawnSync(
    process.execPath,
    ['--conditions=cloister-source', `examples/${name}/main.ts`, ...rest],
    { stdio: 'inherit' },
  );
  process.exitCode = status ?? 1;
}
