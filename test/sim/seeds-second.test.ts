// The second half; a file of its own, so that both halves run at once.
import { seedsPass } from './seeds.ts';

seedsPass(1, 2_500);
