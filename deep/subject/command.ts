// The `cloister` command, as it is published.
import { main } from '#app/main';

await main(process.argv.slice(2));
