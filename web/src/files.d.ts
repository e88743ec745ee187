declare module '*.css';

/** Whether this is the page of `cloister show --html`: one run, and nothing can be done to it. Set when it is built. */
declare const isKeptFile: boolean;
