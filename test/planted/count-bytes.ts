// To be planted: prints how many bytes a letter has, and what others left in the realm.
//   <letter>
import { utf8Bytes } from '#base';

const [letter = ''] = process.argv.slice(2);
console.log(JSON.stringify([utf8Bytes(letter), (globalThis as { planted?: string }).planted ?? null]));
process.exitCode = utf8Bytes(letter) === 2 ? 0 : 3;
