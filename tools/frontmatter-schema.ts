// Writes schemas/frontmatter.schema.json from the table of keys:
// `node --conditions=cloister-source tools/frontmatter-schema.ts && npm run format`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { frontmatterSchema } from '#core/registry';

mkdirSync('schemas', { recursive: true });
writeFileSync('schemas/frontmatter.schema.json', `${JSON.stringify(frontmatterSchema(), null, 2)}\n`);
