// The second half, in a file of its own so that both halves run in parallel.
import { seedsPass } from './seeds.ts';

seedsPass(1, 900);
