// Which plants are tried: every sixteenth one with `npm test`, all of them with `npm run test:plants`.

/** Only then is the unmodified code compared too: with `npm test`, other tests compare many more pairs of it. */
export const triesAll = process.env['PLANTS'] === 'all';

/** `always`: those that are tried each time. */
export const chosen = <P extends { readonly name: string }>(
  plants: readonly P[],
  always: (plant: P) => boolean = () => false,
): readonly P[] => (triesAll ? plants : plants.filter((plant, index) => index % 16 === 0 || always(plant)));
