/** How much waits for a reader that is slow, wherever something does. One thing that is larger waits alone. */
export const bufferedBytesMax = 256 * 1024;
