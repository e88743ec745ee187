// What a topic may be called, in files, in code and by a model: no wildcards, no spaces, no control characters.

/** The same text is in the JSON Schema. */
export const topicShape = '^[\\p{L}\\p{N}][\\p{L}\\p{N}._:/-]{0,63}$';

export const topicExpected = 'the name of a topic: letters, digits and . _ : / -, at most 64 characters';

const shape = new RegExp(topicShape, 'u');

export const isTopic = (topic: string): boolean => shape.test(topic);
