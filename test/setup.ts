// In CI, properties run from one seed, so that a red build is about the change that it builds. Everywhere else from a fresh one.
import { configureGlobal } from 'fast-check';

const seedInCi = 20_261_115;

if (process.env['CI'] !== undefined) {
  configureGlobal({ seed: seedInCi });
  process.env['TWO_RUN_SEED'] ??= String(seedInCi);
}
