// The second half, in a file of its own so that both halves run in parallel.
import { testRuns } from '../test-seed.ts';
import { seedsPass } from './seeds.ts';

seedsPass(1, testRuns(1_200));
