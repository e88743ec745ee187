// To be planted: runs the checks on agents as files. Prints one JSON value: where something was seen.
//   <checks, as JSON>
// Exits with 0 when nothing differs and nothing is found, with 3 when something is; anything else is a failure of the check.
import * as cloister from 'cloister';
import type { FileCheck } from './planted-file-leaks.ts';

/** Where the first difference, or every secret, was seen. */
const seenIn = async (check: FileCheck): Promise<readonly string[]> => {
  if (check.kind === 'redaction') {
    // Loaded when needed: what they stand on takes longer to load than they take.
    const { runSecrets } = await import('./redaction-run.ts');
    const { looked } = await runSecrets(cloister);
    return looked.filter(({ found }) => found.length > 0).map(({ place }) => place);
  }
  const { compareTeams } = await import('./files-two-run.ts');
  const { difference } = await compareTeams(cloister, check.kind, check);
  return difference === null ? [] : [difference.sink];
};

const [checks = '[]'] = process.argv.slice(2);
const seen: string[] = [];
for (const check of JSON.parse(checks) as readonly FileCheck[]) seen.push(...(await seenIn(check)));
console.log(JSON.stringify(seen));
process.exit(seen.length === 0 ? 0 : 3);
