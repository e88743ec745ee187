// Ids of tasks: what they may look like, and the one that a title gives.

export const taskIdCharsMax = 80;
const slugCharsMax = 40;
const idShape = /^[A-Za-z0-9._-]+$/u;

export const isTaskId = (id: string): boolean => id.length <= taskIdCharsMax && idShape.test(id);

/** The lower-case words of a title, joined by dashes: `Étude no. 2` gives `etude-no-2`. */
export const slugOf = (title: string): string => {
  const plain = title.slice(0, 1_000).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.match(/[a-z0-9]+/gu) ?? ['task'];
  return words.join('-').slice(0, slugCharsMax).replace(/-$/u, '');
};

/** Gives each title an id that nobody has: `note`, then `note-2`, `note-3` … */
export const createIdAllocator = (taken: (id: string) => boolean): ((title: string) => string) => {
  const twins = new Map<string, number>();
  return (title) => {
    const slug = slugOf(title);
    const last = twins.get(slug);
    let number = last === undefined ? firstTwin(slug, taken) : last + 1;
    while (taken(twinOf(slug, number))) number++;
    twins.set(slug, number);
    return twinOf(slug, number);
  };
};

const twinOf = (slug: string, number: number): string => (number === 1 ? slug : `${slug}-${number}`);

/** After the twins that there are, found in few steps: many lists may each bring one. */
const firstTwin = (slug: string, taken: (id: string) => boolean): number => {
  let free = 1;
  while (taken(twinOf(slug, free))) free *= 2;
  let used = Math.floor(free / 2);
  while (used + 1 < free) {
    const middle = Math.floor((used + free) / 2);
    if (taken(twinOf(slug, middle))) used = middle;
    else free = middle;
  }
  return free;
};
