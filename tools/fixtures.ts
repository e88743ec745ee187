// Records the newest format: the hashes of what it consists of, and a workspace in it. `npm run fixtures`.
//
// A frozen format never changes, and its files are not replaced. `--again` replaces those of a format that is not frozen yet.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { recordFormats } from '../src/base/index.ts';
import { frozenFormats, frozenHashes } from '../test/fixtures/frozen.ts';
import { makeFixture } from '../test/fixtures/scenarios.ts';

const { newest } = recordFormats;
const fixtures = fileURLToPath(new URL('../test/fixtures/', import.meta.url));
const hashes = join(fixtures, `formats/${newest}.json`);
const workspace = join(fixtures, `workspaces/format-${newest}`);

if (newest in frozenFormats) {
  console.error(
    `Format ${newest} is frozen. Raise \`recordFormats\` in src/base/record-format.ts to record a new one.`,
  );
  process.exit(1);
}
if (existsSync(hashes) && !process.argv.includes('--again')) {
  console.error(`Format ${newest} is recorded already. To replace what was recorded: npm run fixtures -- --again`);
  process.exit(1);
}
mkdirSync(join(fixtures, 'formats'), { recursive: true });
mkdirSync(join(fixtures, 'workspaces'), { recursive: true });
writeFileSync(hashes, `${JSON.stringify(frozenHashes(), null, 2)}\n`);
const made = mkdtempSync(join(tmpdir(), 'cloister-fixture-'));
await makeFixture(made);
rmSync(workspace, { recursive: true, force: true });
renameSync(made, workspace);
console.log(`Format ${newest} is recorded in test/fixtures/.`);
