// The book: a page that was acknowledged is there as it was handed over, in its place, and nothing else is.
import type { WorkspaceEntry } from '#contracts';
import type { Noting } from '../history.ts';
import type { Judge } from './judge.ts';

export const book: Judge = {
  name: 'the book keeps every page',
  look: ({ book: { pages, problem }, notings }, say) => {
    if (problem !== null) say('every page of the book as it was written', problem);
    const told = new Map<number, Noting>();
    for (const noting of notings) {
      const { no, after, record, process, there } = noting;
      if (no === null) continue;
      const words = JSON.stringify(record);
      if (!there) say(`page ${no} on the disk before it is acknowledged`, `process ${process} was told too early`);
      if (JSON.stringify(pages[no]?.record) !== words)
        say(
          `page ${no} as process ${process} wrote it: ${words}`,
          JSON.stringify(pages[no]?.record) ?? 'it is not there',
        );
      if (after !== undefined && no !== after + 1)
        say(`a page right after page ${after}, which process ${process} had seen`, `page ${no}`);
      const other = told.get(no);
      if (other !== undefined)
        say(`page ${no} to be one page`, `processes ${other.process} and ${process} were told so`);
      told.set(no, noting);
    }
    for (const [index, page] of pages.entries())
      if (page.no !== index) say(`page ${index} in its place`, `page ${page.no}`);
    for (const page of pages)
      if (!notings.some((noting) => wrote(noting, page)))
        say(`somebody to have written page ${page.no}`, JSON.stringify(page.record));
    for (const one of twice(pages)) say('each run to have one page that begins it', one);
    return notings.length + pages.length;
  },
};

const wrote = ({ record, no }: Noting, page: WorkspaceEntry): boolean =>
  (no === null || no === page.no) && JSON.stringify(record) === JSON.stringify(page.record);

const twice = (pages: readonly WorkspaceEntry[]): readonly string[] => {
  const runs = pages.flatMap(({ record }) => ('run' in record && record.run !== null ? [record.run] : []));
  return runs.filter((run, index) => runs.indexOf(run) !== index);
};
