import type { Ids } from '#contracts';

/** 144 random bits. */
export const randomId = (ids: Ids): string => ids.random() + ids.random() + ids.random();
