// Runs in planted copies: looks for words under a wrong name. Prints the first ones as one JSON value.
//   <cases> <seed>
// Exits with 0 when there are none, with 3 when there are; anything else is a failure of the check itself.
import { findMisattribution } from './attribution.ts';

const [cases = '', seed = ''] = process.argv.slice(2);
const wrong = await findMisattribution(Number(cases), Number(seed));
console.log(JSON.stringify(wrong));
process.exitCode = wrong.length === 0 ? 0 : 3;
