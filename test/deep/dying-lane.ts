// A lane that dies of the second thing it tries.
import { printLine } from '../../deep/long/print-line.ts';

printLine({ trying: 'npm run sim -- --seed 1' });
printLine({ tried: 1, of: 'seeds' });
printLine({ trying: 'npm run sim -- --seed 2' });
process.abort();
