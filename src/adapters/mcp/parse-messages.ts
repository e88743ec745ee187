/** Parses one message or a batch. Text that is not JSON is not a message and is ignored. */
export const parseMessages = (text: string): readonly unknown[] => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
};
