// Which plants are tried: every twelfth one with `npm test`, all of them with `npm run test:plants`.

/** `always`: those that are tried each time. */
export const chosen = <P extends { readonly name: string }>(
  plants: readonly P[],
  always: (plant: P) => boolean = () => false,
): readonly P[] =>
  process.env['PLANTS'] === 'all' ? plants : plants.filter((plant, index) => index % 12 === 0 || always(plant));
