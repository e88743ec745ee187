// Task ids: their valid form, and how one is made from a title.

export const taskIdCharsMax = 80;
const slugCharsMax = 40;
const idShape = /^[A-Za-z0-9._-]+$/u;

export const isTaskId = (id: string): boolean => id.length <= taskIdCharsMax && idShape.test(id);

/** The lower-case words of a title, joined by dashes: `Étude no. 2` gives `etude-no-2`. */
export const slugify = (title: string): string => {
  const plain = title.slice(0, 1_000).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.match(/[a-z0-9]+/gu) ?? ['task'];
  return words.join('-').slice(0, slugCharsMax).replace(/-$/u, '');
};

/** Returns a function that makes an unused id from a title: `note`, then `note-2`, `note-3` … */
export const createIdAllocator = (taken: (id: string) => boolean): ((title: string) => string) => {
  const lastNumbers = new Map<string, number>();
  return (title) => {
    const slug = slugify(title);
    const last = lastNumbers.get(slug);
    let number = last === undefined ? firstFreeNumber(slug, taken) : last + 1;
    while (taken(numberedSlug(slug, number))) number++;
    lastNumbers.set(slug, number);
    return numberedSlug(slug, number);
  };
};

const numberedSlug = (slug: string, number: number): string => (number === 1 ? slug : `${slug}-${number}`);

/** The first free number for a slug, by binary search: many lists may each have added one. */
const firstFreeNumber = (slug: string, taken: (id: string) => boolean): number => {
  let free = 1;
  while (taken(numberedSlug(slug, free))) free *= 2;
  let used = Math.floor(free / 2);
  while (used + 1 < free) {
    const middle = Math.floor((used + free) / 2);
    if (taken(numberedSlug(slug, middle))) used = middle;
    else free = middle;
  }
  return free;
};
