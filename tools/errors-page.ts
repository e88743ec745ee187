// Writes docs/ERRORS.md from the catalogue: `node --conditions=cloister-source tools/errors-page.ts`.
import { writeFileSync } from 'node:fs';
import { errorCatalogue } from '../src/base/errors/index.ts';

const rows = Object.entries(errorCatalogue)
  .sort(([one], [other]) => one.localeCompare(other))
  .map(
    ([code, { class: kind, retryable, summary, suggestion }]) =>
      `| \`${code}\` | ${kind} | ${retryable ? 'yes' : 'no'} | ${summary} | ${suggestion} |`,
  );

writeFileSync(
  'docs/ERRORS.md',
  `# Errors

Every failure that Cloister names. The code is stable; the class decides the exit code of the command line. Between cells
only these words cross: what a provider or a tool said itself stays in the cell that heard it. Written by
\`tools/errors-page.ts\` from \`src/base/errors/\`.

| code | class | retried | what it means | what to do |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`,
);
