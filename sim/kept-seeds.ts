// Seeds that found something, and what: they run with every test.
export const keptSeeds: readonly { readonly seed: number; readonly why: string }[] = [];
