// The first half, in a file of its own so that both halves run in parallel.
import { seedsPass } from './seeds.ts';

seedsPass(0, 900);
