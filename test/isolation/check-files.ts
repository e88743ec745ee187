// Runs in planted copies: the checks on agents as files. Prints one JSON value: where something was seen.
//   <checks, as JSON>
// Exits with 0 when nothing differs and nothing is found, with 3 when something is; anything else is a failure of the check.
import * as cloister from 'cloister';
import type { FileCheck } from './planted-file-leaks.ts';

/** Where the first difference, or every secret, was seen. */
const findingsOf = async (check: FileCheck): Promise<readonly string[]> => {
  if (check.kind === 'redaction') {
    // Loaded on demand: their dependencies take longer to load than the checks to run.
    const { runSecrets } = await import('./redaction-run.ts');
    const { searched } = await runSecrets(cloister);
    return searched.filter(({ found }) => found.length > 0).map(({ place }) => place);
  }
  if (check.kind === 'env') {
    const { compareEnvs } = await import('./run-env-two-run.ts');
    const { difference: seenByRun } = await compareEnvs(cloister, check);
    return seenByRun === null ? [] : [seenByRun.sink];
  }
  const { compareTeams } = await import('./files-two-run.ts');
  const { difference } = await compareTeams(cloister, check.kind, check);
  return difference === null ? [] : [difference.sink];
};

const [checks = '[]'] = process.argv.slice(2);
const seen: string[] = [];
for (const check of JSON.parse(checks) as readonly FileCheck[]) seen.push(...(await findingsOf(check)));
console.log(JSON.stringify(seen));
process.exit(seen.length === 0 ? 0 : 3);
