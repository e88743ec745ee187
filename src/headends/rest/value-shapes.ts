// Plain values that the shapes of requests and replies are made of.
import { about, listOf, orNull, string, whole } from '#base/shapes';
import type { Shape } from '#base/shapes';

export const textShape = string();
export const textsShape = listOf(textShape);
export const textOrNullShape = orNull(textShape);
export const countShape: Shape<number> = whole(-Infinity, Infinity);
export const timeShape = about(countShape, 'Epoch milliseconds.');
