/** The messages in a text, one or a batch. What is not JSON was not meant for us. */
export const parseMessages = (text: string): readonly unknown[] => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
};
