// Valid topic names, in files, in code and from a model: no wildcards, no spaces, no control characters.

/** The JSON Schema contains the same text. */
export const topicShape = '^[\\p{L}\\p{N}][\\p{L}\\p{N}._:/-]{0,63}$';

export const topicExpected = 'a topic name: letters, digits and . _ : / -, at most 64 characters';

const shape = new RegExp(topicShape, 'u');

export const isTopic = (topic: string): boolean => shape.test(topic);
