// What helpers do when a test or a file of tests has ended. Where files share a process a helper is loaded once, and its own
// hooks would be those of the first file; `setup.ts` asks here in every file.
type Moment = 'test' | 'file';
type Ending = () => void | Promise<void>;

const endings: Record<Moment, Ending[]> = { test: [], file: [] };

export const atTheEndOf = (moment: Moment, ending: Ending): void => void endings[moment].push(ending);

export const haveEnded = async (moment: Moment): Promise<void> => {
  for (const ending of endings[moment]) await ending();
};
